"""Theorems 1 and 2 in pictures.

Theorem 1 says that the index function of the full Neumann-to-Dirichlet map tends to the inclusion as L grows. Disjoint
ellipses, contrast 10, all currents. For each number L of eigenpairs: how well -Θ_L ranks the nodes (area under the ROC
curve, AUC), and how far the index function I_L is from the indicator on all nodes, with the theorem's own
ρ = 1.01 max_D Θ_L and with the constant that is best for this body, which only the truth tells. A blank image has a
relative L² error of 1. Eigenvalues decay exponentially, so past L = 80 or so they drown in rounding: the noise floor
stops the sum there by itself.

Theorem 2, frequency bootstrapping: error against channels and mesh points, and the spectra of input and output.
"""

import math
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from matplotlib.axes import Axes
from scipy.optimize import minimize_scalar
from torch import Tensor

from eitlens import phantom as phantoms
from eitlens.classical import index_function, picard_sum
from eitlens.classical.theorem2 import Construction, error, spectra
from eitlens.domain import Square
from eitlens.evaluate.metrics import area_under_curve
from eitlens.figures.style import label_sizes, outline, picture, show_field
from eitlens.forward import BoundaryIntegralSolver, NeumannToDirichlet
from eitlens.forward.ntd import Eigenpairs
from eitlens.paper.figures.studio import Studio
from eitlens.phantom import EllipseSampler, Phantom

COUNTS = (1, 3, 10, 20, 30, 40, 50, 60, 70)
"""Numbers L of eigenpairs: below the 80 or so that rounding leaves."""
SEED = 11
"""Of the phantoms: any, but always the same."""
EXPONENTS = (-8.0, 1.0)
"""Powers of ten between which the best constant of Theorem 1 is sought: Θ_L reaches from 1 to 10¹⁰."""
CHANNELS = range(2, 33, 2)
"""Channels N: up to where the error reaches rounding."""
SIZES = (25, 50, 100, 200)
"""Mesh points M, doubled each time to show the order."""
_LINES: tuple[tuple[Construction, str, str], ...] = (
    ("rank two", "rank 2", "0.0"),
    ("taylor", "Taylor", "0.6"),
)


class Errors(NamedTuple):
    """The scores of one index function.

    Attributes:
        auc: area under the ROC curve of -Θ_L.
        l2: relative L² error of I_L on all nodes, with the theorem's own ρ.
        largest: its largest error.
        collar: relative L² error more than two cells from the interface, with the ρ that is enough there.
        best: relative L² error on all nodes with the best constant a_3 in 1 - (2/π) arctan(a_3 Θ_L).
    """

    auc: float
    l2: float
    largest: float
    collar: float
    best: float


@dataclass(frozen=True)
class Study:
    """The results for one phantom: its eigenpairs, and the scores for each L of `COUNTS`."""

    phantom: Phantom
    pairs: Eigenpairs
    errors: list[Errors]

    def column(self, name: str) -> list[float]:
        """One score for each L."""
        return [float(getattr(one, name)) for one in self.errors]


def theorem1(studio: Studio, path: Path) -> str:
    """Draw the study of a few random phantoms."""
    batch = EllipseSampler(seed=SEED, disjoint=True).batch(0, studio.phantoms)
    found = []
    for k, phantom in enumerate(batch):
        studio.tell(f"Theorem 1: phantom {k + 1} of {len(batch)}")
        found.append(study(studio.square, phantom))
    growing_count(studio.square, found, path)
    middle = np.median([one.column("auc") for one in found], 0)
    return ", ".join(f"L = {c}: AUC {m:.3f}" for c, m in zip(COUNTS, middle, strict=True) if c in (3, 20, 60))


def study(square: Square, phantom: Phantom) -> Study:
    """Eigenpairs to rounding, and the scores."""
    solver = BoundaryIntegralSolver(square, tolerance=1e-14)
    pairs = NeumannToDirichlet(solver, phantom).eigenpairs(120)
    inside = phantoms.indicator(square, phantom)
    return Study(phantom, pairs, [compare(picard_sum(square, pairs, count), inside) for count in COUNTS])


def compare(theta: Tensor, inside: Tensor, epsilon: float = 0.1) -> Errors:
    """How far the index function is from the indicator."""
    truth, keep = inside.double(), away_from_interface(inside)
    own = index_function(theta, epsilon, rho=1.01 * float(theta[inside].max()))
    near = index_function(theta, epsilon, rho=1.01 * float(theta[inside & keep].max()))
    return Errors(
        auc=area_under_curve(-theta, inside),
        l2=float((own - truth).norm() / truth.norm()),
        largest=float((own - truth).abs().max()),
        collar=float((near - truth)[keep].norm() / truth[keep].norm()),
        best=float(minimize_scalar(partial(_distance, theta, truth), bounds=EXPONENTS, method="bounded").fun),
    )


def _distance(theta: Tensor, truth: Tensor, exponent: float) -> float:
    """The relative L² error of 1 - (2/π) arctan(10^exponent Θ)."""
    index = index_function(theta, 0.5, rho=math.pi / 4 * 10**-exponent)
    return float((index - truth).norm() / truth.norm())


def away_from_interface(inside: Tensor) -> Tensor:
    """Nodes more than two cells from the interface."""
    field = inside.double()[None]
    high = torch.nn.functional.max_pool2d(field, 5, 1, 2)
    low = -torch.nn.functional.max_pool2d(-field, 5, 1, 2)
    return (high == low)[0]


def growing_count(square: Square, found: list[Study], path: Path) -> None:
    """AUC, error and eigenvalues against L, and three images of the phantom in the middle.

    In the images ρ is what Θ_L stays below on a tenth of the body, which needs no knowledge of the inclusion.
    """
    auc, far, best = (np.array([one.column(name) for one in found]) for name in ("auc", "l2", "best"))
    typical = found[int(np.argsort(auc[:, COUNTS.index(60)])[len(found) // 2])]
    level, pairs = phantoms.level_set(square, typical.phantom), typical.pairs
    with picture(path, 2, 3) as axes:
        for panel, values, title in (
            (axes[0, 0], auc, "AUC of $\\Theta_L$"),
            (axes[0, 1], far, "relative L² error of $I_L$, own $\\rho$"),
        ):
            lines = panel.plot(COUNTS, values.T, color="0.7")
            lines[0].set_label(f"{len(found)} bodies")
            panel.plot(COUNTS, np.median(values, 0), "ko-", markersize=4, label="median")
            panel.set(title=title, xlabel="number of eigenpairs L")
        axes[0, 1].plot(COUNTS, np.median(best, 0), "k--", label="best constant, median")
        axes[0, 1].axhline(1, color="0.6", linestyle=":", label="blank image")
        axes[0, 1].set_ylim(0, 1.5 * far.max())
        for panel in axes[0, :2]:
            panel.legend(fontsize=7)
        axes[0, 2].semilogy(pairs.values.abs(), "k-", label="|λ|")
        axes[0, 2].axhline(pairs.floor, color="0.6", linestyle=":", label="noise floor")
        axes[0, 2].set(title="eigenvalues", xlabel="index of the eigenvalue")
        axes[0, 2].legend()
        for panel, count in zip(axes[1], (10, 30, 70), strict=True):
            index = index_function(picard_sum(square, pairs, count))
            show_field(panel, index, f"$I_L$, L = {count}, $\\rho$ by area", limits=(0, 1))
            outline(panel, level)


def theorem2(studio: Studio, path: Path) -> str:
    """Draw the figure of Theorem 2; it needs no results."""
    bootstrapping(path)
    return f"sin 3x becomes sin 4x to {error(3, 16, 2000, 'rank two'):.0e} with 16 channels"


def bootstrapping(path: Path) -> None:
    """The three panels."""
    with picture(path, 1, 3, 2.8) as axes:
        _by_channels(axes[0, 0])
        _by_mesh(axes[0, 1])
        _spectra(axes[0, 2])


def _by_channels(panel: Axes) -> None:
    for a, style in ((3, "-"), (5, "--")):
        for construction, label, shade in _LINES:
            errors = [error(a, count, 2000, construction) for count in CHANNELS]
            panel.semilogy(
                CHANNELS, errors, color=shade, linestyle=style, label=f"{label}, sin {a}x → sin {a + 1}x"
            )
    panel.set(
        title="error against channels", xlabel="channels N", ylabel="relative L² error", ylim=(1e-11, 1e3)
    )
    panel.legend(fontsize=6, loc="lower left")


def _by_mesh(panel: Axes) -> None:
    panel.loglog(SIZES, [error(3, 20, m, "rank two") for m in SIZES], "ko-", label="N = 20, sin 3x → sin 4x")
    panel.loglog(SIZES, 3 / np.square(SIZES), "k:", label="second order")
    panel.set(title="error against mesh points", xlabel="mesh points M")
    label_sizes(panel, SIZES)
    panel.legend(fontsize=7)


def _spectra(panel: Axes) -> None:
    before, convolved, attended = (spectrum + 1e-17 for spectrum in spectra(3))
    panel.semilogy(before, "-", color="0.0", label="input sin 3x")
    panel.semilogy(convolved, "s", color="0.6", label="by convolution")
    panel.semilogy(attended, "k^", label="by attention")
    panel.set(title="spectrum of input and outputs", xlabel="frequency")
    panel.legend(fontsize=7)
