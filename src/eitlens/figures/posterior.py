"""The posterior in pictures: samples beside their mean and spread, and the best possible Dice against τ."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from jaxtyping import Bool, Float, Float64
from matplotlib.axes import Axes
from torch import Tensor

from eitlens.classical.posterior import Images
from eitlens.domain import Domain
from eitlens.figures.style import outline, picture, show_field
from eitlens.phantom import Ellipse

_SHADES = ("tab:red", "tab:blue", "tab:green", "tab:purple", "tab:orange")


@dataclass(frozen=True)
class Case:
    """One measurement of the gallery."""

    title: str
    truth: Float64[Tensor, "ellipses 5"]
    level_set: Float64[Tensor, "nx ny"]
    samples: Float64[Tensor, "samples ellipses 5"]
    images: Images
    network: Float[Tensor, "nx ny"] | None = None
    """A network's probabilities, if there is one."""


@dataclass(frozen=True)
class Curve:
    """A method's mean score at each noise level with its standard error."""

    levels: Sequence[float]
    mean: Sequence[float]
    error: Sequence[float]


def gallery(domain: Domain, cases: Sequence[Case], network: str, path: Path) -> None:
    """A row a case: samples on the truth, posterior mean, spread, Dice-optimal set and a network's image."""
    with picture(path, len(cases), 5 if any(c.network is not None for c in cases) else 4) as axes:
        for row, case in zip(axes, cases, strict=True):
            _outlines(row[0], case)
            show_field(row[1], case.images.mean, "posterior mean", limits=(0, 1))
            show_field(row[2], case.images.spread, "standard deviation", limits=(0, 0.5))
            expected = f"best set, Dice {_dice(case.images.dice, case.level_set < 0):.2f}"
            show_field(row[3], case.images.dice.double(), expected, limits=(0, 1))
            if case.network is not None:
                show_field(
                    row[4],
                    case.network,
                    f"{network}, Dice {_dice(case.network > 0.5, case.level_set < 0):.2f}",
                    limits=(0, 1),
                )
            for panel, colour in zip(row[1:], ("white", "white", "tab:cyan", "white"), strict=False):
                outline(panel, case.level_set, colour)


def dice_against_noise(panels: Mapping[str, Mapping[str, Curve]], path: Path) -> None:
    """A panel a number of currents: each method's Dice against τ with two standard errors."""
    with picture(path, 1, len(panels), 3.2) as axes:
        for panel, (title, curves) in zip(axes[0], panels.items(), strict=True):
            for name, curve in curves.items():
                style = {"color": "black", "linewidth": 2.2} if name.startswith("limit") else {}
                panel.errorbar(
                    curve.levels, curve.mean, [2 * e for e in curve.error], label=name, capsize=2, **style
                )
            panel.set(title=title, xlabel="noise τ", ylabel="hard Dice", xscale="log", ylim=(0.2, 1.0))
            ticks = sorted({level for curve in curves.values() for level in curve.levels})
            panel.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
            panel.set_xticks([], minor=True)
            panel.legend(fontsize=7, loc="lower left")


def _outlines(panel: Axes, case: Case) -> None:
    """The truth filled in grey, samples as thin coloured outlines."""
    for curve in Ellipse.outline(case.truth, 100).cpu():
        panel.fill(curve[:, 0], curve[:, 1], color="0.8", linewidth=0)
    for sample, shade in zip(case.samples.cpu(), _SHADES, strict=False):
        for curve in Ellipse.outline(sample, 100):
            closed = torch.cat([curve, curve[:1]])
            panel.plot(closed[:, 0], closed[:, 1], color=shade, linewidth=0.8)
    panel.set(title=case.title, xlim=(-1, 1), ylim=(-1, 1), aspect="equal")
    panel.set_xticks([-1, 0, 1])
    panel.set_yticks([-1, 0, 1])


def _dice(found: Bool[Tensor, "nx ny"], truth: Bool[Tensor, "nx ny"]) -> float:
    both = (found.cpu() & truth.cpu()).sum()
    return float(2 * both / (found.sum().cpu() + truth.sum().cpu()).clamp(min=1))
