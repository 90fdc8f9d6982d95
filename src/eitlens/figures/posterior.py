"""The posterior in pictures: samples beside their mean and spread, and the best possible Dice against τ."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Float64
from matplotlib.axes import Axes
from torch import Tensor

from eitlens.evaluate.metrics import hard_dice
from eitlens.figures.style import frame_body, label_sizes, outline, picture, show_field
from eitlens.phantom import Ellipse

_SHADES = ("tab:red", "tab:blue", "tab:green", "tab:purple", "tab:orange")
_APART = 1.025  # between the places of two curves along τ: bars beside each other still belong to one level
_OTHERS = (("-", "s"), ("--", "^"), (":", "D"), ("-.", "v"))


@dataclass(frozen=True)
class GalleryCase:
    """One measurement of the gallery."""

    title: str
    truth: Float64[Tensor, "ellipses 5"]
    level_set: Float64[Tensor, "nx ny"]
    samples: Float64[Tensor, "samples ellipses 5"]
    mean: Float64[Tensor, "nx ny"]
    best: Bool[Tensor, "nx ny"]
    """The set with the largest expected Dice."""
    network: Float[Tensor, "nx ny"] | None = None
    """A network's probabilities, if there is one."""


class NoisePoint(NamedTuple):
    """A method's mean score at a noise level with its standard error, and whether it is to be believed."""

    level: float
    mean: float
    error: float
    reached: bool = True


def gallery(cases: Sequence[GalleryCase], network: str, path: Path) -> None:
    """A row a case: samples on the truth, posterior mean, spread, Dice-optimal set and a network's image."""
    with picture(path, len(cases), 5 if any(c.network is not None for c in cases) else 4, 2.1) as axes:
        for row, case in zip(axes, cases, strict=True):
            truth = case.level_set < 0
            _outlines(row[0], case)
            show_field(row[1], case.mean, "posterior mean", limits=(0, 1))
            show_field(row[2], (case.mean * (1 - case.mean)).sqrt(), "standard deviation", limits=(0, 0.5))
            title = f"best set, Dice {_dice(case.best, truth):.2f}"
            show_field(row[3], case.best.double(), title, bar=False, limits=(0, 1))
            if case.network is not None:
                title = f"{network}, Dice {_dice(case.network > 0.5, truth):.2f}"
                show_field(row[4], case.network, title, limits=(0, 1))
            for panel, colour in zip(row[1:], ("white", "white", "tab:cyan", "white"), strict=False):
                outline(panel, case.level_set, colour)


def dice_against_noise(panels: Mapping[str, Mapping[str, Sequence[NoisePoint]]], path: Path) -> None:
    """A panel a number of currents: each method's Dice against τ with two standard errors."""
    with picture(path, 1, len(panels), 3.2) as axes:
        for panel, (title, curves) in zip(axes[0], panels.items(), strict=True):
            for place, (name, points) in enumerate(curves.items()):
                _curve(panel, name, points, place)
            panel.set(title=title, xlabel="noise τ", ylabel="hard Dice", xscale="log", ylim=(0.2, 1.0))
            label_sizes(panel, sorted({point.level for points in curves.values() for point in points}))
            panel.legend(fontsize=7, loc="best")


def _curve(panel: Axes, name: str, points: Sequence[NoisePoint], place: int) -> None:
    """Draw a curve with its bars beside those of the others; marks are open where it is not to be believed."""
    levels = [point.level * _APART**place for point in points]
    means, errors = [point.mean for point in points], [2 * point.error for point in points]
    width, colour, (dashes, marker) = 1.3, "0.4", _OTHERS[place % len(_OTHERS)]
    if name.startswith("limit"):
        width, colour, dashes, marker = 2.0, "black", "-", "o"
    panel.errorbar(levels, means, errors, color=colour, linestyle="", elinewidth=1, capsize=2)
    panel.plot(levels, means, color=colour, linestyle=dashes, linewidth=width)
    for level, point in zip(levels, points, strict=True):
        face = colour if point.reached else "white"
        panel.plot(level, point.mean, marker, markersize=5, color=colour, markerfacecolor=face, zorder=3)
    panel.plot(
        [], [], marker=marker, markersize=5, color=colour, linestyle=dashes, linewidth=width, label=name
    )


def _outlines(panel: Axes, case: GalleryCase) -> None:
    """The truth filled in grey, samples as thin coloured outlines."""
    for curve in Ellipse.outline(case.truth, 100).cpu():
        panel.fill(curve[:, 0], curve[:, 1], color="0.8", linewidth=0)
    for sample, shade in zip(case.samples.cpu(), _SHADES, strict=False):
        for curve in Ellipse.outline(sample, 100):
            closed = torch.cat([curve, curve[:1]])
            panel.plot(closed[:, 0], closed[:, 1], color=shade, linewidth=0.8)
    frame_body(panel, case.title)


def _dice(found: Bool[Tensor, "nx ny"], truth: Bool[Tensor, "nx ny"]) -> float:
    return float(hard_dice(*(nodes.cpu()[None].double() for nodes in (found, truth))))
