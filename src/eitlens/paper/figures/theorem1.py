"""Theorem 1 in pictures: the index function of the full Neumann-to-Dirichlet map tends to the inclusion as L grows.

Disjoint ellipses, contrast 10, all currents. For each number L of eigenpairs: how well -Θ_L ranks the nodes
(area under the ROC curve, AUC) and how far the index function I_L is from the indicator (relative L², ρ = 1.01
max_D Θ_L as the theorem asks), a collar of two cells about the interface left out, as the limit is not uniform
there. Eigenvalues decay exponentially, so past L = 80 or so they drown in rounding: the noise floor stops the
sum there by itself.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from eitlens import phantom as phantoms
from eitlens.classical import index_function, picard_sum
from eitlens.domain import Square
from eitlens.evaluate.ranking import area_under_curve
from eitlens.figures.style import outline, picture, show_field
from eitlens.forward import BoundaryIntegralSolver, NeumannToDirichlet
from eitlens.forward.ntd import Eigenpairs
from eitlens.paper.figures.studio import Studio
from eitlens.phantom import EllipseSampler, Phantom

COUNTS = (1, 3, 10, 20, 30, 40, 50, 60, 70)
SEED = 11


@dataclass(frozen=True)
class Study:
    """What came out for one phantom: its eigenpairs, and for each L of `COUNTS` the AUC and the error."""

    phantom: Phantom
    pairs: Eigenpairs
    auc: list[float]
    error: list[float]


def draw(studio: Studio, path: Path) -> str:
    """For `eitlens figures`."""
    batch = EllipseSampler(seed=SEED, disjoint=True).batch(0, studio.phantoms)
    found = []
    for k, phantom in enumerate(batch):
        studio.tell(f"Theorem 1: phantom {k + 1} of {len(batch)}")
        found.append(study(studio.square, phantom))
    growing_count(studio.square, found, path)
    middle = np.median([one.auc for one in found], 0)
    return ", ".join(f"L = {c}: AUC {m:.3f}" for c, m in zip(COUNTS, middle, strict=True) if c in (3, 20, 60))


def study(square: Square, phantom: Phantom) -> Study:
    """Eigenpairs to rounding, and the scores."""
    solver = BoundaryIntegralSolver(square, tolerance=1e-14)
    pairs = NeumannToDirichlet(solver, phantom).eigenpairs(120)
    inside = phantoms.indicator(square, phantom)
    keep = away_from_interface(inside)
    ranking, distance = [], []
    for count in COUNTS:
        theta = picard_sum(square, pairs, count)
        index = index_function(theta, epsilon=0.1, rho=1.01 * float(theta[inside & keep].max()))
        ranking.append(area_under_curve(-theta, inside))
        distance.append(float((index - inside.double())[keep].norm() / inside.double()[keep].norm()))
    return Study(phantom, pairs, ranking, distance)


def away_from_interface(inside: Tensor) -> Tensor:
    """Nodes more than two cells from the interface."""
    field = inside.double()[None]
    high = torch.nn.functional.max_pool2d(field, 5, 1, 2)
    low = -torch.nn.functional.max_pool2d(-field, 5, 1, 2)
    return (high == low)[0]


def growing_count(square: Square, found: list[Study], path: Path) -> None:
    """AUC, error and eigenvalues against L, and three images of the phantom in the middle."""
    auc, error = np.array([one.auc for one in found]), np.array([one.error for one in found])
    typical = found[int(np.argsort(auc[:, COUNTS.index(60)])[len(found) // 2])]
    level, pairs = phantoms.level_set(square, typical.phantom), typical.pairs
    with picture(path, 2, 3) as axes:
        for panel, values, title in (
            (axes[0, 0], auc, "AUC of $\\Theta_L$"),
            (axes[0, 1], error, "relative L² error of $I_L$"),
        ):
            lines = panel.plot(COUNTS, values.T, color="0.7")
            lines[0].set_label(f"{len(found)} bodies")
            panel.plot(COUNTS, np.median(values, 0), "ko-", markersize=4, label="median")
            panel.set(title=title, xlabel="number of eigenpairs L")
            panel.legend()
        axes[0, 2].semilogy(pairs.values.abs(), "k-", label="|λ|")
        axes[0, 2].axhline(pairs.floor, color="0.6", linestyle=":", label="noise floor")
        axes[0, 2].set(title="eigenvalues", xlabel="index of the eigenvalue")
        axes[0, 2].legend()
        for panel, count in zip(axes[1], (10, 30, 70), strict=True):
            index = index_function(picard_sum(square, pairs, count))
            show_field(panel, index, f"$I_L$, L = {count}", limits=(0, 1))
            outline(panel, level)
