"""Stars and rounded polygons: their curves and derivatives, and what rounding does."""

import math

import pytest
import torch
from torch import Tensor

from eitlens.errors import InputError
from eitlens.phantom import Ellipse, Phantom, Polygon, RoundedPolygon, Star, circle, cross, rectangle, stack

SQUARE = rectangle((0.1, -0.2), (0.4, 0.4), 0.3, radius=0.01)
SHAPES = [
    SQUARE,
    cross((0.1, 0.2), 0.6, 0.2, 0.2, radius=0.02),
    RoundedPolygon([(0, 0), (0.5, 0), (0.1, 0.4)], radius=0.02),
    Star((0.1, 0.2), 0.3, cosines=(0, 0.05), sines=(0.02, 0, 0.01)),
    Ellipse((0.1, 0.2), (0.3, 0.2), 0.4),
]

every_shape = pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: type(shape).__name__)


def as_complex(values: Tensor) -> Tensor:
    return torch.view_as_complex(values.contiguous())


@every_shape
def test_the_derivatives_are_those_of_the_points(shape):
    curve = shape.curve(shape.parameters(), 1024)
    spectrum = torch.fft.fft(as_complex(curve.point))
    order = torch.fft.fftfreq(1024, 1 / 1024, dtype=torch.float64)
    for power, found in ((1, curve.first), (2, curve.second)):
        expected = torch.fft.ifft((1j * order) ** power * spectrum)
        assert float((as_complex(found) - expected).abs().max() / expected.abs().max()) < 1e-8


@every_shape
def test_the_curve_is_differentiable_in_the_parameters(shape):
    row = shape.parameters().requires_grad_()
    assert torch.autograd.gradcheck(lambda row: torch.cat(shape.curve(row, 16)), row)


@every_shape
def test_the_reach_tells_how_many_nodes_a_curve_needs(shape):
    """The trapezoid rule for the turning, whose integral is 2π: an error of about exp(-reach n)."""

    def error(count: int) -> float:
        curve = shape.curve(shape.parameters(), count)
        turning = (as_complex(curve.second) / as_complex(curve.first)).imag.mean()
        return abs(float(turning) - 1)

    reach = float(shape.reach(shape.parameters()))
    assert error(math.ceil(2 * math.log(1e6) / reach)) < 1e-6


def test_a_rounded_right_angle_has_the_radius():
    curve = SQUARE.curve(SQUARE.parameters(), 4096)
    first, second = as_complex(curve.first), as_complex(curve.second)
    bend = (first.conj() * second).imag / first.abs() ** 3
    assert float(bend.max()) == pytest.approx(1 / SQUARE.radius, rel=1e-3)
    assert float(bend.min()) > -1e-9


def test_a_rounded_corner_takes_its_share_of_the_area():
    """½ w² sin α a corner, w = 2 r / √π."""
    expected = 0.16 - 4 * 0.5 * (2 * SQUARE.radius / math.sqrt(math.pi)) ** 2
    assert float(SQUARE.area(SQUARE.parameters())) == pytest.approx(expected, rel=1e-9)


def test_a_rounded_polygon_is_the_polygon_away_from_its_corners():
    sharp = Polygon(SQUARE.vertices)
    point = SQUARE.curve(SQUARE.parameters(), 256).point
    far = (torch.cdist(point, torch.tensor(SQUARE.vertices, dtype=torch.float64)) > 0.08).all(-1)
    assert int(far.sum()) > 10
    assert float(sharp.level_set(sharp.parameters(), point[far]).abs().max()) < 1e-12


def test_padding_changes_nothing():
    triangle, star = SHAPES[2], Star((0.1, 0.2), 0.3)
    batch = stack([Phantom([triangle, star]), Phantom([SHAPES[1], SHAPES[3], circle((-0.5, 0), 0.1)])])
    for group in batch.groups:
        if group.kind is not Ellipse:
            alone = triangle if group.kind is RoundedPolygon else star
            curve = group.kind.curve(group.parameters[0, 0], 32)
            for found, expected in zip(curve, alone.curve(alone.parameters(), 32), strict=True):
                torch.testing.assert_close(found, expected, rtol=0, atol=1e-13)
            assert group.kind.unpack(group.parameters[0, 0]) == alone


def test_a_star_without_waves_is_a_circle():
    star, disk = Star((0.1, 0.2), 0.3), circle((0.1, 0.2), 0.3)
    for found, expected in zip(
        star.curve(star.parameters(), 32), disk.curve(disk.parameters(), 32), strict=True
    ):
        torch.testing.assert_close(found, expected)


def test_what_cannot_be():
    with pytest.raises(InputError, match=r"R\(θ\) .*positive"):
        Star((0, 0), 0.2, cosines=(0.3,))
    with pytest.raises(InputError, match="RoundedPolygon: radius must be positive"):
        rectangle((0, 0), (0.2, 0.2), radius=0.0)
    with pytest.raises(InputError, match=r"^Phantom: conductivity"):
        Phantom([SQUARE], -1.0)
    with pytest.raises(InputError, match="Phantom: conductivity"):
        Phantom([SQUARE], math.nan)
