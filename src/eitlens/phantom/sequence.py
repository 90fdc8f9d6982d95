"""Phantoms of several frames: shapes that move, and lengths in metres.

    {"outside": 0.3, "units": "metres",
     "shapes": [{"kind": "circle", "center": [0.03, 0.01], "radius": 0.02, "conductivity": 3, "velocity": [0.01, 0]}]}

Without `units` lengths are in units of the body's coordinates, of which a disk has its radius, and so are velocities, a
second. Instead, `{"frames": [{"shapes": …}, …]}` lists a phantom for each frame.
"""

from typing import Any

from eitlens.domain import Domain
from eitlens.errors import InputError, prefix_errors
from eitlens.phantom.files import from_dict, json_of
from eitlens.phantom.phantom import Phantom

MOST_FRAMES = 10_000
_POINTS, _LENGTHS = (
    ("center", "vertices"),
    ("semi_axes", "radius", "sides", "size", "width", "cosines", "sines"),
)
"""The keys of a shape that are places, and those that are lengths."""
_UNITS = ("body", "metres")


def parse(content: bytes, where: str, body: Domain, frames: int = 1, rate: float = 1.0) -> list[Phantom]:
    """The phantoms of so many frames, `rate` of them a second, from the bytes of a JSON file."""
    values = json_of(content, where)
    with prefix_errors(where):
        return sequence(values, body, frames, rate)


def sequence(values: object, body: Domain, frames: int = 1, rate: float = 1.0) -> list[Phantom]:
    """The phantoms of so many frames, `rate` of them a second, from plain JSON values."""
    if not 1 <= frames <= MOST_FRAMES or not 0 < rate < float("inf"):
        raise InputError(f"expected 1 to {MOST_FRAMES} frames and a positive rate, got {frames} and {rate:g}")
    if isinstance(values, dict) and values.keys() == {"frames"} and isinstance(values["frames"], list):
        given = values["frames"]
        if not given or frames not in (1, len(given)):
            raise InputError(f"frames: the file lists {len(given)}, {frames} are asked for")
        return [_phantom(one, body, 0.0) for one in given]
    return [_phantom(values, body, k / rate) for k in range(frames)]


def _phantom(values: object, body: Domain, seconds: float) -> Phantom:
    """The phantom after some time, in units of the body."""
    if not isinstance(values, dict) or not isinstance(values.get("shapes"), list):
        return from_dict(values)  # which says what is wrong
    units = values.get("units", "body")
    if units not in _UNITS:
        raise InputError(f"units: expected {' or '.join(_UNITS)}, got {str(units)[:40]!r}")
    scale, origin = (body.scale, body.origin) if units == "metres" else (1.0, (0.0, 0.0))
    shapes = [_moved(shape, seconds, scale, origin, f"shape {k}") for k, shape in enumerate(values["shapes"])]
    return from_dict({key: v for key, v in values.items() if key != "units"} | {"shapes": shapes})


def _moved(shape: Any, seconds: float, scale: float, origin: tuple[float, float], where: str) -> Any:
    """A shape as plain values after some time, in units of the body."""
    if not isinstance(shape, dict):
        return shape
    with prefix_errors(where):
        velocity = _numbers(shape.get("velocity", [0.0, 0.0]), "velocity")
        if len(velocity) != 2:
            raise InputError(f"velocity: expected two numbers, got {len(velocity)}")
        shift = [seconds * v - o for v, o in zip(velocity, origin, strict=True)]
        rest = {key: value for key, value in shape.items() if key != "velocity"}
        if scale == 1 and not any(shift):
            return rest
        if not any(key in rest for key in _POINTS):
            known = ", ".join(_POINTS)
            raise InputError(f"a shape without {known} cannot be moved or given in metres")
        places = {key: _placed(rest[key], shift, scale) for key in _POINTS if key in rest}
        lengths = {key: _scaled(rest[key], scale) for key in _LENGTHS if key in rest}
        return rest | places | lengths


def _placed(value: Any, shift: list[float], scale: float) -> Any:
    """A point or a list of points, moved and scaled."""
    if isinstance(value, list) and value and isinstance(value[0], list):
        return [_placed(point, shift, scale) for point in value]
    return [(x + d) / scale for x, d in zip(_numbers(value, "point"), shift, strict=False)]


def _scaled(value: Any, scale: float) -> Any:
    """A length or a list of lengths."""
    found = [v / scale for v in _numbers(value if isinstance(value, list) else [value], "length")]
    return found if isinstance(value, list) else found[0]


def _numbers(values: Any, where: str) -> list[float]:
    if not isinstance(values, list) or any(
        isinstance(v, bool) or not isinstance(v, int | float) for v in values
    ):
        raise InputError(f"{where}: expected numbers, got {str(values)[:40]}")
    return [float(v) for v in values]
