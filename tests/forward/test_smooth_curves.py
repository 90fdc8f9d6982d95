"""Boundary integrals on outlines of any form: closed forms, finite elements, limits, batches, gradients."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from star_mesh import modes as by_elements
from torch import Tensor

from eitlens.domain import Disk, Square
from eitlens.errors import InputError
from eitlens.forward import BoundaryIntegralSolver, GridSolver, Solver, currents
from eitlens.forward.integral.outlines import outlines
from eitlens.forward.integral.solver import _transmission, by_blocks, solve_each
from eitlens.phantom import (
    Ellipse,
    Phantom,
    PhantomBatch,
    RoundedPolygon,
    Shape,
    Star,
    circle,
    cross,
    rectangle,
    stack,
)

DISK = Disk(4, 128)
FIXED, SOLVER = BoundaryIntegralSolver(DISK, nodes=64), BoundaryIntegralSolver(DISK)
SQUARE = rectangle((0, 0), (0.6, 0.6), 0.2)
CROSS = cross((0, 0), 0.8, 0.25, 0.3)
TRIANGLE = RoundedPolygon([(0.5, -0.1), (-0.1, 0.5), (-0.4, -0.4)])
MIXED = Phantom(
    [
        circle((0.5, 0.1), 0.2),
        rectangle((-0.4, -0.4), (0.3, 0.4), 0.2, radius=0.04),
        Star((-0.2, 0.5), 0.2, cosines=(0, 0.03), sines=(0.02,)),
        Ellipse((0.1, -0.4), (0.1, 0.2), 0.3),
    ],
    inside=[0.0, 5.0, math.inf, 0.1],
    outside=2.0,
)


def relative(found: Tensor, expected: Tensor) -> float:
    return float((found - expected).norm() / expected.norm())


@pytest.mark.parametrize("sigma", [0.0, 0.1, 5.0, math.inf])
def test_a_concentric_circle_has_its_closed_form(sigma: float) -> None:
    """Λ_σ - Λ_1 = 2 μ ρ^2k / (k (1 - μ ρ^2k)) on cos kθ and sin kθ, μ = (1 - σ) / (1 + σ), -1 for σ = ∞."""
    rho, k = 0.6, torch.arange(1, 9, dtype=torch.float64)
    mu = -1.0 if sigma == math.inf else (1 - sigma) / (1 + sigma)
    power = mu * rho ** (2 * k)
    expected = torch.diag((2 * power / (1 - power) / k).repeat(2))
    for shape in (circle((0, 0), rho), Star((0, 0), rho)):
        found = FIXED.modes(Phantom([shape], sigma), 8)
        torch.testing.assert_close(found, expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize(("shape", "rays"), [(SQUARE, 32), (TRIANGLE, 32), (CROSS, 12)])
@pytest.mark.parametrize("sigma", [0.0, 10.0, math.inf])
def test_rounded_polygons_against_finite_elements_on_sharp_ones(
    shape: RoundedPolygon, rays: int, sigma: float
) -> None:
    expected = torch.tensor(by_elements(np.array(shape.vertices), min(sigma, 1e7), 4, rays))
    assert relative(FIXED.modes(Phantom([shape], sigma), 4), expected) < 0.01
    sharper = RoundedPolygon(shape.vertices, radius=0.002)
    fine = BoundaryIntegralSolver(DISK, nodes=256).modes(Phantom([sharper], sigma), 4)
    assert relative(fine, expected) < 4e-3


@pytest.mark.parametrize(
    ("shape", "bar"),
    [(SQUARE, 1e-4), (TRIANGLE, 1e-4), (CROSS, 1e-2), (MIXED.shapes[2], 1e-8)],
    ids=["square", "triangle", "cross", "star"],
)
@pytest.mark.parametrize("sigma", [0.0, math.inf])
def test_what_sixty_four_nodes_are_good_for(shape: Shape, bar: float, sigma: float) -> None:
    phantom = Phantom([shape], sigma)
    exact = BoundaryIntegralSolver(DISK, nodes=512).modes(phantom, 16)
    assert relative(FIXED.modes(phantom, 16), exact) < bar


def test_automatic_nodes_reach_the_tolerance() -> None:
    exact = BoundaryIntegralSolver(DISK, nodes=600).modes(MIXED, 16)
    for tolerance in (1e-3, 1e-6, 1e-9):
        found = BoundaryIntegralSolver(DISK, tolerance=tolerance).modes(MIXED, 16)
        assert relative(found, exact) < tolerance


def test_smooth_outlines_keep_four_digits_of_today_with_sixty_four_nodes() -> None:
    ellipses = Phantom([MIXED.shapes[0], MIXED.shapes[3], circle((-0.4, 0.2), 0.3)], [0.0, 5.0, math.inf])
    assert relative(FIXED.modes(ellipses, 32), SOLVER.modes(ellipses, 32)) < 1e-9


def test_modes_are_those_of_the_data_on_the_boundary() -> None:
    """The way by boundary nodes, which every solver on a disk has, against the direct one."""
    torch.testing.assert_close(Solver.modes(SOLVER, MIXED, 20), SOLVER.modes(MIXED, 20), rtol=0, atol=1e-9)


def test_reciprocity_and_sign() -> None:
    found = SOLVER.modes(MIXED, 24)
    torch.testing.assert_close(found, found.T, rtol=0, atol=1e-10)
    for sigma, sign in ((0.0, 1), (math.inf, -1)):
        form = SOLVER.modes(Phantom(MIXED.shapes, sigma), 4)
        assert bool((sign * torch.linalg.eigvalsh((form + form.T) / 2) > 0).all())


@pytest.mark.parametrize(("exact", "near"), [(0.0, 1e-12), (math.inf, 1e12)])
def test_insulators_and_perfect_conductors_are_the_limits(exact: float, near: float) -> None:
    one, other = (FIXED.modes(Phantom(MIXED.shapes, sigma), 16) for sigma in (exact, near))
    assert relative(other, one) < 1e-10


def test_a_batch_of_all_kinds_equals_its_members() -> None:
    phantoms = [MIXED, Phantom([CROSS], 3.0), Phantom([]), Phantom([TRIANGLE], 0.0)]
    for found, phantom in zip(FIXED.modes(phantoms, 8), phantoms, strict=True):
        torch.testing.assert_close(found, FIXED.modes(phantom, 8), rtol=0, atol=1e-13)


def test_a_square_body_with_a_star_against_the_grid() -> None:
    body = Square(200)
    star, g = Phantom([Star((0.2, 0.1), 0.4, cosines=(0, 0, 0.08))], 5.0), currents.cosine(body, 2)
    exact = BoundaryIntegralSolver(body).difference(star, g)
    assert relative(GridSolver(body).difference(star, g), exact) < 1e-3


def test_elimination_by_blocks_is_the_solution() -> None:
    curves = outlines(DISK, stack([MIXED, Phantom([CROSS], 0.0)]), 64)
    matrix = _transmission(curves)
    right = torch.randn(
        2, matrix.shape[-1], 5, dtype=torch.float64, generator=torch.Generator().manual_seed(1)
    )
    torch.testing.assert_close(by_blocks(matrix, right, 64), solve_each(matrix, right), rtol=0, atol=1e-11)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_gpu_gives_the_same() -> None:
    batch = stack([MIXED, Phantom([CROSS], 3.0), Phantom([TRIANGLE], 0.0)])
    here = FIXED.modes(batch, 16)
    torch.testing.assert_close(
        FIXED.modes(batch.to(torch.device("cuda")), 16).cpu(), here, rtol=0, atol=1e-12
    )


@pytest.mark.parametrize("kind", [RoundedPolygon, Star])
def test_differentiable_in_shapes_and_conductivities(kind: type[Shape]) -> None:
    solver = BoundaryIntegralSolver(DISK, nodes=16)
    shapes = {
        RoundedPolygon: [
            rectangle((-0.4, 0.1), (0.3, 0.4), 0.2, 0.05),
            rectangle((0.4, 0), (0.3, 0.2), 0, 0.05),
        ],
        Star: [Star((-0.4, 0.1), 0.3, (0, 0.05), (0.02,)), Star((0.4, 0), 0.2, (0, 0.01))],
    }[kind]
    batch = stack([Phantom(shapes, [5.0, 0.0], 2.0)])
    (group,) = batch.groups

    def data(parameters: Tensor, inside: Tensor, outside: Tensor) -> Tensor:
        changed = replace(group, parameters=parameters, inside=inside)
        return solver.modes(PhantomBatch((changed,), outside), 3)

    inputs = (group.parameters, group.inside, batch.outside)
    assert torch.autograd.gradcheck(data, tuple(v.clone().requires_grad_() for v in inputs), rtol=1e-4)


def test_a_perfect_conductor_has_a_gradient_in_its_shape() -> None:
    batch = stack([Phantom([SQUARE], math.inf)])
    (group,) = batch.groups
    row = group.parameters.clone().requires_grad_()
    FIXED.modes(PhantomBatch((replace(group, parameters=row),), batch.outside), 3).square().sum().backward()
    assert row.grad is not None
    assert bool(row.grad.isfinite().all())


def test_what_a_fixed_number_of_nodes_still_refuses() -> None:
    with pytest.raises(InputError, match="phantom 0: shapes 0 and 1"):
        FIXED.modes(Phantom([circle((0, 0), 0.3), SQUARE]), 4)
    with pytest.raises(InputError, match=r"phantom 0: .* beyond the boundary"):
        FIXED.modes(Phantom([circle((0.8, 0), 0.3)]), 4)
    with pytest.raises(InputError, match="disk, not of a square"):
        GridSolver(Square(16)).modes(MIXED, 4)
    with pytest.raises(InputError, match="between 0 and ∞"):
        GridSolver(Square(16)).difference(MIXED, currents.cosine(Square(16), 1))
