"""Polygons."""

import math

import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from matplotlib.path import Path

from eitlens.errors import InputError
from eitlens.phantom import Phantom, Polygon, stack

L_SHAPE = [(0, 0), (0.6, 0), (0.6, 0.2), (0.2, 0.2), (0.2, 0.6), (0, 0.6)]


@st.composite
def star_shaped(draw: st.DrawFn) -> list[tuple[float, float]]:
    radii = draw(st.lists(st.floats(0.05, 0.5), min_size=3, max_size=9))
    jitter = draw(st.floats(0, 0.4))
    angles = [2 * math.pi * (k + jitter * (-1) ** k / 2) / len(radii) for k in range(len(radii))]
    return [(r * math.cos(t), r * math.sin(t)) for r, t in zip(radii, angles, strict=True)]


@given(star_shaped(), st.floats(-0.6, 0.6), st.floats(-0.6, 0.6))
@settings(max_examples=150, deadline=None)
def test_the_sign_of_the_level_set_is_matplotlibs_containment(
    vertices: list[tuple[float, float]], x: float, y: float
) -> None:
    polygon = Polygon(vertices)
    level = float(Polygon.level_set(polygon.parameters(), torch.tensor([[x, y]], dtype=torch.float64)))
    assume(abs(level) > 1e-9)
    assert (level < 0) == Path(vertices).contains_point((x, y))


def test_the_level_set_is_the_signed_distance_of_a_polygon_that_is_not_convex() -> None:
    points = torch.tensor([[0.1, 0.1], [0.4, 0.4], [-0.3, -0.4], [0.9, 0.1], [0.2, 0.3]], dtype=torch.float64)
    expected = torch.tensor([-0.1, 0.2, 0.5, 0.3, 0.0], dtype=torch.float64)
    level = Polygon.level_set(Polygon(L_SHAPE).parameters(), points)
    torch.testing.assert_close(level, expected, rtol=0, atol=1e-15)
    assert float(Polygon.area(Polygon(L_SHAPE).parameters())) == pytest.approx(0.2)


def test_either_order_of_the_vertices_gives_the_counter_clockwise_polygon() -> None:
    backwards, forwards = Polygon(L_SHAPE[::-1]), Polygon(L_SHAPE)
    assert set(backwards.vertices) == set(forwards.vertices)
    for polygon in (backwards, forwards):
        assert float(Polygon.area(polygon.parameters())) == pytest.approx(0.2)


def test_padding_changes_nothing() -> None:
    triangle, hexagon = Polygon([(0, 0), (0.5, 0), (0, 0.5)]), Polygon(L_SHAPE)
    batch = stack([Phantom([triangle]), Phantom([hexagon])])
    row = batch.groups[0].parameters[0, 0]
    points = torch.rand(200, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    assert len(row) == 12
    for function in (Polygon.bounds, Polygon.area):
        torch.testing.assert_close(function(row), function(triangle.parameters()))
    torch.testing.assert_close(
        Polygon.level_set(row, points), Polygon.level_set(triangle.parameters(), points)
    )
    assert Polygon.unpack(row) == triangle


def test_a_padded_polygon_has_a_finite_gradient() -> None:
    batch = stack([Phantom([Polygon([(0, 0), (0.5, 0), (0, 0.5)])]), Phantom([Polygon(L_SHAPE)])])
    row = batch.groups[0].parameters[0, 0].clone().requires_grad_()
    points = torch.rand(50, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    Polygon.level_set(row, points).sum().backward()
    assert bool(torch.isfinite(row.grad).all())


def test_vertices_in_a_line_with_an_edge_are_no_crossing() -> None:
    assert float(Polygon.area(Polygon([(0, 0), (1, 0), (2, 0), (2, 1), (1, 1), (0, 1)]).parameters())) == 2


def test_a_closed_ring_is_the_same_polygon() -> None:
    assert Polygon([*L_SHAPE, L_SHAPE[0]]) == Polygon(L_SHAPE)


@pytest.mark.parametrize(
    ("vertices", "complaint"),
    [
        ([(0, 0), (1, 1), (1, 0), (0, 1.5)], "crosses itself"),
        ([(0, 0), (1, 1), (1, 0), (0, 1)], "crosses itself"),
        ([(0, 0), (1, 1), (2, 2)], "no area"),
        ([(0, 0), (3, 3), (1, 1), (2, 2)], "no area"),
        ([(0, 0), (0, 0), (0, 0)], "no area"),
        ([(0, 0), (1, 1)], "at least 3 vertices"),
        ([(0, 0), (math.nan, 1), (1, 0)], "NaN or infinite"),
        ([(0, 0, 0), (1, 1, 0), (1, 0, 0)], "at least 3 vertices"),
        ([(0, 0), (1,), (1, 0)], "at least 3 vertices"),
    ],
)
def test_what_is_no_simple_polygon_is_refused(vertices: list[tuple[float, ...]], complaint: str) -> None:
    with pytest.raises(InputError, match=rf"^Polygon.*{complaint}.*$"):
        Polygon(vertices)


def test_the_gradient_is_finite_on_the_boundary_too() -> None:
    row = Polygon(L_SHAPE).parameters().requires_grad_()
    Polygon.level_set(row, torch.tensor([[0.3, 0.0], [0.0, 0.0]], dtype=torch.float64)).sum().backward()
    assert bool(torch.isfinite(row.grad).all())
