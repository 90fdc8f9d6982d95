"""The boundary integral solver against closed forms, itself, and the identities of the map g ↦ f."""

import cmath
import math
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from eitlens.domain import Disk, Square
from eitlens.forward import BoundaryIntegralSolver, currents
from eitlens.forward.integral.outlines import needed_nodes
from eitlens.phantom import Ellipse, EllipseSampler, Phantom, PhantomBatch, circle, stack

SQUARE = Square(32)
SOLVER = BoundaryIntegralSolver(SQUARE)
CURRENTS = currents.trigonometric(SQUARE, 6)
# Four ellipses at least 0.1 apart and 0.15 from the boundary: a typical, well separated phantom.
APART = EllipseSampler(seed=1, disjoint=True, gap=0.1, extent=0.85)
PHANTOM = APART.phantom(0)


def relative(found: Tensor, expected: Tensor) -> float:
    return float((found - expected).norm() / expected.norm())


def project(values: Tensor) -> Tensor:
    return values - values.mean(-1, keepdim=True)


# --- spectral accuracy in the outlines, fourth order in the currents
# -----------------------------------------------


def test_sixty_nodes_an_ellipse_give_nine_digits() -> None:
    batch = APART.batch(0, 8)
    coarse, fine = (BoundaryIntegralSolver(SQUARE, nodes=n).difference(batch, CURRENTS) for n in (60, 240))
    assert max(relative(c, f) for c, f in zip(coarse, fine, strict=True)) < 1e-9


def test_the_error_falls_exponentially_with_the_nodes() -> None:
    exact = BoundaryIntegralSolver(SQUARE, nodes=240).difference(PHANTOM, CURRENTS)
    nodes = (12, 18, 24, 30, 36)
    errors = [
        relative(BoundaryIntegralSolver(SQUARE, nodes=n).difference(PHANTOM, CURRENTS), exact) for n in nodes
    ]
    rates = -np.diff(np.log(errors)) / np.diff(nodes)
    assert rates.min() > 0.2


@pytest.mark.parametrize("contrast", [0.1, 10.0, 1e4])
def test_automatic_nodes_reach_the_tolerance(contrast: float) -> None:
    """On phantoms like the paper's: ellipses as near as 0.03 to each other and 0.05 to the boundary."""
    batch = EllipseSampler(seed=2, disjoint=True, inside=contrast).batch(0, 6)
    exact = BoundaryIntegralSolver(SQUARE, nodes=240).difference(batch, CURRENTS)
    for tolerance in (1e-3, 1e-6, 1e-9):
        found = BoundaryIntegralSolver(SQUARE, tolerance=tolerance).difference(batch, CURRENTS)
        assert max(relative(f, e) for f, e in zip(found, exact, strict=True)) < tolerance


@pytest.mark.parametrize("shift", [0.0, 0.0196])
def test_automatic_nodes_see_a_narrow_gap_between_their_probes(shift: float) -> None:
    """Long flat sides 0.012 apart, with the probing nodes face to face and half a step off."""
    phantom = Phantom([Ellipse((0, -0.2), (0.4, 0.2)), Ellipse((shift, 0.212), (0.4, 0.2))])
    exact = BoundaryIntegralSolver(SQUARE, nodes=1000).difference(phantom, CURRENTS)
    assert relative(SOLVER.difference(phantom, CURRENTS), exact) < SOLVER.tolerance


def test_nodes_are_spent_where_outlines_are_close() -> None:
    near, far = (Phantom([circle((-d, 0), 0.2), circle((d, 0), 0.2)]) for d in (0.22, 0.4))
    count = needed_nodes(SQUARE, stack([far, near]), 1e-9)
    assert 32 <= int(count[0]) < int(count[1]) <= 256


@pytest.mark.parametrize("family", [currents.cosine, currents.sine, currents.arclength])
def test_the_declared_order_in_the_mesh_size(family: Callable[[Square, int], Tensor]) -> None:
    fine = Square(256)
    exact = BoundaryIntegralSolver(fine, tolerance=1e-12).difference(PHANTOM, family(fine, 3))
    errors, sizes = [], (16, 32, 64)
    for n in sizes:
        square = Square(n)
        found = BoundaryIntegralSolver(square, tolerance=1e-12).difference(PHANTOM, family(square, 3))
        errors.append(relative(found, project(exact[:, :: 256 // n])))
    slope = -np.polyfit(np.log(sizes), np.log(errors), 1)[0]
    assert slope == pytest.approx(BoundaryIntegralSolver.order, abs=0.1)
    assert errors[-1] < 5e-8


# --- closed forms
# -------------------------------------------------------------------------------------------------


def disk_eigenvalue(order: int, radius: float, sigma: float) -> float:
    """Λ_σ - Λ_1 on cos(lθ) for a concentric disk of conductivity σ in the unit disk."""
    mu = (1 - sigma) / (1 + sigma)
    return ((1 + mu * radius ** (2 * order)) / (1 - mu * radius ** (2 * order)) - 1) / order


@pytest.mark.parametrize("sigma", [1e-3, 0.1, 2.0, 10.0, 1e4])
@pytest.mark.parametrize("radius", [0.2, 0.6])
def test_concentric_disk_in_the_unit_disk(radius: float, sigma: float) -> None:
    disk = Disk(2, 128)
    theta = disk.angle()
    g = torch.stack([torch.cos(theta), torch.sin(2 * theta), torch.cos(3 * theta)])
    found = BoundaryIntegralSolver(disk, tolerance=1e-13).difference(
        Phantom([circle((0, 0), radius)], sigma), g
    )
    for order, (f, mode) in enumerate(zip(found, g, strict=True), start=1):
        expected = disk_eigenvalue(order, radius, sigma) * mode
        torch.testing.assert_close(f, expected, rtol=0, atol=1e-12 * float(expected.abs().amax()) + 1e-15)


@pytest.mark.parametrize("sigma", [1e-12, 0.1, 10.0, 1e12])
def test_eccentric_disk_by_moebius_invariance(sigma: float) -> None:
    """M(z) = (z - a)/(1 - āz) keeps the disk; the circle it sends to |w| = ρ is the eccentric inclusion."""
    a, rho = 0.35 * cmath.exp(0.8j), 0.4
    center = a * (1 - rho**2) / (1 - abs(a * rho) ** 2)
    radius = rho * (1 - abs(a) ** 2) / (1 - abs(a * rho) ** 2)
    disk = Disk(2, 200)
    z = torch.polar(torch.ones(200, dtype=torch.float64), disk.angle())
    image, stretch = (z - a) / (1 - a.conjugate() * z), (1 - abs(a) ** 2) / (1 - a.conjugate() * z).abs() ** 2
    modes = torch.stack([(image**order).real for order in (1, 2, 3)])
    eigenvalues = torch.tensor(
        [[disk_eigenvalue(order, rho, sigma)] for order in (1, 2, 3)], dtype=torch.float64
    )
    phantom = Phantom([circle((center.real, center.imag), radius)], sigma)
    found = BoundaryIntegralSolver(disk, tolerance=1e-13).difference(phantom, modes * stretch)
    torch.testing.assert_close(found, project(eigenvalues * modes), rtol=0, atol=1e-12)


def ellipse_in_a_uniform_field(
    e: Ellipse, sigma: float, square: Square, component: complex
) -> tuple[Tensor, Tensor]:
    """A solution around an ellipse in closed form: its trace and its flux (at a corner the mean of both).

    Inside the potential is linear. Outside it is Re(α w + β / w) with the Joukowski variable z = (c/2)(w +
    1/w) in the ellipse's own axes, c² = a² - b²; a field along the other axis has the factor i.
    """
    a, b = e.semi_axes
    c, turn = math.sqrt(a**2 - b**2), cmath.exp(1j * e.angle)
    x, y = square.boundary().unbind(-1)
    z = (torch.complex(x, y) - complex(*e.center)) / turn
    w = (z + torch.sqrt(z - c) * torch.sqrt(z + c)) / c
    ratio = sigma * b / a if component == 1 else sigma * a / b
    near = (a if component == 1 else b) * c / (a + b) / 2
    alpha, beta = near * (1 + ratio), near * (1 - ratio) * ((a + b) / c) ** 2
    if component != 1:
        alpha, beta = alpha * component, -beta * component
    slope = (alpha - beta / w**2) / (c / 2 * (1 - 1 / w**2)) / turn
    u, dx, dy = (alpha * w + beta / w).real, slope.real, -slope.imag
    on_x, on_y = (x.abs() == 1).double(), (y.abs() == 1).double()
    return project(u), project((on_x * x * dx + on_y * y * dy) / (on_x + on_y))


@pytest.mark.parametrize("sigma", [0.1, 10.0])
@pytest.mark.parametrize("component", [1, -1j])
def test_an_ellipse_in_a_uniform_field(component: complex, sigma: float) -> None:
    """A closed form on the square, seen by smooth currents g: (f, g) = (flux, Λ_σ g), to second order."""
    ellipse = Ellipse((0.2, -0.15), (0.45, 0.2), 0.7)
    errors, sizes = [], (16, 32, 64)
    for n in sizes:
        square = Square(n)
        solver, g = BoundaryIntegralSolver(square), currents.trigonometric(square, 4)
        f, flux = ellipse_in_a_uniform_field(ellipse, sigma, square, component)
        mapped = solver.background(g) + solver.difference(Phantom([ellipse], sigma), g)
        errors.append(relative(mapped @ flux, g @ f))
    assert -np.polyfit(np.log(sizes), np.log(errors), 1)[0] > 1.9
    assert errors[-1] < 2e-5


def test_a_small_disk_acts_like_a_dipole() -> None:
    """(g, (Λ_σ - Λ_1) g) → -2πρ² (σ-1)/(σ+1) |∇u0|² at its centre as ρ → 0."""
    square = Square(64)
    g = currents.cosine(square, 1)
    _, dx, dy = square.extend_with_gradient(g)
    rho, sigma = 0.01, 10.0
    f = BoundaryIntegralSolver(square).difference(Phantom([circle((0.25, -0.5), rho)], sigma), g)
    energy = float(square.boundary_weight * (f * g).sum())
    gradient = float(dx[0, 40, 16] ** 2 + dy[0, 40, 16] ** 2)
    assert energy == pytest.approx(-2 * math.pi * rho**2 * (sigma - 1) / (sigma + 1) * gradient, rel=2e-3)


# --- identities
# ---------------------------------------------------------------------------------------------------


def form(phantom: Phantom) -> Tensor:
    """The matrix of (g_i, (Λ_σ - Λ_σ0) g_j) for twelve currents."""
    g = currents.arclength(SQUARE, 12)
    return SQUARE.boundary_weight * SOLVER.difference(phantom, g) @ g.T


def test_reciprocity() -> None:
    found = form(PHANTOM)
    torch.testing.assert_close(found, found.T, rtol=0, atol=1e-14)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.floats(0.01, 100.0).filter(lambda s: abs(s - 1) > 0.05))
def test_the_difference_has_one_sign(k: int, sigma: float) -> None:
    """Less resistance inside lowers every potential difference, more resistance raises it."""
    eigenvalues = torch.linalg.eigvalsh(form(Phantom(APART.phantom(k).shapes, sigma)))
    assert bool((eigenvalues * (1 - sigma) > 0).all())


def test_monotone_in_the_conductivity() -> None:
    forms = [form(Phantom(PHANTOM.shapes, sigma)) for sigma in (0.01, 0.1, 0.5, 2.0, 10.0, 100.0, 1e6)]
    for low, high in pairwise(forms):
        assert float(torch.linalg.eigvalsh(high - low).amax()) < 0


def test_monotone_in_the_inclusion() -> None:
    small, large = Phantom(PHANTOM.shapes[:2]), Phantom(PHANTOM.shapes[:3])
    grown = Phantom(
        [Ellipse(e.center, (1.1 * e.semi_axes[0], 1.1 * e.semi_axes[1]), e.angle) for e in large.shapes]
    )
    forms = [form(phantom) for phantom in (small, large, grown)]
    for low, high in pairwise(forms):
        assert float(torch.linalg.eigvalsh(high - low).amax()) < 1e-13


def test_the_data_have_zero_mean() -> None:
    assert float(SOLVER.difference(PHANTOM, CURRENTS).mean(-1).abs().amax()) < 1e-15


def test_scaling_all_conductivities_divides_the_data() -> None:
    scaled = Phantom(PHANTOM.shapes, inside=30.0, outside=3.0)
    torch.testing.assert_close(3 * SOLVER.difference(scaled, CURRENTS), SOLVER.difference(PHANTOM, CURRENTS))
    torch.testing.assert_close(3 * SOLVER.background(CURRENTS, 3.0), SOLVER.background(CURRENTS))


def test_nothing_to_see_gives_exactly_nothing() -> None:
    zero = torch.zeros_like(CURRENTS)
    torch.testing.assert_close(SOLVER.difference(Phantom([]), CURRENTS), zero, rtol=0, atol=0)
    unseen = SOLVER.difference(Phantom(PHANTOM.shapes, inside=2.0, outside=2.0), CURRENTS)
    torch.testing.assert_close(unseen, zero, rtol=0, atol=0)


def test_a_shape_of_the_bodys_own_conductivity_is_not_there() -> None:
    hidden = Phantom(PHANTOM.shapes, inside=[10.0, 1.0, 10.0, 10.0])
    left_out = Phantom([PHANTOM.shapes[k] for k in (0, 2, 3)])
    torch.testing.assert_close(SOLVER.difference(hidden, CURRENTS), SOLVER.difference(left_out, CURRENTS))


def test_rotating_the_body_rotates_the_data() -> None:
    turned = Phantom(
        [Ellipse((-e.center[1], e.center[0]), e.semi_axes, e.angle + math.pi / 2) for e in PHANTOM.shapes]
    )
    expected = SOLVER.difference(PHANTOM, CURRENTS)
    found = SOLVER.difference(turned, CURRENTS.roll(SQUARE.n, -1)).roll(-SQUARE.n, -1)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize(("low", "high"), [(1e10, 1e14), (1e-10, 1e-14)])
def test_perfect_conductors_and_insulators_are_limits(low: float, high: float) -> None:
    first, second = (SOLVER.difference(Phantom(PHANTOM.shapes, s), CURRENTS) for s in (low, high))
    assert relative(first, second) < 1e-9


# --- batches, chunks, gradients
# -----------------------------------------------------------------------------------


def mixed_batch() -> list[Phantom]:
    """Different numbers of shapes, conductivities and nodes."""
    near = Phantom([circle((-0.25, 0), 0.2), circle((0.25, 0), 0.2)], inside=[3.0, 0.1], outside=2.0)
    return [PHANTOM, Phantom([]), near, Phantom([Ellipse((0.5, 0.3), (0.1, 0.2), 1.0)], 100.0)]


def test_a_batch_is_a_loop() -> None:
    together = SOLVER.difference(mixed_batch(), CURRENTS)
    for found, phantom in zip(together, mixed_batch(), strict=True):
        torch.testing.assert_close(found, SOLVER.difference(phantom, CURRENTS), rtol=0, atol=1e-13)


def test_every_phantom_may_have_currents_of_its_own() -> None:
    own = torch.stack([CURRENTS * k for k in (1, 2, 3, 4)])
    expected = (
        SOLVER.difference(mixed_batch(), CURRENTS) * torch.tensor([1.0, 2, 3, 4]).double()[:, None, None]
    )
    torch.testing.assert_close(SOLVER.difference(mixed_batch(), own), expected)


def test_chunks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = SOLVER.difference(mixed_batch(), CURRENTS)
    for module in ("solver", "outlines"):
        monkeypatch.setattr(f"eitlens.forward.integral.{module}.chunk_size", lambda *_: 1)
    torch.testing.assert_close(SOLVER.difference(mixed_batch(), CURRENTS), whole, rtol=0, atol=1e-13)


def test_float32_currents_give_float64_data() -> None:
    """Their mean is zero only to seven digits, which is no reason to refuse them."""
    g = currents.custom(SQUARE, lambda x, y: torch.exp(x - 0.3 * y))
    assert abs(float(g.float().double().mean())) > 1e-10
    found = SOLVER.difference(PHANTOM, g.float())
    assert found.dtype == torch.float64
    assert relative(found, SOLVER.difference(PHANTOM, g)) < 1e-6


def test_differentiable_in_shapes_conductivities_and_currents() -> None:
    square = Square(6)
    solver = BoundaryIntegralSolver(square, nodes=24)
    batch = stack(
        [Phantom([Ellipse((-0.4, 0.1), (0.15, 0.3), 0.4), circle((0.4, -0.2), 0.2)], inside=[5.0, 0.3])]
    )
    (group,) = batch.groups

    def data(parameters: Tensor, inside: Tensor, outside: Tensor, g: Tensor) -> Tensor:
        kind = type(group)(group.kind, parameters, group.present, group.rank, inside)
        return solver.difference(PhantomBatch((kind,), outside), g - g.mean(-1, keepdim=True))

    inputs = (group.parameters, group.inside, batch.outside, currents.cosine(square, 2))
    assert torch.autograd.gradcheck(data, tuple(v.clone().requires_grad_() for v in inputs), rtol=1e-4)


def test_the_slope_in_the_conductivity_is_right_where_there_is_no_contrast() -> None:
    square = Square(6)
    solver, g = BoundaryIntegralSolver(square, nodes=24), currents.cosine(square, 1)
    batch = stack([Phantom([circle((-0.4, 0.1), 0.2), circle((0.4, -0.2), 0.2)], inside=[5.0, 1.0])])
    (group,) = batch.groups

    def data(inside: Tensor) -> Tensor:
        return solver.difference(PhantomBatch((replace(group, inside=inside),), batch.outside), g)

    assert torch.autograd.gradcheck(data, group.inside.clone().requires_grad_(), rtol=1e-4)


def test_the_number_of_threads_may_be_set_by_hand():
    """Some builds of MKL fail in a batched LU after this call."""
    code = """if True:
        import torch
        from eitlens.domain import Disk, Square
        from eitlens.forward import BoundaryIntegralSolver, currents
        from eitlens.phantom import EllipseSampler
        torch.set_num_threads(2)
        square = Square(32)
        batch = EllipseSampler(seed=1, disjoint=True).batch(0, 3)
        data = BoundaryIntegralSolver(square, nodes=60).difference(batch, currents.cosine(square, 1))
        assert bool(torch.isfinite(data).all())
    """
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
