"""The harmonic extension: Δφ = 0, ∂φ/∂n = w, ∮φ = 0, in closed form on the square.

A corner is one node of the loop, so the flux is one number there: it is exact for cosines that agree at the
corners, and of second order in h for a flux that jumps, given the mean of the two values.
"""

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
import torch
from skfem import Basis, BilinearForm, ElementQuad2, FacetBasis, LinearForm, MeshQuad, solve
from skfem.helpers import dot, grad
from torch import Tensor

from eitlens.domain import Square

SQUARE = Square(24)
SIDES = ("bottom", "right", "top", "left")
Field = tuple[Tensor, Tensor, Tensor]


def mode(side: str, m: int, x: Tensor, y: Tensor) -> Field:
    """φ, ∂φ/∂x, ∂φ/∂y with flux cos(mπ(t+1)/2) through one side, t its coordinate, and none elsewhere."""
    t, outward = {"bottom": (x, -y), "right": (y, x), "top": (x, y), "left": (y, -x)}[side]
    a = torch.tensor(m * torch.pi / 2, dtype=torch.float64)
    cos, sin = torch.cos(a * (t + 1)), torch.sin(a * (t + 1))
    cosh, sinh = (
        torch.cosh(a * (outward + 1)) / torch.sinh(2 * a),
        torch.sinh(a * (outward + 1)) / torch.sinh(2 * a),
    )
    along, across = -sin * cosh, cos * sinh * (-1 if side in ("bottom", "left") else 1)
    return cos * cosh / a, *((along, across) if side in ("bottom", "top") else (across, along))


def polynomial(name: str, x: Tensor, y: Tensor) -> Field:
    zero, one = torch.zeros_like(x), torch.ones_like(x)
    return {"x": (x, one, zero), "y": (y, zero, one), "x²-y²": ((x**2 - y**2) / 2, x, -y)}[name]


FLUX = {"x": (0, 1, 0, -1), "y": (-1, 0, 1, 0), "x²-y²": (-1, 1, -1, 1)}


def combine(terms: list[tuple[float, Field]]) -> Field:
    value, dx, dy = (sum(c * field[k] for c, field in terms) for k in range(3))
    return value, dx, dy


def from_one_side(side: str, m: int, square: Square) -> Field:
    """Flux cos(mπ(t+1)/2) - cos((m+2)π(t+1)/2) through one side: zero at both its corners."""
    x, y = square.nodes().unbind(-1)
    return combine([(1, mode(side, m, x, y)), (-1, mode(side, m + 2, x, y))])


def from_side_means(name: str, square: Square) -> Field:
    """A polynomial whose constant flux through a side is brought to zero at the corners by cosines, m = 2."""
    x, y = square.nodes().unbind(-1)
    correction = [(-c, mode(side, 2, x, y)) for c, side in zip(FLUX[name], SIDES, strict=True) if c]
    return combine([(1, polynomial(name, x, y)), *correction])


EXACT = {
    **{f"{side}, m = {m}": from_one_side(side, m, SQUARE) for side, m in product(SIDES, (1, 2, 5))},
    **{f"{name} without its corners": from_side_means(name, SQUARE) for name in FLUX},
}


def flux(square: Square, dx: Tensor, dy: Tensor) -> Tensor:
    """∂φ/∂n at the loop's nodes from the gradient; at a corner the mean of the two one-sided values."""
    x, y = square.boundary().unbind(-1)
    on_x, on_y = (x.abs() == 1).double(), (y.abs() == 1).double()
    return (on_x * x * square.trace(dx) + on_y * y * square.trace(dy)) / (on_x + on_y)


def random_data(*batch: int, n: int = SQUARE.n) -> Tensor:
    w = torch.randn(*batch, 4 * n, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    return w - w.mean(-1, keepdim=True)


@pytest.mark.parametrize("name", EXACT)
def test_cosines_that_agree_at_the_corners_are_extended_exactly(name: str) -> None:
    value, dx, dy = EXACT[name]
    extension = SQUARE.extend_with_gradient(flux(SQUARE, dx, dy))
    close = {"rtol": 0, "atol": 1e-13}
    torch.testing.assert_close(extension.value, value - SQUARE.trace(value).mean(), **close)
    torch.testing.assert_close(extension.dx, dx, **close)
    torch.testing.assert_close(extension.dy, dy, **close)


@pytest.mark.parametrize("name", FLUX)
def test_a_flux_that_jumps_at_the_corners_is_extended_to_second_order(name: str) -> None:
    errors = []
    for n in (16, 32, 64):
        square = Square(n)
        value, dx, dy = polynomial(name, *square.nodes().unbind(-1))
        error = square.extend(flux(square, dx, dy)) - (value - square.trace(value).mean())
        errors.append(float(error[n // 4 : -n // 4, n // 4 : -n // 4].abs().amax()))
    slope = np.polyfit(np.log([16, 32, 64]), np.log(errors), 1)[0]
    assert -slope > 1.9
    assert errors[-1] < 1e-3


def test_the_normal_derivative_is_the_data_at_every_node() -> None:
    w = random_data(3)
    _, dx, dy = SQUARE.extend_with_gradient(w)
    torch.testing.assert_close(flux(SQUARE, dx, dy), w, rtol=0, atol=1e-12)
    loop = torch.cat([w, w[:, :1]], -1)  # and both one-sided values at a corner are that of its node
    torch.testing.assert_close(-dy[:, :, 0], loop[:, :25], rtol=0, atol=1e-12)
    torch.testing.assert_close(dx[:, -1, :], loop[:, 24:49], rtol=0, atol=1e-12)


def test_the_boundary_mean_is_zero_and_that_of_the_data_does_not_matter() -> None:
    w = random_data(2)
    phi = SQUARE.extend(w)
    torch.testing.assert_close(
        SQUARE.trace(phi).mean(-1), torch.zeros(2, dtype=torch.float64), rtol=0, atol=1e-15
    )
    torch.testing.assert_close(SQUARE.extend(w + 7), phi, rtol=0, atol=1e-13)


def test_the_gradient_is_that_of_the_value() -> None:
    square = Square(200)
    value, dx, dy = square.extend_with_gradient(currents(square)[:3])
    central_x = (value[:, 2:, :] - value[:, :-2, :]) / (2 * square.h)
    central_y = (value[:, :, 2:] - value[:, :, :-2]) / (2 * square.h)
    inner = slice(20, -20)
    assert float((central_x - dx[:, 1:-1])[:, inner, inner].abs().amax()) < 1e-4
    assert float((central_y - dy[:, :, 1:-1])[:, inner, inner].abs().amax()) < 1e-4


def test_the_laplacian_vanishes_by_the_nine_point_stencil() -> None:
    """For a harmonic function the compact nine-point Laplacian errs by h⁶ only."""
    square = Square(64)
    phi = square.extend(currents(square))
    plus = phi[:, 2:, 1:-1] + phi[:, :-2, 1:-1] + phi[:, 1:-1, 2:] + phi[:, 1:-1, :-2]
    cross = phi[:, 2:, 2:] + phi[:, 2:, :-2] + phi[:, :-2, 2:] + phi[:, :-2, :-2]
    laplacian = (4 * plus + cross - 20 * phi[:, 1:-1, 1:-1]) / (6 * square.h**2)
    inner = slice(8, -8)
    assert float(laplacian[:, inner, inner].abs().amax()) < 1e-8


def test_the_extrema_are_on_the_boundary() -> None:
    phi = SQUARE.extend(random_data(20))
    inside, around = phi[:, 1:-1, 1:-1].flatten(1), SQUARE.trace(phi)
    assert bool((inside.amax(1) < around.amax(1)).all())
    assert bool((inside.amin(1) > around.amin(1)).all())


def test_extension_is_linear_and_a_batch_is_a_loop() -> None:
    w = random_data(2, 3)
    whole = SQUARE.extend_with_gradient(w)
    for part, single in zip(whole, SQUARE.extend_with_gradient(2 * w[0] - w[1]), strict=True):
        torch.testing.assert_close(2 * part[0] - part[1], single, rtol=0, atol=1e-12)
    alone = SQUARE.extend_with_gradient(w[1, 2])
    for part, single in zip(whole, alone, strict=True):
        torch.testing.assert_close(part[1, 2], single, rtol=0, atol=1e-14)
    torch.testing.assert_close(SQUARE.extend(w), whole.value, rtol=0, atol=0)


def test_the_background_map_is_symmetric_and_positive() -> None:
    """Λ_0 g is the trace of the extension; in L²(∂Ω) it is symmetric to second order in h at the corners."""
    basis = torch.eye(96, dtype=torch.float64) - 1 / 96
    matrix = SQUARE.trace(SQUARE.extend(basis))
    smooth = currents(SQUARE)
    form = smooth @ matrix.T @ smooth.T
    torch.testing.assert_close(form, form.T, rtol=0, atol=2e-3 * float(form.abs().amax()))
    assert float(torch.linalg.eigvalsh((form + form.T) / 2).amin()) > 0


def test_autograd_is_the_adjoint() -> None:
    square = Square(6)
    w = random_data(2, n=6).requires_grad_()
    assert torch.autograd.gradcheck(lambda v: tuple(square.extend_with_gradient(v)), w)
    weights = torch.randn(2, 7, 7, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    phi = square.extend(w)
    (adjoint,) = torch.autograd.grad((phi * weights).sum(), w)
    torch.testing.assert_close((phi * weights).sum(), (adjoint * w).sum())


@pytest.mark.parametrize("l", [1, 2, 3])
def test_agrees_with_finite_elements_to_second_order(l: int) -> None:  # noqa: E741
    """Biquadratic elements on a finer grid: an independent method."""
    probe, fem = biquadratic(lambda x, y: np.cos(l * np.arctan2(y, x)))
    errors = []
    for n in (8, 16, 32):
        square = Square(n)
        expected = torch.from_numpy(probe(square.nodes().flatten(0, 1).numpy().T) @ fem).reshape(square.shape)
        error = square.extend(torch.cos(l * square.angle())) - expected
        errors.append(float(error.abs().amax() / expected.abs().amax()))
    assert -np.polyfit(np.log([8, 16, 32]), np.log(errors), 1)[0] > 1.9
    assert errors[-1] < 5e-5


def biquadratic(g: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> tuple[Callable, np.ndarray]:
    """The zero-mean finite element solution with Neumann data g less its mean, and how to evaluate it."""
    line = np.linspace(-1, 1, 65)
    mesh = MeshQuad.init_tensor(line, line)
    basis, facets = Basis(mesh, ElementQuad2()), FacetBasis(mesh, ElementQuad2())
    stiffness = BilinearForm(lambda u, v, _: dot(grad(u), grad(v))).assemble(basis)
    load = LinearForm(lambda v, at: g(*at.x) * v).assemble(facets)
    mean = LinearForm(lambda v, _: v).assemble(facets)
    fem = np.zeros(basis.N)
    fem[1:] = solve(stiffness[1:, 1:], (load - load.sum() / mean.sum() * mean)[1:])
    return lambda at: basis.probes(np.clip(at, -1 + 1e-12, 1 - 1e-12)), fem - mean @ fem / mean.sum()


def currents(square: Square) -> Tensor:
    theta = square.angle()
    w = torch.stack([torch.cos(theta), torch.sin(theta), torch.cos(2 * theta + 1), torch.sin(3 * theta)])
    return w - w.mean(-1, keepdim=True)
