"""What every registered shape must do. Nothing here is for any one of them: a new one adds an example, no test."""

import pytest
import torch

from eitlens.domain import Square
from eitlens.phantom import Ellipse, Phantom, Polygon, RoundedPolygon, Star, area_fraction, cross, indicator
from eitlens.phantom.kinds import KINDS

SQUARE = Square(200)
EXAMPLES = {
    Ellipse: Ellipse((0.2, -0.1), (0.15, 0.4), 0.7),
    RoundedPolygon: cross((-0.1, 0.2), 0.9, 0.3, 0.4, radius=0.02),
    Star: Star((0.1, -0.2), 0.4, cosines=(0.0, 0.1, 0.05), sines=(0.05, 0.0)),
    Polygon: Polygon([(-0.6, -0.5), (0.1, -0.6), (0.3, 0.4), (-0.2, 0.1)]),
}

every_shape = pytest.mark.parametrize("shape", EXAMPLES.values(), ids=lambda shape: type(shape).__name__)


def test_every_kind_has_an_example():
    assert set(EXAMPLES) == set(KINDS.values())


@every_shape
def test_packing_and_unpacking(shape):
    row = shape.parameters()
    assert torch.equal(type(shape).unpack(row).parameters(), row)


@every_shape
def test_the_outline_is_the_zero_of_the_level_set_and_counter_clockwise(shape):
    row = shape.parameters()
    outline = shape.outline(row, 400)
    assert float(shape.level_set(row, outline).abs().max()) < 1e-9
    x, y = outline.unbind(-1)
    signed = float((x * y.roll(-1) - y * x.roll(-1)).sum()) / 2
    assert signed == pytest.approx(float(shape.area(row)), rel=2e-3)


@every_shape
def test_the_level_set_is_negative_inside(shape):
    row, points = shape.parameters(), SQUARE.nodes().reshape(-1, 2)
    inside = shape.level_set(row, points) < 0
    assert torch.equal(inside, indicator(SQUARE, Phantom([shape])).flatten())
    assert torch.equal(shape.within(row, points, 0.0)[inside], inside[inside])
    near, far = (int(shape.within(row, points, gap).sum()) for gap in (0.0, 0.1))
    assert far > near >= int(inside.sum())


@every_shape
def test_the_bounds_are_those_of_the_outline(shape):
    row = shape.parameters()
    outline, bounds = shape.outline(row, 4000), shape.bounds(row)
    found = torch.cat([outline.amin(0), outline.amax(0)])
    assert torch.allclose(found, bounds, atol=2e-3)


@every_shape
def test_the_area_is_that_of_the_raster(shape):
    fractions = area_fraction(SQUARE, Phantom([shape]))
    assert float(fractions.sum()) * SQUARE.h**2 == pytest.approx(
        float(shape.area(shape.parameters())), rel=2e-3
    )


@every_shape
def test_many_at_once_and_derivatives_in_the_parameters(shape):
    row = shape.parameters()
    rows = torch.stack([row, row]).requires_grad_()
    values = type(shape).level_set(rows, SQUARE.nodes()[::20, ::20].reshape(1, -1, 2))
    values.sum().backward()
    assert torch.equal(values[0], values[1])
    assert bool(rows.grad.isfinite().all())
    assert float(rows.grad.abs().sum()) > 0
