"""Both forward solvers converge, and to the same data.

Random phantoms of four disjoint ellipses, three cosine currents, relative L² error of f - f0 over all currents.

1. The boundary integral solver in the number of nodes an outline: exponentially, 60 against 240 nodes.
2. The boundary integral solver in the mesh size of the boundary loop: fourth order.
3. The grid solver against the boundary integral solver on the same loop, at contrasts 10, 0.1, 100, 0.01: second order.
4. The number of conjugate gradient steps to 1e-8: flat in n.
5. A disk in the square with a closed form: u = (r + μρ²/r) cos θ outside, with its own Neumann data.
"""

import numpy as np
import torch
from study import OUT, expect, fitted_order
from torch import Tensor

from eitlens.domain import Square
from eitlens.figures.style import label_sizes, picture
from eitlens.forward import BoundaryIntegralSolver, GridSolver, currents
from eitlens.phantom import EllipseSampler, Phantom, PhantomBatch, circle

SIZES = (50, 100, 200, 400)
NODES = (16, 24, 32, 40, 48, 60, 80, 100, 120, 160)
# contrast: (bar on the median error at n = 200, bar on the order over n = 50 … 200, bar on the steps to 1e-8)
BARS = {10.0: (4e-4, 1.8, 40), 0.1: (1e-3, 1.5, 40), 100.0: (np.inf, 1.5, 160), 0.01: (np.inf, 1.5, 160)}


def relative(data: Tensor, reference: Tensor) -> Tensor:
    """Relative error of each sample over all currents and nodes."""
    error: Tensor = (data - reference).flatten(1).norm(dim=1) / reference.flatten(1).norm(dim=1)
    return error


def by_nodes(batch: PhantomBatch) -> list[float]:
    """The boundary integral solver against itself with 240 nodes, by nodes an outline: the median error."""
    square = Square(200)
    g = currents.cosine(square, 3)
    best = BoundaryIntegralSolver(square, nodes=240).difference(batch, g)
    return [
        float(relative(BoundaryIntegralSolver(square, nodes=n).difference(batch, g), best).median())
        for n in NODES
    ]


def by_loop(batch: PhantomBatch) -> list[float]:
    """The boundary integral solver against itself on a loop of 4 × 800 nodes: the largest error."""
    fine = Square(800)
    best = BoundaryIntegralSolver(fine).difference(batch, currents.cosine(fine, 3))
    errors = []
    for n in SIZES[:3]:
        data = BoundaryIntegralSolver(Square(n)).difference(batch, currents.cosine(Square(n), 3))
        errors.append(float(relative(data, best[..., :: 800 // n]).max()))
    return errors


def grid_errors(batch: PhantomBatch) -> tuple[list[float], list[int]]:
    """Median error of the grid solver and the most steps to 1e-8, by n."""
    errors, steps = [], []
    for n in SIZES:
        square = Square(n)
        g = currents.cosine(square, 3)
        reference = BoundaryIntegralSolver(square).difference(batch, g)
        errors.append(float(relative(GridSolver(square).difference(batch, g), reference).median()))
        steps.append(int(GridSolver(square, tolerance=1e-8).steps(batch[:3], g).max()))
    return errors, steps


def disk_data(square: Square, radius: float, sigma: float) -> tuple[Tensor, Tensor]:
    """Current and voltage of u = (r + μρ²/r) cos θ, μ = (1-σ)/(1+σ); a corner takes the mean of its two sides."""
    mu = (1 - sigma) / (1 + sigma) * radius**2
    z = torch.view_as_complex(square.boundary())
    slope = 1 - mu / z**2  # u = Re (z + μ/z), so u_x - i u_y = slope
    x, y = z.real.abs() > 1 - 1e-12, z.imag.abs() > 1 - 1e-12
    flux = slope.real * z.real.sign() * x - slope.imag * z.imag.sign() * y
    return (flux / (x.double() + y.double()))[None], (z + mu / z).real[None]


def disk_errors(radius: float, sigma: float) -> list[float]:
    """Largest error of f by n; both the solver and the trapezoid rule for the jump of g at the corners count."""
    phantom = Phantom([circle((0.0, 0.0), radius)], inside=sigma)
    errors = []
    for n in SIZES[:3]:
        square = Square(n)
        g, f = disk_data(square, radius, sigma)
        corners = torch.arange(4) * n
        away = torch.ones(4 * n, dtype=torch.bool)
        for shift in range(-n // 10, n // 10 + 1):
            away[(corners + shift) % (4 * n)] = False
        error = GridSolver(square, tolerance=1e-10).trace(phantom, g) - f
        errors.append(float(error[:, away].abs().max()))
    return errors


def main() -> None:
    """Run the study."""
    print("Convergence of the forward solvers")
    batch = EllipseSampler(seed=21, disjoint=True, gap=0.1).batch(0, 8)
    spectral = by_nodes(batch)
    sixty = spectral[NODES.index(60)]
    expect(sixty < 1e-9, f"boundary integral, 60 against 240 nodes an ellipse: {sixty:.1e} (bar 1e-9)")
    loop = by_loop(batch)
    order = -fitted_order(SIZES[:3], loop)
    expect(
        order > 3.8 and loop[-1] < 1e-8,
        f"boundary integral in h: order {order:.2f}, {loop[-1]:.1e} at n = 200",
    )
    batch = EllipseSampler(seed=21, disjoint=True).batch(0, 8)
    curves = {}
    for contrast, (most, least, limit) in BARS.items():
        errors, steps = curves[contrast] = grid_errors(batch.with_conductivity(contrast, 1.0))
        order, line = -fitted_order(SIZES[:3], errors[:3]), ", ".join(f"{e:.1e}" for e in errors)
        expect(
            errors[2] <= most and order >= least, f"grid, contrast {contrast:g}: {line}; order {order:.2f}"
        )
        expect(errors[3] < errors[2] / 3, f"grid, contrast {contrast:g}: still second order beyond n = 200")
        expect(max(steps) <= limit, f"grid, contrast {contrast:g}: steps to 1e-8 for n = 50 … 400: {steps}")
    disk = disk_errors(0.4, 10.0)
    order = -fitted_order(SIZES[:3], disk)
    expect(
        order > 1.8 and disk[-1] < 1e-3,
        f"disk with a closed form: order {order:.2f}, {disk[-1]:.1e} at n = 200",
    )
    with picture(OUT / "convergence.png", 1, 3, 2.8) as axes:
        axes[0, 0].semilogy(NODES, spectral, "ko-")
        axes[0, 0].set(
            title="boundary integral solver", xlabel="nodes an ellipse", ylabel="relative error of f − f0"
        )
        for (contrast, (errors, steps)), mark in zip(curves.items(), "os^v", strict=True):
            axes[0, 1].loglog(SIZES, errors, f"k{mark}-", label=f"σ = {contrast:g}", fillstyle="none")
            axes[0, 2].semilogx(SIZES, steps, f"k{mark}-", fillstyle="none")
        axes[0, 1].loglog(SIZES, 8 / np.square(SIZES), "k:", label="second order")
        axes[0, 1].set(title="grid solver", xlabel="n")
        axes[0, 1].legend(fontsize=7)
        axes[0, 2].set(title="steps to 1e-8", xlabel="n", ylim=(0, 100))
        for panel in axes[0, 1:]:
            label_sizes(panel, SIZES)


if __name__ == "__main__":
    main()
