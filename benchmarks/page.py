"""Processor time of one update of the page on one thread: simulate, image by the default network, pack the answer.

    python benchmarks/page.py

Each update has shapes of its own, so that nothing is remembered but what belongs to the body and the tank. The square
is imaged by `flagship`, with its check against the data; tanks by their network. Medians in seconds go to
results/page.json.
"""

import gzip
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from eitlens.files import write_json
from eitlens.threads import Limit
from eitlens.web.answer import answer_drawing
from eitlens.web.gallery import Gallery
from eitlens.web.schema import read_drawing
from eitlens.web.tank import answer_tank
from eitlens.web.tank_schema import read_tank

RESULTS = Path(__file__).parents[1] / "results" / "page.json"
UPDATES, FIRST = 15, 2  # the first ones make constants


def shapes(k: int) -> list[dict[str, Any]]:
    """Two ellipses, a little elsewhere each time."""
    ellipse = {
        "kind": "ellipse",
        "center": [0.3 + 0.002 * k, 0.2],
        "semi_axes": [0.3, 0.2],
        "conductivity": 10.0,
    }
    return [ellipse, ellipse | {"center": [-0.4, -0.3], "semi_axes": [0.2, 0.2]}]


def square(gallery: Gallery) -> Callable[[int], dict[str, Any]]:
    """An update of the square."""
    asked = {"client": "me", "currents": 3, "tau": 0.0, "seed": 1, "models": ["flagship"]}
    return lambda k: answer_drawing(
        read_drawing(json.dumps(asked | {"shapes": shapes(k)}).encode()), gallery, lambda: None
    )


def tank(electrodes: int) -> Callable[[int], dict[str, Any]]:
    """An update of a round tank."""
    own = {"body": "disk", "electrodes": electrodes, "coverage": 0.5, "pattern": "adjacent"}
    asked = {"client": "me", "tank": own, "snr": 60.0, "seed": 1, "methods": ["network"]}
    return lambda k: answer_tank(read_tank(json.dumps(asked | {"shapes": shapes(k)}).encode()), lambda: None)


def seconds(update: Callable[[int], dict[str, Any]]) -> float:
    """The median over the updates."""
    times = []
    for k in range(UPDATES):
        start = time.thread_time()
        gzip.compress(json.dumps(update(k)).encode(), 1)
        times.append(time.thread_time() - start)
    return statistics.median(times[FIRST:])


def main() -> None:
    """Measure, print and write."""
    with Limit(1):
        updates = {"square": square(Gallery.open(("flagship",))), "tank_16": tank(16), "tank_32": tank(32)}
        found = {name: seconds(update) for name, update in updates.items()}
    for name, value in found.items():
        print(f"{name}: {value:.3f} s")
    write_json(RESULTS, found)


if __name__ == "__main__":
    main()
