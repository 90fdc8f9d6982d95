"""Your own forward solver: Born's approximation, which is linear in the contrast, beside the exact one.

    python examples/own_solver.py

An ellipse that differs little from its surroundings answers like a cloud of dipoles in the field of the empty body.
"""

from pathlib import Path

import torch

import eitlens as eit
from eitlens.figures.style import picture
from eitlens.phantom import conductivity

CONTRASTS = (1.01, 1.1, 2.0, 10.0)


class Born(eit.Solver):
    """f - f0 ≈ -∫ (σ - 1) ∇u0 · ∇N(·, y), by the harmonic functions of the square and their gradients."""

    order = 1.0

    def __init__(self, domain: eit.Square) -> None:
        self.domain = domain

    def difference(self, conductivity: eit.Phantom, currents: torch.Tensor) -> torch.Tensor:
        """The data for one phantom."""
        square = self.domain
        change = (sigma_of(square, conductivity) - 1) * square.h**2
        waves = eit.currents.cosine(square, 8)
        driven, tested = (torch.stack([*square.extend_with_gradient(g)][1:]) for g in (currents, waves))
        products = -torch.einsum("xy,kaxy,kbxy->ab", change, driven, tested)
        weights = square.boundary_weight * waves @ waves.T
        return torch.linalg.solve(weights, products.T).T @ waves


def sigma_of(square: eit.Square, phantom: eit.Phantom) -> torch.Tensor:
    """σ at the nodes."""
    return conductivity(square, phantom)


def main(out: Path) -> list[float]:
    """Draw the data of a contrast of 1.1; the relative difference of the two solvers for each contrast."""
    square = eit.Square(100)
    g = eit.currents.cosine(square, 2)
    exact, born = eit.BoundaryIntegralSolver(square), Born(square)
    bodies = [eit.Phantom([eit.circle((0.2, 0.1), 0.3)], contrast) for contrast in CONTRASTS]
    waves = eit.currents.cosine(square, 8)
    inner = [(exact.difference(body, g) @ waves.T, born.difference(body, g) @ waves.T) for body in bodies]
    with picture(out, 1, 1, 3.4) as axes:
        for name, solver in (("exact", exact), ("Born", born)):
            axes[0, 0].plot(square.arclength(), solver.difference(bodies[2], g)[0], label=name)
        axes[0, 0].set(title="f − f0 at contrast 2", xlabel="arclength")
        axes[0, 0].legend()
    return [float((one - other).norm() / one.norm()) for one, other in inner]


if __name__ == "__main__":
    for contrast, error in zip(CONTRASTS, main(Path("out/own_solver.png")), strict=True):
        print(f"contrast {contrast:g}: Born is {error:.1%} off")
