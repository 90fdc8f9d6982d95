"""The rows of results/worlds.json: what a network for many worlds is measured on, and the bars it was set."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from eitlens.dataset import DataConfig, Samples, preset
from eitlens.evaluate.score import SEED, Score, score
from eitlens.feed import simulate_range
from eitlens.forward import add_white_noise
from eitlens.forward.base import Data
from eitlens.models.trained import Trained
from eitlens.phantom.worlds import WORLDS

NOISES = (0.0, 0.05, 0.2)
CONTRASTS = {2.0: 0.80, 5.0: 0.93, 20.0: 0.94, 100.0: 0.92, 0.1: 0.85}
"""Conductivity of all inclusions, and the bar of Dice with three currents and no noise."""
DECIBELS = {40.0: 0.92, 20.0: 0.80}
LIMITS = Path(__file__).parents[1] / "results" / "information_limit"
PHANTOMS = 48
"""Of which the information limit is known."""
_GAP, _CALIBRATED, _HELD = 0.015, 0.01, (0.85, 0.95)
"""The bars: below the limit, of the calibration error, of the share that 90 % intervals hold."""
SHOWN = (
    *("hard_dice", "soft_dice", "cross_entropy", "relative_l2", "dice_resistive", "dice_conductive"),
    *("class_entropy", "sigma_error", "sigma_inside", "coverage", "deviation_inside"),
)
Bars = dict[str, tuple[float | None, float | None]]
"""Of a metric the least and the most that it should be."""


@dataclass(frozen=True)
class Row:
    """One row: bodies, how they are measured, and the bars."""

    group: str
    name: str
    recipe: DataConfig
    currents: int = 3
    tau: float = 0.0
    decibel: float | None = None
    most: int | None = None
    bars: Bars = field(default_factory=dict)


def rows() -> Iterator[Row]:
    """All rows of the table."""
    paper, disjoint = (replace(preset(name), sigma=True) for name in ("paper", "paper-disjoint"))
    yield from _at_the_limit(disjoint)
    for tau, bar in zip(NOISES, (0.975, 0.950, 0.912), strict=True):
        yield Row("paper", f"paper, τ = {tau:g}", paper, tau=tau, bars={"hard_dice": (bar, None)})
    for contrast, bar in CONTRASTS.items():
        recipe = _sampled(paper, inside=contrast)
        for tau in (0.0, 0.05):
            bars: Bars = {} if tau else {"hard_dice": (bar, None)}
            yield Row("contrast", f"contrast {contrast:g}, τ = {tau:g}", recipe, tau=tau, bars=bars)
    yield Row("shapes", "polygons", _sampled(paper, shapes="polygons"), bars={"hard_dice": (0.92, None)})
    for decibel, bar in DECIBELS.items():
        name = f"white noise, {decibel:g} dB"
        yield Row("white", name, paper, decibel=decibel, bars={"hard_dice": (bar, None)})
    for world in WORLDS:
        recipe = _sampled(preset("worlds"), worlds=(world,))
        for tau in (0.0, 0.05):
            calibrated: Bars = {"calibration_error": (None, _CALIBRATED)}
            yield Row("worlds", f"world {world}, τ = {tau:g}", recipe, tau=tau, bars=calibrated)
    for world in ("inclusions-disjoint", "inclusions"):
        recipe = _sampled(preset("worlds"), worlds=(world,))
        yield Row("sigma", f"σ of {world}, τ = 0.01", recipe, tau=0.01, bars={"coverage": _HELD})


def _at_the_limit(recipe: DataConfig) -> Iterator[Row]:
    for currents in (1, 3):
        for tau in (0.01, 0.05, 0.2):
            known = json.loads((LIMITS / f"L{currents}_tau{tau:g}.json").read_text())["scores"]["hard_dice"]
            bars: Bars = {"hard_dice": (sum(known) / len(known) - _GAP, None)}
            name = f"limit, L = {currents}, τ = {tau:g}"
            yield Row("limit", name, recipe, currents, tau, most=PHANTOMS, bars=bars)


def _sampled(recipe: DataConfig, **changes: Any) -> DataConfig:
    return replace(recipe, sampler=replace(recipe.sampler, **changes))


class Scorer:
    """Scores of a network by rows; bodies are simulated once for all rows that show them."""

    def __init__(self, trained: Trained, samples: int) -> None:
        self.trained, self.samples = trained, samples
        self._known: tuple[str, Samples] | None = None

    def __call__(self, row: Row) -> dict[str, Any]:
        """A row of the file."""
        reader = self.trained.reading(row.currents)
        corrupt: Callable[[Data, Tensor], Data] | None = None
        if row.decibel is not None:
            corrupt = partial(_white, row.decibel)
        bodies = self._bodies(row)
        inside = row.recipe.sampler.inside / row.recipe.sampler.outside
        found = score(reader, bodies, row.tau, corrupt, inside)
        known = {
            "group": row.group,
            "name": row.name,
            "samples": len(bodies),
            "currents": row.currents,
            "tau": row.tau,
            "decibel": row.decibel,
        }
        return known | {"metrics": _metrics(found), "bars": against(found, row.bars)}

    def _bodies(self, row: Row) -> Samples:
        """The first test samples of a recipe, on the grid of the network."""
        count = min(self.samples, row.most or self.samples)
        recipe = replace(row.recipe, n=self.trained.n)
        key = f"{recipe.digest} {count}"
        if self._known is None or self._known[0] != key:
            start = recipe.ranges["test"][0]
            self._known = key, simulate_range(recipe, start, start + count, self.trained.device)
        return self._known[1]


def _white(decibel: float, difference: Data, index: Tensor) -> Data:
    return add_white_noise(difference, decibel, SEED, index.to(torch.int64))


def _metrics(found: Score) -> dict[str, dict[str, float]]:
    """Mean, median and interval of what is shown."""
    known = {name: found.metrics[name] for name in SHOWN if name in found.metrics}
    return {
        name: vars(one).copy() for name, one in (known | {"calibration_error": found.calibration}).items()
    }


def against(found: Score, bars: Bars) -> dict[str, Any]:
    """What was asked, what came out, and whether it is reached; of a network that does not give it, nothing."""
    told: dict[str, Any] = {}
    for name, (least, most) in bars.items():
        if name not in found.rows():
            continue
        value = found.rows()[name].mean
        reached = (least is None or value >= least) and (most is None or value <= most)
        told[name] = {"least": least, "most": most, "found": value, "reached": reached}
    return told
