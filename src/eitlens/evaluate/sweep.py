"""Sweeps: the score of a network where it was not trained, on other grids, phantoms, contrasts, shapes and noises.

One thing is changed at a time, from the recipe the network was trained for; all else, the phantoms' random
numbers included, stays. Samples are simulated on the fly, from the recipe's test split.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from eitlens.checks import choose
from eitlens.dataset import DataConfig, SamplerConfig, SolverConfig
from eitlens.errors import InputError
from eitlens.evaluate.score import SEED, Corrupt, Score, score
from eitlens.feed import simulate_range
from eitlens.files import read_json
from eitlens.forward import add_white_noise
from eitlens.forward.base import Data
from eitlens.models.trained import Trained

RESOLUTIONS = (64, 96, 128, 160, 200, 256)  # cells: around the paper's 200
INCLUSIONS = (1, 2, 3, 4, 5, 6)  # around the paper's four
CONTRASTS = (2, 5, 10, 20, 50, 100)  # in equal ratios, nearly, around the paper's 10
LEVELS = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2)  # of noise: the paper's 0, 0.05 and 0.2 and some between
DECIBELS = (20, 30, 40, 50, 60)  # from 10 % to 0.1 % of the data


@dataclass(frozen=True)
class Case:
    """One point of a sweep: a value on its axis, the recipe of its samples, and its noise in a sweep of noise."""

    value: float | str
    recipe: DataConfig
    tau: float | None = None
    corrupt: Corrupt | None = None


@dataclass(frozen=True)
class Point:
    """The score of a case, with its noise level where noise is not the subject, and its weights, if known."""

    kind: str
    value: float | str
    score: Score
    tau: float | None = None
    digest: str | None = None

    @staticmethod
    def from_dict(row: dict[str, Any]) -> "Point":
        """Build a point from plain JSON values; older files have neither noise level nor digest."""
        choose("sweep", row["kind"], tuple(SWEEPS))
        score = Score.from_dict(row["score"])
        return Point(row["kind"], row["value"], score, row.get("tau"), row.get("digest"))


def read(file: Path) -> list[Point]:
    """Read the points of a sweep.json."""
    return read_json(file, lambda rows: [Point.from_dict(row) for row in rows], "delete it, and sweep again")


def earlier(
    file: Path, kinds: list[str], samples: int, tau: float, digest: str, named: bool = False
) -> list[Point]:
    """The points of a file that stay, as other kinds are to be measured.

    They must be of the same number of samples, noise level and weights: the points of a file are shown as one
    measurement. In a file that was `named`, points of other weights are not replaced either.
    """
    kept = []
    for point in read(file) if file.exists() else []:
        stays, other = point.kind not in kinds, ""
        if (stays or named) and point.digest not in (None, digest):
            other = "other weights"
        elif stays and point.score.samples != samples:
            other = f"{point.score.samples} samples a point, not {samples}"
        elif stays and point.tau not in (None, tau):
            other = f"a noise level of {point.tau:g}, not {tau:g}"
        if other:
            raise InputError(
                f"{file}: holds the sweep {point.kind} of {other}: sweep it again, too, or give this one another "
                "file with --out"
            )
        kept += [point] if stays else []
    return kept


def joined(old: list[Point], new: list[Point]) -> list[Point]:
    """The points of both, kind by kind in the order of all sweeps."""
    order = list(SWEEPS)
    return sorted((*old, *new), key=lambda point: order.index(point.kind))


def resolution(recipe: DataConfig) -> list[Case]:
    """Grids from 64 to 256 cells a side."""
    return [Case(n, replace(recipe, n=n)) for n in RESOLUTIONS]


def inclusions(recipe: DataConfig) -> list[Case]:
    """One to six inclusions; the paper has four."""
    return [Case(count, _sampled(recipe, replace(recipe.sampler, count=count))) for count in INCLUSIONS]


def contrast(recipe: DataConfig) -> list[Case]:
    """Inclusions that conduct 2 to 100 times as well as the body; in the paper 10."""
    outside = recipe.sampler.outside
    return [Case(c, _sampled(recipe, replace(recipe.sampler, inside=c * outside))) for c in CONTRASTS]


def shapes(recipe: DataConfig) -> list[Case]:
    """Polygons instead of ellipses, apart or overlapping, by the solver that takes them."""
    grid = replace(recipe, solver=SolverConfig("grid"))
    cases = []
    for apart in (True, False):
        ellipses = replace(recipe.sampler, shapes="ellipses", disjoint=apart)
        for sampler in (ellipses, replace(ellipses, shapes="polygons")):
            name = f"{sampler.shapes}, {'apart' if apart else 'overlapping'}"
            cases.append(Case(name, _sampled(grid, sampler)))
    return cases


def noise(recipe: DataConfig) -> list[Case]:
    """The paper's noise, proportional to the data at each node."""
    return [Case(tau, recipe, tau) for tau in LEVELS]


def white_noise(recipe: DataConfig) -> list[Case]:
    """White noise of one size at all nodes, by its signal-to-noise ratio in decibels."""
    return [Case(decibel, recipe, corrupt=partial(_white, float(decibel))) for decibel in DECIBELS]


SWEEPS: dict[str, Callable[[DataConfig], list[Case]]] = {
    "resolution": resolution,
    "inclusions": inclusions,
    "contrast": contrast,
    "shapes": shapes,
    "noise": noise,
    "white-noise": white_noise,
}


def sweep(
    trained: Trained,
    recipe: DataConfig,
    kinds: list[str],
    samples: int = 200,
    tau: float = 0.0,
    progress: Callable[[str, float | str], None] | None = None,
) -> list[Point]:
    """The score at every point of the sweeps named; `tau` is the noise of sweeps that are not about noise."""
    for kind in kinds:
        choose("sweep", kind, tuple(SWEEPS))
    points, digest = [], trained.digest
    for kind in kinds:
        for case in SWEEPS[kind](replace(recipe, currents=trained.features.currents)):
            if progress is not None:
                progress(kind, case.value)
            level = tau if case.tau is None else case.tau
            found = _score(trained, case, samples, level)
            noisy = case.tau is not None or case.corrupt is not None
            points.append(Point(kind, case.value, found, None if noisy else tau, digest))
    return points


def _score(trained: Trained, case: Case, samples: int, tau: float) -> Score:
    start = case.recipe.ranges["test"][0]
    found = simulate_range(case.recipe, start, start + samples, trained.device)
    sampler = case.recipe.sampler
    return score(
        trained.at(case.recipe.n), found, tau, corrupt=case.corrupt, inside=sampler.inside / sampler.outside
    )


def _sampled(recipe: DataConfig, sampler: SamplerConfig) -> DataConfig:
    """The recipe with other phantoms, and the grid solver where the exact one cannot take them."""
    exact = sampler.disjoint and sampler.shapes == "ellipses"
    solver = recipe.solver if exact or recipe.solver.name == "grid" else SolverConfig("grid")
    return replace(recipe, sampler=sampler, solver=solver)


def _white(decibel: float, difference: Data, index: Tensor) -> Data:
    return add_white_noise(difference, decibel, SEED, index.to(torch.int64))
