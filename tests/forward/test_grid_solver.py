"""The grid solver: declared order, closed forms, identities of the map g ↦ f, derivatives, batches."""

import math
from collections.abc import Callable

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from eitlens import memory
from eitlens.domain import Square
from eitlens.errors import ConvergenceError, InputError
from eitlens.forward import BoundaryIntegralSolver, NeumannToDirichlet, currents
from eitlens.forward.grid import Field, GridSolver, LevelSet
from eitlens.forward.grid.conductivity import _one_each
from eitlens.phantom import (
    Ellipse,
    EllipseSampler,
    Phantom,
    Polygon,
    PolygonSampler,
    circle,
    level_set,
    stack,
)

SQUARE = Square(24)
SOLVER = GridSolver(SQUARE, tolerance=1e-13)
CURRENTS = currents.trigonometric(SQUARE, 4)
SHAPES = [Ellipse((0.3, 0.2), (0.15, 0.35), 0.4), circle((-0.4, -0.3), 0.3)]
PHANTOM = Phantom(SHAPES)


def relative(found: Tensor, expected: Tensor) -> float:
    return float((found - expected).norm() / expected.norm())


def slope(sizes: list[int], errors: list[float]) -> float:
    """Least-squares order of convergence."""
    x, y = torch.tensor(sizes).double().log(), torch.tensor(errors).double().log()
    return -float(((x - x.mean()) * (y - y.mean())).sum() / ((x - x.mean()) ** 2).sum())


def neumann(square: Square, gradient: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]) -> Tensor:
    """∂u/∂n at the boundary nodes, at a corner the mean of its two sides, for one current."""
    x, y = square.boundary().unbind(-1)
    dx, dy = gradient(x, y)
    on_x, on_y = (x.abs() == 1).double(), (y.abs() == 1).double()
    return ((on_x * x * dx + on_y * y * dy) / (on_x + on_y))[None]


@pytest.mark.parametrize(("contrast", "bound"), [(10.0, 2e-4), (0.1, 5e-4)])
def test_order_for_a_disk_in_closed_form(contrast: float, bound: float) -> None:
    """The solution u = (r + μ ρ²/r) cos θ around a disk of radius ρ, μ = (1 - σ)/(1 + σ), with its own currents."""
    radius, mu = 0.45, (1 - contrast) / (1 + contrast)
    sizes, errors = [25, 50, 100], []
    for n in sizes:
        square = Square(n)
        strength = mu * radius**2

        def gradient(x: Tensor, y: Tensor, strength: float = strength) -> tuple[Tensor, Tensor]:
            r4 = (x**2 + y**2) ** 2
            return 1 + strength * (y**2 - x**2) / r4, -2 * strength * x * y / r4

        x, y = square.boundary().unbind(-1)
        expected = x + strength * x / (x**2 + y**2)
        g = neumann(square, gradient)
        found = GridSolver(square, tolerance=1e-10).trace(Phantom([circle((0.0, 0.0), radius)], contrast), g)
        errors.append(relative(found[0], expected - expected.mean()))
    assert slope(sizes, errors) > GridSolver.order - 0.15
    assert errors[-1] < bound


@pytest.mark.parametrize("at_nodes", [True, False])
def test_order_for_a_smooth_conductivity(at_nodes: bool) -> None:
    """For σ = e^{2ax}, u = e^{-ax} cosh(mx) cos(ky), m² = k² + a² solves div(σ ∇u) = 0."""
    a, k = 0.7, 1.3
    m = math.hypot(a, k)

    def gradient(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        slope_x = torch.exp(a * x) * (m * torch.sinh(m * x) - a * torch.cosh(m * x)) * torch.cos(k * y)
        return slope_x, -k * torch.exp(a * x) * torch.cosh(m * x) * torch.sin(k * y)

    sizes, errors = [16, 32, 64], []
    for n in sizes:
        square = Square(n)
        nodes = square.nodes() if at_nodes else square.nodes()[:-1, :-1] + square.h / 2
        x, y = square.boundary().unbind(-1)
        expected = torch.exp(-a * x) * torch.cosh(m * x) * torch.cos(k * y)
        g = currents.project(neumann(square, gradient))
        found = GridSolver(square, tolerance=1e-10).trace(torch.exp(2 * a * nodes[..., 0]), g)
        errors.append(relative(found[0], expected - expected.mean()))
    assert slope(sizes, errors) > GridSolver.order - 0.1
    assert errors[-1] < 1e-3


@pytest.mark.parametrize(("contrast", "bound", "order"), [(10.0, 4e-4, 1.8), (0.1, 1e-3, 1.5)])
def test_against_the_boundary_integral_solver(contrast: float, bound: float, order: float) -> None:
    """The median over 8 random phantoms of four disjoint ellipses."""
    batch = EllipseSampler(seed=0, disjoint=True, inside=contrast).batch(0, 8)
    sizes, errors = [50, 100, 200], []
    for n in sizes:
        square = Square(n)
        g = currents.cosine(square, 3)
        exact = BoundaryIntegralSolver(square).difference(batch, g)
        found = GridSolver(square).difference(batch, g)
        errors.append(float(((found - exact).norm(dim=(1, 2)) / exact.norm(dim=(1, 2))).median()))
    assert errors[-1] < bound
    assert slope(sizes, errors) > order


def test_the_background_is_of_fourth_order() -> None:
    """For u = cosh kx cos k(y+1), k = π, whose currents have no slope at the corners."""
    k, sizes, errors = math.pi, [8, 16, 32], []
    for n in sizes:
        square = Square(n)
        x, y = square.boundary().unbind(-1)
        u = torch.cosh(k * x) * torch.cos(k * (y + 1))
        g = neumann(square, lambda x, y: (k * torch.sinh(k * x) * torch.cos(k * (y + 1)), 0 * y))
        errors.append(relative(GridSolver(square).background(g)[0], u - u.mean()))
    assert slope(sizes, errors) > 3.8
    assert errors[-1] < 1e-4


@pytest.mark.parametrize("contrast", [1e4, 1e6, 1e8])
def test_good_conductors(contrast: float) -> None:
    """As accurate as at contrast 10: the residual that conjugate gradients begin with grows with the contrast."""
    phantom = Phantom(EllipseSampler(seed=0, disjoint=True).phantom(0).shapes, contrast)
    square = Square(50)
    g = currents.cosine(square, 2)
    exact = BoundaryIntegralSolver(square).difference(phantom, g)
    assert relative(GridSolver(square).difference(phantom, g), exact) < 5e-3


@pytest.mark.parametrize(("contrast", "most"), [(10.0, 40), (0.1, 40), (100.0, 160), (0.01, 160)])
def test_steps_do_not_grow_with_the_grid(contrast: float, most: int) -> None:
    batch = EllipseSampler(seed=0, disjoint=True, inside=contrast).batch(0, 2)
    counts = []
    for n in (50, 100, 200):
        square = Square(n)
        counts.append(int(GridSolver(square, tolerance=1e-8).steps(batch, currents.cosine(square, 2)).max()))
    assert max(counts) <= most
    assert counts[-1] <= 1.2 * counts[0]


def test_the_map_is_symmetric_and_kills_constants() -> None:
    square = Square(10)
    solver = GridSolver(square, tolerance=1e-14)
    matrix = NeumannToDirichlet(solver, PHANTOM).matrix
    assert (matrix - matrix.T).abs().max() < 1e-13 * matrix.abs().max()
    assert matrix.sum(0).abs().max() < 1e-13
    assert matrix.sum(1).abs().max() < 1e-13
    assert torch.linalg.eigvalsh(matrix)[1] > 0


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.floats(0.1, 2), st.booleans(), st.booleans())
def test_reciprocity_and_sign_for_any_phantom(index: int, power: float, up: bool, corners: bool) -> None:
    """(g₁, f₂) = (f₁, g₂), and a better conductor lowers every (g, f); overlaps and polygons included."""
    sampler = PolygonSampler(seed=5) if corners else EllipseSampler(seed=5)
    batch = sampler.batch(index, index + 1).with_conductivity(10**power if up else 10**-power, 1.0)
    f = SOLVER.difference(batch, CURRENTS)[0]
    form = f @ CURRENTS.T
    assert (form - form.T).abs().max() <= 1e-11 * form.abs().max()
    assert torch.linalg.eigvalsh((form + form.T) / (-2 if up else 2))[0] > 0


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10**6), st.booleans())
def test_more_conductivity_never_raises_the_potential(seed: int, at_nodes: bool) -> None:
    """Λ decreases as σ increases, for any field however rough."""
    generator = torch.Generator().manual_seed(seed)
    square = Square(12)
    size, g = square.n + at_nodes, currents.trigonometric(square, 4)
    low = torch.exp(torch.randn(size, size, dtype=torch.float64, generator=generator))
    high = low * (1 + torch.rand(size, size, dtype=torch.float64, generator=generator))
    form = GridSolver(square, tolerance=1e-12).trace(torch.stack([low, high]), g) @ g.T
    assert torch.linalg.eigvalsh(form[0] - form[1])[0] > 0


def test_nothing_inside_gives_exactly_nothing() -> None:
    assert not SOLVER.difference(Phantom([]), CURRENTS).any()
    assert not SOLVER.difference(Phantom(SHAPES, inside=2.0, outside=2.0), CURRENTS).any()
    assert not SOLVER.difference(torch.ones(SQUARE.shape, dtype=torch.float64), CURRENTS).any()
    both = SOLVER.difference([Phantom([]), PHANTOM], CURRENTS)
    assert not both[0].any()
    assert both[1].any()
    torch.testing.assert_close(SOLVER.trace(Phantom([]), CURRENTS), SOLVER.background(CURRENTS))


def test_scaling_the_conductivity_scales_the_potential() -> None:
    scaled = SOLVER.potential(Phantom(SHAPES, inside=30.0, outside=3.0), CURRENTS)
    torch.testing.assert_close(3 * scaled, SOLVER.potential(PHANTOM, CURRENTS), rtol=1e-10, atol=1e-12)


def test_trace_potential_and_difference_agree() -> None:
    f, u = SOLVER.trace(PHANTOM, CURRENTS), SOLVER.potential(PHANTOM, CURRENTS)
    torch.testing.assert_close(SQUARE.trace(u), f)
    torch.testing.assert_close(f, SOLVER.background(CURRENTS) + SOLVER.difference(PHANTOM, CURRENTS))
    assert u.abs().amax() <= f.abs().amax() * (1 + 1e-12)


def test_a_level_set_approaches_its_phantom() -> None:
    errors = []
    for n in (32, 64):
        square = Square(n)
        g, solver = currents.cosine(square, 2), GridSolver(square)
        values = level_set(square, PHANTOM)
        errors.append(relative(solver.difference(LevelSet(values, 10.0), g), solver.difference(PHANTOM, g)))
    assert errors[1] < 0.35 * errors[0] < 0.01


def test_monotone_in_the_conductivity_of_the_inclusions() -> None:
    """Also across the background: from an insulator to a good conductor in the same shapes."""
    values = [0.01, 0.1, 0.5, 0.9, 1.1, 2.0, 10.0, 100.0]
    form = SOLVER.difference([Phantom(SHAPES, inside=s) for s in values], CURRENTS) @ CURRENTS.T
    assert (torch.linalg.eigvalsh(form[:-1] - form[1:])[:, 0] > 0).all()


def test_materials_that_meet() -> None:
    """Three conductivities with triple points: the answer still converges, and touching equals merged if equal."""
    blocks = [
        ((-0.5, -0.4), (0.0, -0.4), (0.0, 0.4), (-0.5, 0.4)),
        ((0.0, -0.4), (0.5, -0.4), (0.5, 0.4), (0.0, 0.4)),
    ]
    whole = Polygon(((-0.5, -0.4), (0.5, -0.4), (0.5, 0.4), (-0.5, 0.4)))
    data = []
    for n in (24, 48, 96, 192):
        square = Square(n)
        solver, g = GridSolver(square), currents.cosine(square, 2)
        data.append(
            solver.difference(Phantom([Polygon(b) for b in blocks], inside=[5.0, 0.2]), g)[:, :: n // 24]
        )
        merged = solver.difference(Phantom([Polygon(b) for b in blocks], inside=5.0), g)
        torch.testing.assert_close(
            merged, solver.difference(Phantom([whole], inside=5.0), g), rtol=2e-2, atol=1e-3
        )
    errors = [relative(d, data[-1]) for d in data[:-1]]
    assert errors[2] < errors[1] < errors[0] < 0.1


def test_derivatives_by_a_field() -> None:
    square = Square(5)
    solver, g = GridSolver(square, tolerance=1e-14), currents.trigonometric(square, 2).requires_grad_()
    generator = torch.Generator().manual_seed(0)
    for size in (5, 6):
        field = (0.5 + torch.rand(2, size, size, dtype=torch.float64, generator=generator)).requires_grad_()
        outside = torch.tensor([1.0, 0.8], dtype=torch.float64, requires_grad=True)

        def data(values: Tensor, sigma: Tensor, load: Tensor) -> Tensor:
            return solver.difference(Field(values, sigma), currents.project(load))

        assert torch.autograd.gradcheck(data, (field, outside, g), atol=1e-7, rtol=1e-5, fast_mode=True)


def test_derivatives_where_nothing_differs_from_the_background() -> None:
    field = torch.ones(SQUARE.shape, dtype=torch.float64, requires_grad=True)
    SOLVER.difference(field, CURRENTS[:1]).mul(CURRENTS[:1]).sum().backward()
    assert field.grad is not None
    assert (field.grad < 0).all()


def test_derivatives_by_a_level_set() -> None:
    square = Square(8)
    solver, g = GridSolver(square, tolerance=1e-14), currents.trigonometric(square, 2)
    values = level_set(square, Phantom([Ellipse((0.1, 0.05), (0.5, 0.41), 0.3)])).requires_grad_()
    inside, outside = (torch.tensor(s, dtype=torch.float64, requires_grad=True) for s in (3.0, 0.7))

    def potential(phi: Tensor, high: Tensor, low: Tensor) -> Tensor:
        return solver.potential(LevelSet(phi, high, low), g)

    assert torch.autograd.gradcheck(
        potential, (values, inside, outside), eps=1e-7, atol=1e-6, rtol=1e-5, fast_mode=True
    )


def test_a_sample_does_not_feel_its_companions() -> None:
    """Different contrasts stop after different numbers of steps, and shapes and currents are kept apart."""
    phantoms = [Phantom(SHAPES, inside=s) for s in (100.0, 1.5, 0.01, 10.0)] + [Phantom([])]
    together = SOLVER.difference(stack(phantoms), CURRENTS)
    steps = SOLVER.steps(phantoms, CURRENTS)
    for k, phantom in enumerate(phantoms):
        torch.testing.assert_close(together[k], SOLVER.difference(phantom, CURRENTS), rtol=1e-11, atol=1e-13)
        assert (steps[k] - SOLVER.steps(phantom, CURRENTS)).abs().max() <= 1
    assert steps[-1].max() == 0
    own = torch.stack([CURRENTS.roll(k, 0) for k in range(5)])
    rolled = torch.stack([together[k].roll(k, 0) for k in range(5)])
    torch.testing.assert_close(SOLVER.difference(phantoms, own), rolled, rtol=1e-11, atol=1e-13)


def test_any_batch_fits_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    sampler = EllipseSampler(seed=3)
    whole = SOLVER.difference(sampler.batch(0, 7), CURRENTS)
    monkeypatch.setattr(memory, "_CPU_BUDGET", 3 * 8 * 25**2 * (14 * 3 + 40))
    torch.testing.assert_close(
        SOLVER.difference(sampler.batch(0, 7), CURRENTS), whole, rtol=1e-11, atol=1e-13
    )
    monkeypatch.setattr(memory, "_CPU_BUDGET", 8 * 25**2 * 14 * 3)
    torch.testing.assert_close(
        SOLVER.difference(sampler.batch(0, 7), CURRENTS), whole, rtol=1e-11, atol=1e-13
    )


def test_leading_dimensions_of_a_field() -> None:
    field = 1 + torch.rand(
        2, 3, *SQUARE.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0)
    )
    data = SOLVER.difference(field, CURRENTS)
    assert data.shape == (2, 3, 4, 96)
    torch.testing.assert_close(data[1, 2], SOLVER.difference(field[1, 2], CURRENTS), rtol=1e-10, atol=1e-13)


def test_the_same_again_bit_by_bit() -> None:
    batch = EllipseSampler(seed=2).batch(0, 3)
    assert torch.equal(SOLVER.difference(batch, CURRENTS), SOLVER.difference(batch, CURRENTS))


def test_no_convergence_says_how_far_it_came() -> None:
    solver = GridSolver(SQUARE, tolerance=1e-10, max_steps=5)
    message = (
        r"no convergence for 4 of 4 potentials: residual 0\.\d+ after 5 steps, expected 1e-10: allow more"
    )
    with pytest.raises(ConvergenceError, match=message):
        solver.difference(PHANTOM, CURRENTS)


def field(value: float) -> Tensor:
    values = torch.ones(SQUARE.shape, dtype=torch.float64)
    values[3, 4] = value
    return values


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (lambda: SOLVER.difference(field(math.nan), CURRENTS), "1 of 625 values are NaN or infinite"),
        (lambda: SOLVER.difference(field(-2.0), CURRENTS), "conductivity must be positive, got a smallest value of -2"),
        (lambda: SOLVER.difference(field(0.0)[1:], CURRENTS), r"expected .*\(25, 25\) nodes or \(24, 24\) cells"),
        (lambda: SOLVER.difference(LevelSet(field(1.0)[1:, 1:]), CURRENTS), r"\(25, 25\) nodes, got \(24, 24\)"),
        (lambda: SOLVER.difference(LevelSet(field(-1.0), inside=0.0), CURRENTS), "inside must be positive"),
        (lambda: SOLVER.difference(Field(field(2.0), outside=-1.0), CURRENTS), "outside must be positive"),
        (lambda: _one_each(torch.ones(2).double(), (3,), CURRENTS.device, "inside"), r"or \(3,\) for a batch"),
        (lambda: SOLVER.background(CURRENTS, 0.0), "outside must be positive"),
        (lambda: SOLVER.difference(EllipseSampler(seed=1).batch(0, 0), CURRENTS), "one phantom, got an empty batch"),
        (lambda: SOLVER.difference(PHANTOM, CURRENTS[:0]), r"currents: expected .* got shape \(0, 96\)"),
        (lambda: SOLVER.difference(PHANTOM, CURRENTS[:, 4:]), "got 92: were the corners dropped"),
        (lambda: SOLVER.difference(PHANTOM, CURRENTS + 1), "zero mean"),
        (lambda: SOLVER.difference(Phantom([circle((0.9, 0.0), 0.2)]), CURRENTS), "beyond the boundary"),
        (lambda: GridSolver(SQUARE, tolerance=0.0), "0 < tolerance < 1"),
    ],
)  # fmt: skip
def test_bad_input(action: Callable[[], object], message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        action()
    assert "\n" not in str(caught.value)
