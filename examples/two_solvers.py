"""Two solvers that know nothing of each other agree: the difference falls with the square of the cell of the grid.

python examples/two_solvers.py
"""

from pathlib import Path

import eitlens as eit
from eitlens.figures.style import label_sizes, picture

SIZES = (25, 50, 100, 200)
BODY = eit.Phantom([eit.Ellipse((0.35, -0.2), (0.2, 0.4), angle=0.5), eit.circle((-0.4, 0.4), 0.25)])


def main(out: Path) -> list[float]:
    """Draw and return the relative difference of the data for each number of cells a side."""
    errors = []
    for n in SIZES:
        square = eit.Square(n)
        g = eit.currents.cosine(square, 3)
        exact, grid = (
            solver(square).difference(BODY, g) for solver in (eit.BoundaryIntegralSolver, eit.GridSolver)
        )
        errors.append(float((exact - grid).norm() / exact.norm()))
    with picture(out, 1, 1, 3.4) as axes:
        axes[0, 0].loglog(SIZES, errors, "o-", label="grid against boundary integrals")
        axes[0, 0].loglog(SIZES, [errors[0] * (SIZES[0] / n) ** 2 for n in SIZES], "k:", label="second order")
        axes[0, 0].set(xlabel="cells a side", title="relative difference of f − f0")
        label_sizes(axes[0, 0], SIZES)
        axes[0, 0].legend()
    return errors


if __name__ == "__main__":
    for n, error in zip(SIZES, main(Path("out/two_solvers.png")), strict=True):
        print(f"{n} cells a side: {error:.1e}")
