"""The direct sampling method: its normaliser against a dipole in closed form, and how well it ranks pixels.

The trace of a dipole, η_x = d · ∇_x N(x, ·), is known in closed form from the Riemann map; its H^s seminorm
by FFT along the loop must be what the precomputed 2×2 field M(x) says.
"""

import numpy as np
import torch
from study import OUT, expect

from eitlens import phantom as phantoms
from eitlens.classical import direct_sampling, probing_tensor
from eitlens.domain import Square
from eitlens.evaluate.ranking import area_under_curve
from eitlens.figures.style import outline, picture, show_field
from eitlens.forward import BoundaryIntegralSolver, GridSolver, add_noise, currents
from eitlens.phantom import EllipseSampler

SQUARE = Square(200)


def dipole_norm(point: tuple[float, float], direction: float, s: float) -> float:
    """|η_x|_H^s on the boundary, η_x(y) = -(1/π) Re [ e^{i direction} ζ'(x) / (ζ(x) - ζ(y)) ]."""
    here = SQUARE.conformal_map(torch.tensor([point], dtype=torch.float64))
    there = SQUARE.conformal_map(SQUARE.boundary()).value
    turn = complex(np.cos(direction), np.sin(direction))
    trace = -(turn * here.first / (here.value - there)).real / np.pi
    power = (torch.fft.rfft(trace).abs() / SQUARE.boundary_size).square()
    kappa = torch.arange(len(power), dtype=torch.float64) * (2 * np.pi / SQUARE.perimeter)
    return float((2 * SQUARE.perimeter * kappa ** (2 * s) * power)[1:].sum().sqrt())


def tensor_norm(point: tuple[float, float], direction: float, s: float, modes: int) -> float:
    """The same from the precomputed field."""
    i, j = (round((v + 1) / SQUARE.h) for v in point)
    xx, xy, yy = (float(m[i, j]) for m in probing_tensor(SQUARE, s, modes))
    c, d = np.cos(direction), np.sin(direction)
    return float(np.sqrt(xx * c * c + 2 * xy * c * d + yy * d * d))


def main() -> None:
    """Run the study."""
    print("Direct sampling")
    for point, figure in (
        ((0.0, 0.0), 0.625),
        ((-0.4, 0.3), 1.139),
        ((0.5, -0.6), 2.51),
        ((-0.7, 0.0), 3.84),
    ):
        norms = [tensor_norm(point, 0.0, 1.5, 120), dipole_norm(point, 0.0, 1.5)]
        expect(
            abs(norms[0] / norms[1] - 1) < 2e-3,
            f"|η| at {point}: field {norms[0]:.4f}, dipole {norms[1]:.4f}",
        )
        expect(abs(norms[0] / figure - 1) < 1e-2, f"|η| at {point} is {figure:g} to 1 %")
    spread = [tensor_norm((0.0, 0.0), a, 1.5, 60) for a in np.linspace(0, np.pi, 7)]
    expect(max(spread) / min(spread) - 1 < 1e-10, "isotropic at the centre")

    batch = EllipseSampler(seed=2).batch(0, 32)
    difference = GridSolver(SQUARE).difference(batch, currents.cosine(SQUARE, 3))
    inside = phantoms.indicator(SQUARE, batch)
    for name, data, s in (
        ("l = 1", difference[:, :1], 1.5),
        ("l = 2", difference[:, 1:2], 1.5),
        ("mean of 3", difference, 1.5),
    ):
        image = direct_sampling(SQUARE, data, s=s)
        auc = np.array([area_under_curve(i, t) for i, t in zip(image, inside, strict=True)])
        low, middle, high = np.quantile(auc, [0.1, 0.5, 0.9])
        print(f"  {name}: AUC median {middle:.3f}, 10 % to 90 % of phantoms {low:.3f} to {high:.3f}")
        expect(
            0.72 < middle < 0.84, f"{name}: median AUC {middle:.3f} in the range 0.72 to 0.84 of the notes"
        )
    disjoint = EllipseSampler(seed=2, disjoint=True).batch(0, 3)
    clean = BoundaryIntegralSolver(SQUARE).difference(disjoint, currents.cosine(SQUARE, 3))
    with picture(OUT / "direct_sampling.png", 2, 3) as axes:
        for column, (phantom, data) in enumerate(zip(disjoint, clean, strict=True)):
            for row, tau in enumerate((0.0, 0.2)):
                index = direct_sampling(SQUARE, add_noise(data, tau, seed=1))
                show_field(axes[row, column], index, f"DSM, 3 currents, τ = {tau:g}")
                outline(axes[row, column], phantoms.level_set(SQUARE, phantom))


if __name__ == "__main__":
    main()
