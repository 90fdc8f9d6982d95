"""The Riemann map of the square: conformal onto the disk, the inverse of the Schwarz–Christoffel integral."""

import cmath
import math

import pytest
import torch
from scipy.integrate import quad
from torch import Tensor

from eitlens.domain import Square

SQUARE = Square(40)
CORNER = cmath.exp(0.25j * math.pi)


def some_points(count: int = 200) -> Tensor:
    generator = torch.Generator().manual_seed(0)
    return 1.98 * torch.rand(count, 2, dtype=torch.float64, generator=generator) - 0.99


def inverse(zeta: complex) -> complex:
    """C ∫ (1 + t⁴)^(-1/2) dt from 0 to ζ along the ray, c such that e^{iπ/4} goes to the corner 1 + i."""
    scale = math.sqrt(2) / quad(lambda s: (1 - s**4) ** -0.5, 0, 1)[0]
    return scale * quad(lambda s: zeta / cmath.sqrt(1 + (s * zeta) ** 4), 0, 1, complex_func=True)[0]


def test_the_boundary_goes_to_the_unit_circle_once_around_counter_clockwise() -> None:
    zeta = SQUARE.conformal_map(SQUARE.boundary()).value
    torch.testing.assert_close(zeta.abs(), torch.ones(160, dtype=torch.float64), rtol=0, atol=4e-15)
    turn = (zeta.roll(-1) / zeta).angle()
    assert bool((turn > 0).all())
    assert float(turn.sum()) == pytest.approx(2 * math.pi)


def test_the_inside_goes_to_the_inside_and_the_centre_to_the_centre() -> None:
    assert float(SQUARE.conformal_map(some_points()).value.abs().amax()) < 1
    at_centre = SQUARE.conformal_map(torch.zeros(2, dtype=torch.float64))
    assert abs(complex(at_centre.value)) == 0
    assert complex(at_centre.first).imag == pytest.approx(0, abs=1e-15)
    assert complex(at_centre.first).real > 0


def test_corners_go_to_the_fourth_roots_of_minus_one_where_the_map_is_flat() -> None:
    image = SQUARE.conformal_map(SQUARE.boundary()[[0, 40, 80, 120]])
    expected = torch.tensor([CORNER * 1j**k for k in (2, 3, 0, 1)], dtype=torch.complex128)
    torch.testing.assert_close(image.value, expected, rtol=0, atol=4e-15)
    assert float(image.first.abs().amax()) < 1e-14  # an angle of π/2 is opened to π


def test_the_map_has_the_symmetries_of_the_square() -> None:
    points = some_points()
    zeta = SQUARE.conformal_map(points).value
    turned = torch.stack([-points[:, 1], points[:, 0]], -1)
    mirrored = points * torch.tensor([1.0, -1.0], dtype=torch.float64)
    torch.testing.assert_close(SQUARE.conformal_map(turned).value, 1j * zeta, rtol=0, atol=4e-15)
    torch.testing.assert_close(SQUARE.conformal_map(mirrored).value, zeta.conj(), rtol=0, atol=4e-15)


def test_derivatives_are_those_of_autograd_and_satisfy_cauchy_riemann() -> None:
    points = some_points().requires_grad_()
    image = SQUARE.conformal_map(points)
    for function, derivative in ((image.value, image.first), (image.first, image.second)):
        real = torch.autograd.grad(function.real.sum(), points, retain_graph=True)[0]
        imag = torch.autograd.grad(function.imag.sum(), points, retain_graph=True)[0]
        along_x, along_y = torch.complex(real[:, 0], imag[:, 0]), torch.complex(real[:, 1], imag[:, 1])
        torch.testing.assert_close(along_x, derivative.detach(), rtol=1e-12, atol=1e-12)
        torch.testing.assert_close(along_y, 1j * derivative.detach(), rtol=1e-12, atol=1e-12)


def test_the_schwarz_christoffel_integral_takes_the_image_back() -> None:
    points = some_points(12)
    for (x, y), zeta in zip(points.tolist(), SQUARE.conformal_map(points).value.tolist(), strict=True):
        assert inverse(zeta) == pytest.approx(complex(x, y), abs=1e-11)
