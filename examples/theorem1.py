"""The paper's Theorem 1: from the whole Neumann-to-Dirichlet map the inclusion can be read off without any training.

    python examples/theorem1.py

Θ_L(x) is the sum over l ≤ L of |∇ψ_l(x)|² / |λ_l|, with λ_l, g_l the eigenpairs of Λ_σ − Λ_σ0, ψ_l the harmonic
extension of g_l: as L grows it stays bounded in the inclusion and tends to infinity outside. The index is large where
the sum is small.
"""

from pathlib import Path

import eitlens as eit
from eitlens.evaluate.metrics import area_under_curve
from eitlens.figures.style import outline, picture, show_field
from eitlens.phantom import level_set

COUNTS = (3, 10, 30, 60)


def main(out: Path, n: int = 200) -> list[float]:
    """The area under the ROC curve of −Θ_L for each L of `COUNTS`."""
    square = eit.Square(n)
    body = eit.EllipseSampler(seed=11, disjoint=True).phantom(0)
    solver = eit.BoundaryIntegralSolver(square, tolerance=1e-14)
    pairs = eit.NeumannToDirichlet(solver, body).eigenpairs(max(COUNTS))
    truth, scores = eit.indicator(square, body), []
    with picture(out, 1, len(COUNTS)) as axes:
        for panel, count in zip(axes[0], COUNTS, strict=True):
            theta = eit.picard_sum(square, pairs, count)
            scores.append(area_under_curve(-theta, truth))
            show_field(panel, eit.index_function(theta), f"L = {count}: AUC {scores[-1]:.3f}")
            outline(panel, level_set(square, body))
    return scores


if __name__ == "__main__":
    for count, score in zip(COUNTS, main(Path("out/theorem1.png")), strict=True):
        print(f"L = {count}: AUC {score:.3f}")
