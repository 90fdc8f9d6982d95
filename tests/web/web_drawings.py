"""Requests as the page makes them."""

from typing import Any

ELLIPSE = {
    "kind": "ellipse",
    "center": [0.3, 0.2],
    "semi_axes": [0.3, 0.2],
    "angle": 0.4,
    "conductivity": 10.0,
}
TRIANGLE = {"kind": "polygon", "vertices": [[-0.6, -0.6], [-0.1, -0.5], [-0.3, -0.1]], "conductivity": 10.0}


def drawing(**changes: Any) -> dict[str, Any]:
    made = {"client": "me", "shapes": [ELLIPSE], "currents": 3, "tau": 0.0, "seed": 1, "models": ["tiny"]}
    return made | changes


def tank_drawing(**changes: Any) -> dict[str, Any]:
    tank = {"body": "disk", "electrodes": 16, "coverage": 0.5, "pattern": "adjacent"}
    made = {"client": "me", "tank": tank, "shapes": [ELLIPSE], "snr": 60.0, "seed": 1, "methods": ["greit"]}
    return made | changes
