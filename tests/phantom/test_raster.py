"""Phantoms on the grid."""

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from eitlens.domain import Square
from eitlens.errors import InputError
from eitlens.phantom import (
    Ellipse,
    EllipseSampler,
    Phantom,
    Polygon,
    PolygonSampler,
    Shape,
    area_fraction,
    as_batch,
    check_inside,
    circle,
    conductivity,
    indicator,
    level_set,
)

SQUARE = Square(40)
# Asymmetric under every symmetry of the square.
PHANTOM = Phantom([Ellipse((0.4, -0.1), (0.35, 0.15), 0.5), circle((-0.3, 0.6), 0.2)], inside=[10.0, 0.2])


def test_pictures_have_x_first_and_agree_with_each_other() -> None:
    x, y = SQUARE.nodes().unbind(-1)
    inside = indicator(SQUARE, PHANTOM)
    c, s = math.cos(0.5), math.sin(0.5)
    u, v = c * (x - 0.4) + s * (y + 0.1), c * (y + 0.1) - s * (x - 0.4)
    ellipse, disk = (u / 0.35) ** 2 + (v / 0.15) ** 2 < 1, torch.hypot(x + 0.3, y - 0.6) < 0.2
    assert torch.equal(inside, ellipse | disk)
    assert torch.equal(inside, level_set(SQUARE, PHANTOM) < 0)
    expected = torch.ones_like(x).masked_fill(disk, 0.2).masked_fill(ellipse, 10.0)
    torch.testing.assert_close(conductivity(SQUARE, PHANTOM), expected, rtol=0, atol=0)


@pytest.mark.parametrize("function", [level_set, conductivity, indicator, area_fraction])
def test_a_batch_is_a_loop(function: Callable[..., Tensor]) -> None:
    batch = EllipseSampler(seed=2).batch(0, 3)
    whole = function(SQUARE, batch)
    assert whole.shape[0] == 3
    for one, phantom in zip(whole, batch, strict=True):
        torch.testing.assert_close(one, function(SQUARE, phantom), rtol=0, atol=0)
    torch.testing.assert_close(function(SQUARE, list(batch)), whole, rtol=0, atol=0)


def test_the_empty_phantom_covers_nothing() -> None:
    assert not bool(indicator(SQUARE, Phantom([])).any())
    assert not bool(area_fraction(SQUARE, Phantom([])).any())


def test_area_fractions_are_zero_outside_one_inside_and_exact_on_average() -> None:
    fraction, inside = area_fraction(SQUARE, PHANTOM), indicator(SQUARE, PHANTOM)
    corners = torch.stack([inside[:-1, :-1], inside[1:, :-1], inside[:-1, 1:], inside[1:, 1:]])
    assert bool((fraction[corners.all(0)] > 0.9).all())
    assert bool((fraction[~corners.any(0)] < 0.1).all())
    exact = math.pi * (0.35 * 0.15 + 0.2**2)
    assert float(fraction.sum()) * SQUARE.h**2 == pytest.approx(exact, rel=1e-3)


def test_area_fractions_converge_with_the_subsamples() -> None:
    disk, exact = Phantom([circle((0.013, 0.027), 0.5)]), math.pi * 0.5**2
    areas = [float(area_fraction(SQUARE, disk, k).sum()) * SQUARE.h**2 for k in (2, 8, 32)]
    errors = [abs(area / exact - 1) for area in areas]
    assert errors[2] < 1e-5
    assert errors[2] < errors[1] < errors[0]


def test_the_total_area_depends_on_the_size_of_the_parts_alone() -> None:
    phantom = EllipseSampler(seed=4).phantom(0)
    areas = [float(area_fraction(Square(n), phantom, 480 // n).sum()) * (2 / n) ** 2 for n in (40, 80, 160)]
    assert areas == pytest.approx([areas[0]] * 3, rel=1e-12)


@pytest.mark.parametrize(
    "sampler", [EllipseSampler(seed=0), PolygonSampler(seed=0)], ids=["ellipses", "polygons"]
)
def test_sampled_phantoms_are_inside(sampler: EllipseSampler | PolygonSampler) -> None:
    check_inside(SQUARE, sampler.batch(0, 50))


@pytest.mark.parametrize(
    "shape",
    [
        circle((0.9, 0.0), 0.2),
        Ellipse((0.0, -0.8), (0.1, 0.3), 0.1),
        Polygon([(0, 0), (0.5, 0), (0, 1.2)]),
        # By less than 64 points along the outline can tell: x = 1.0003 is halfway between two of them.
        Ellipse((0.7003, 0.0), (0.3, 0.3), math.pi / 64),
    ],
)
def test_a_shape_beyond_the_boundary_is_refused_by_name(shape: Shape) -> None:
    batch = as_batch([PHANTOM, Phantom([circle((0, 0), 0.1), shape])])
    with pytest.raises(
        InputError, match=rf"^phantom 1: {type(shape).__name__}\(.*beyond the boundary: move or shrink it$"
    ):
        check_inside(SQUARE, batch)


@pytest.mark.parametrize("center", [(0.75, 0.0), (0.7, 0.0)])
def test_a_shape_that_touches_the_boundary_is_said_to(center: tuple[float, float]) -> None:
    """Exactly, or by as much as rounding adds: 0.7 + 0.3 > 1 - ε."""
    with pytest.raises(InputError, match=r"^phantom 0: Ellipse\(.*boundary"):
        check_inside(SQUARE, as_batch(Phantom([circle(center, 1.0 - center[0])])))
