"""Minimisation (7) of the paper beside the networks, on the test bodies of the information limit.

    python validation/minimisation.py run [--bodies 32]     # the cells that have no figures yet, on a CPU
    python validation/minimisation.py start                 # does the start matter? from nothing, an index, the truth
    python validation/minimisation.py                       # the tables of docs/minimisation.md, and their claims

L = 1 and 3 cosine currents, τ = 0, 0.05, 0.2. Dice of a conductivity needs a threshold: it is tuned on other bodies,
for each method and cell, as that of direct sampling is. A minimisation that is `told` knows the two conductivities but
for a tenth, as the networks do from their training.
"""

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import torch
from limit.files import between
from limit.measurements import Cell, Measured, measured
from study import expect
from torch import Tensor

from eitlens import imaging
from eitlens.classical import direct_sampling, minimise
from eitlens.domain import Square
from eitlens.domain.bodies import SQUARE
from eitlens.evaluate import metrics
from eitlens.files import write_json
from eitlens.measure import Measurement

ROOT = Path(__file__).parents[1]
RESULT, PAGE = ROOT / "results" / "minimisation.json", ROOT / "docs" / "minimisation.md"
CELLS = tuple(Cell(count, tau) for tau in (0.05, 0.0, 0.2) for count in (3, 1))
BODIES, TUNING, STARTED = 32, 6, 4
TOLD = (0.9, 11.0)  # of σ: 1 and 10, and a tenth beyond
THRESHOLDS = tuple(1 + 0.1 * k for k in range(1, 60))
CPU = torch.device("cpu")


class Found(NamedTuple):
    """Conductivities of some bodies, and the seconds and the misfit of each."""

    sigma: Tensor
    seconds: list[float]
    misfit: list[float]


def inverted(samples: Measured, tau: float, **options: Any) -> Found:
    """The minimisation of each body."""
    images, seconds, misfit = [], [], []
    for one in samples.noisy:
        start = time.perf_counter()
        found = minimise(Measurement.of_difference(one), tau=tau, **options)
        seconds.append(time.perf_counter() - start)
        images.append(found.image)
        misfit.append(found.misfit)
    return Found(torch.stack(images), seconds, misfit)


METHODS: dict[str, dict[str, Any]] = {
    "TV": {"regulariser": "tv"},
    "TV, told": {"regulariser": "tv", "bounds": TOLD},
    "H1": {"regulariser": "h1"},
}


def dice(sigma: Tensor, truth: Tensor, threshold: float) -> Tensor:
    """Hard Dice of the nodes above the threshold."""
    return metrics.hard_dice(sigma - threshold, truth.double())


def scored(found: Found, truth: Tensor, threshold: float) -> dict[str, Any]:
    """What is kept of a method in a cell."""
    share = ((found.sigma - 1) / 9).clamp(1e-6, 1 - 1e-6)  # the error of σ as that of a probability
    return {
        "hard_dice": dice(found.sigma, truth, threshold).tolist(),
        "relative_l2": metrics.relative_l2(torch.logit(share), truth.double()).tolist(),
        "seconds": found.seconds,
        "misfit": found.misfit,
        "threshold": threshold,
    }


def of_minimisation(cell: Cell, samples: Measured, options: dict[str, Any]) -> dict[str, Any]:
    """One regulariser in a cell: the threshold tuned, the test bodies scored."""
    others = measured(cell, -TUNING, 0, CPU)
    tuning = inverted(others, cell.tau, **options).sigma
    best = max(THRESHOLDS, key=lambda level: float(dice(tuning, others.truth, level).mean()))
    return scored(inverted(samples, cell.tau, **options), samples.truth, best)


def of_direct_sampling(cell: Cell, samples: Measured) -> dict[str, Any]:
    """Direct sampling in a cell: its index as it is, thresholded."""

    def index(some: Measured) -> Tensor:
        values = direct_sampling(Square(some.truth.shape[-1] - 1), some.noisy)
        return values / values.amax((-2, -1), keepdim=True)

    others = measured(cell, -TUNING, 0, CPU)
    tuning, shares = index(others), [0.02 * k for k in range(5, 50)]
    best = max(shares, key=lambda level: float(dice(tuning, others.truth, level).mean()))
    start = time.perf_counter()
    found = dice(index(samples), samples.truth, best).tolist()
    seconds = (time.perf_counter() - start) / len(samples.noisy)
    return {"hard_dice": found, "seconds": [seconds] * len(found), "threshold": best}


def of_network(name: str, samples: Measured) -> dict[str, Any]:
    """A shipped network in a cell, one body at a time."""
    imager, images, seconds = imaging.load(name), [], []
    imager.reader(samples.noisy[:1])  # what is set up once is no part of an image
    for one in samples.noisy:
        start = time.perf_counter()
        images.append(imager.reader(one[None])[0].double())
        seconds.append(time.perf_counter() - start)
    scores = metrics.per_sample(torch.stack(images), samples.truth)
    return {name: scores[name].tolist() for name in ("hard_dice", "relative_l2")} | {"seconds": seconds}


def fill(cell: Cell, bodies: int) -> dict[str, Any]:
    """All methods in a cell."""
    samples, found = measured(cell, 0, bodies, CPU), {}
    for name, options in METHODS.items():
        found[name] = of_minimisation(cell, samples, options)
        _print(cell, name, found[name])
    found["direct sampling"] = of_direct_sampling(cell, samples)
    for name in imaging.shipped():
        if imaging.load(name).reader.fewest <= cell.currents:
            found[Path(name).name] = of_network(name, samples)
            _print(cell, Path(name).name, found[Path(name).name])
    return found


def run(bodies: int, only: str | None) -> None:
    """The cells that have no figures yet."""
    for cell in CELLS:
        known = kept()
        if cell.name not in known["cells"] and only in (None, cell.name):
            found = fill(cell, bodies)
            write_json(RESULT, kept() | {"bodies": bodies, "cells": known["cells"] | {cell.name: found}})


def start() -> None:
    """The same minimisation from the empty body, from the index of direct sampling, and from the truth itself."""
    cell = Cell(3, 0.05)
    samples = measured(cell, 0, STARTED, CPU)
    begins: dict[str, Callable[[int], Tensor | None]] = {
        "the empty body": lambda k: None,
        "direct sampling": lambda k: _of_index(samples.noisy[k]),
        "the truth": lambda k: 1 + 9 * samples.truth[k].double(),
    }
    threshold = kept()["cells"][cell.name]["TV, told"]["threshold"]
    found = {}
    for name, begin in begins.items():
        runs = [
            inverted(_one(samples, k), cell.tau, **METHODS["TV, told"], start=begin(k))
            for k in range(STARTED)
        ]
        joined = Found(
            torch.cat([run.sigma for run in runs]),
            [s for run in runs for s in run.seconds],
            [m for run in runs for m in run.misfit],
        )
        found[name] = scored(joined, samples.truth, threshold)
        _print(cell, name, found[name])
    write_json(RESULT, kept() | {"start": found})


def _of_index(data: Tensor) -> Tensor:
    index = direct_sampling(SQUARE, data)
    return 1 + 9 * index / index.max()


def _one(samples: Measured, k: int) -> Measured:
    return Measured(samples.phantoms, samples.truth[k : k + 1], samples.noisy[k : k + 1])


def _print(cell: Cell, name: str, found: dict[str, Any]) -> None:
    means = {key: mean(values) for key, values in found.items() if isinstance(values, list)}
    print(f"  {cell.name} {name}: " + ", ".join(f"{k} {v:.3f}" for k, v in means.items()), flush=True)


def kept() -> dict[str, Any]:
    """What has been computed."""
    return json.loads(RESULT.read_text()) if RESULT.exists() else {"bodies": 0, "cells": {}}


def mean(values: list[float]) -> float:
    """The mean."""
    return sum(values) / len(values)


def table() -> str:
    """Dice, L2 and seconds of every method in every cell, in Markdown."""
    lines = ["| L | τ | method | Dice | relative L2 of σ | seconds |", "|---|---|---|---:|---:|---:|"]
    for cell in sorted(CELLS, key=lambda each: (each.currents, each.tau)):
        for name, found in kept()["cells"].get(cell.name, {}).items():
            error = f"{mean(found['relative_l2']):.3f}" if "relative_l2" in found else ""
            lines.append(
                f"| {cell.currents} | {cell.tau:g} | {name} | {mean(found['hard_dice']):.3f} | {error} "
                f"| {mean(found['seconds']):.2g} |"
            )
    return "\n".join(lines)


def starts() -> str:
    """The table of the starts, in Markdown."""
    lines = ["| start | Dice | relative L2 of σ | misfit |", "|---|---:|---:|---:|"]
    for name, found in kept().get("start", {}).items():
        figures = (mean(found[key]) for key in ("hard_dice", "relative_l2", "misfit"))
        lines.append(f"| {name} | " + " | ".join(f"{value:.3f}" for value in figures) + " |")
    return "\n".join(lines)


def claims() -> None:
    """The tables, and what must hold."""
    print("Minimisation (7) beside the networks")
    between(PAGE, "table", table())
    between(PAGE, "starts", starts())
    for name, found in kept()["cells"].items():
        network = mean(found["flagship"]["hard_dice"])
        best = max(mean(found[method]["hard_dice"]) for method in METHODS)
        index = mean(found["direct sampling"]["hard_dice"])
        expect(best < network, f"{name}: minimisation {best:.3f} is below the flagship {network:.3f}")
        if name.startswith("L3"):  # with one current it is no better
            expect(best > index, f"{name}: minimisation {best:.3f} is above direct sampling {index:.3f}")


def main() -> None:
    """Run a part, or check the claims."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("part", nargs="?", choices=("run", "start"))
    parser.add_argument("--bodies", type=int, default=BODIES)
    parser.add_argument("--only", choices=[cell.name for cell in CELLS], help="one cell")
    given = parser.parse_args()
    if given.part == "run":
        run(given.bodies, given.only)
    elif given.part == "start":
        start()
    else:
        claims()


if __name__ == "__main__":
    main()
