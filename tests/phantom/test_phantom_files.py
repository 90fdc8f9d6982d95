import json
import math

import pytest
import torch

from eitlens.domain import Disk, Square
from eitlens.errors import InputError
from eitlens.forward import BoundaryIntegralSolver, ElementSolver, GridSolver, automatic, currents
from eitlens.measure.points import measured
from eitlens.phantom import Ellipse, Phantom, Polygon, circle
from eitlens.phantom import files as phantoms

BALL = {"kind": "circle", "center": [0.1, 0.2], "radius": 0.3}


def parse(**values: object):
    return phantoms.parse(json.dumps(values).encode(), "phantom.json")


def test_every_kind_with_its_conductivity():
    triangle = {"kind": "polygon", "vertices": [[-0.6, -0.6], [-0.2, -0.6], [-0.4, -0.2]], "conductivity": 5}
    oval = {"kind": "ellipse", "center": [0.2, 0.6], "semi_axes": [0.1, 0.3], "angle": 1.2}
    found = parse(outside=2, shapes=[BALL, triangle, oval])
    assert found.inside == (10.0, 5.0, 10.0)
    assert found.outside == 2.0
    assert found.shapes[0].semi_axes == (0.3, 0.3)


def test_the_solver_is_chosen_by_the_shapes(square):
    g = currents.cosine(square, 2)
    beside = {"kind": "circle", "center": [0.3, 0.3], "radius": 0.3}
    assert automatic.simulate(parse(shapes=[BALL]), square, g)[1] == "boundary-integral"
    exact, by_grid = automatic.simulate(parse(shapes=[BALL, beside]), square, g)
    assert by_grid == "grid"
    assert float(exact.abs().max()) > 0.01


def test_bodies_without_a_grid_solver_take_finite_elements():
    """Circles that touch have no integral equation; a thin cross takes smaller elements, and finer ones agree."""
    disk = Disk(32)
    g = currents.cosine(disk, 2)
    cross = parse(
        shapes=[
            {"kind": "ellipse", "center": [0.1, 0.1], "semi_axes": [0.4, 0.05]},
            {"kind": "ellipse", "center": [0.1, 0.1], "semi_axes": [0.05, 0.4], "conductivity": 0.1},
        ]
    )
    size = automatic.for_elements(cross, disk)
    assert size < disk.perimeter / 90
    found, name = automatic.simulate(cross, disk, g)
    finer = ElementSolver(disk, size / 2).difference(cross, g)
    assert name == "elements"
    # Corners where conductivities of 100 : 1 meet cost an order.
    assert float((found - finer).norm() / finer.norm()) < 0.03
    hair = parse(shapes=[BALL, {"kind": "ellipse", "center": [0.1, 0.2], "semi_axes": [0.4, 0.001]}])
    with pytest.raises(InputError, match="make it at least"):
        automatic.simulate(hair, disk, g)


def test_the_integral_equation_where_it_holds_and_is_small_enough(square):
    g, nothing = currents.cosine(square, 2), parse(shapes=[])
    ball, triangle = parse(shapes=[BALL | {"radius": 0.6}]), [[-0.6, -0.6], [-0.2, -0.6], [-0.4, -0.2]]
    exact = automatic.by_integral(ball, square, g)
    assert torch.equal(exact, BoundaryIntegralSolver(square).difference(ball, g))
    rough = automatic.by_integral(ball, square, g, tolerance=1e-4, most=48)
    assert 0 < float((rough - exact).abs().max()) < 1e-4
    assert automatic.by_integral(ball, square, g, most=48) is None
    assert automatic.by_integral(parse(shapes=[{"kind": "polygon", "vertices": triangle}]), square, g) is None
    assert float(automatic.by_integral(nothing, square, g, most=0).abs().max()) == 0


def test_measured_at_the_nodes_and_between(square):
    g = currents.cosine(square, 2)
    data, _ = automatic.simulate(parse(shapes=[BALL]), square, g)
    at_nodes = measured(square, g, data, 1.0, 0.0, 0, 0)
    assert float((at_nodes.voltages - at_nodes.reference - data).abs().max()) < 1e-12
    between = measured(square, g, data, 1.0, 0.05, 1, 40)
    assert between.points.shape == (40, 2)
    assert float((between.points.abs().amax(1) - 1).abs().max()) < 1e-9


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, "'shapes' is missing"),
        ({"shapes": 3}, "expected a list of at most 100 shapes"),
        ({"shapes": [{"kind": "blob"}]}, "'kind' must be one of ellipse, circle, polygon, .*got 'blob'"),
        ({"shapes": [{"kind": ["circle"]}]}, "'kind' must be one of"),
        ({"shapes": [BALL | {"radius": "big"}]}, "shape 0: radius: expected a number, got 'big'"),
        ({"shapes": [BALL | {"radius": 1e300}]}, "of moderate size"),
        ({"shapes": [BALL | {"radius": 10**400}]}, "of moderate size"),
        ({"shapes": [BALL | {"radius": -1}]}, "must be positive"),
        ({"shapes": [BALL | {"colour": 1}]}, "unknown key 'colour'"),
        ({"shapes": [BALL | {"conductivity": -1}]}, "conductivity must be positive"),
        ({"shapes": [{"kind": "polygon", "vertices": [[0, 0]]}]}, "3 to 1000 points"),
        ({"shapes": [BALL], "inside": 3}, "unknown key 'inside'"),
        (
            {"shapes": [BALL, {"kind": "polygon", "vertices": [[0, 0], [0.5, 0.5], [0.5, 0], [0, 0.5]]}]},
            "^phantom.json: shape 1: Polygon crosses itself: list its vertices in order",
        ),
    ],
)
def test_mistakes_are_named(values, message):
    with pytest.raises(InputError, match=message):
        parse(**values)


@pytest.mark.parametrize("content", [b"", b"[]", b"\xff\xfe", b"[" * 100_000, b'{"shapes": [NaN]}'])
def test_nonsense_is_one_line(content):
    with pytest.raises(InputError) as raised:
        phantoms.parse(content, "phantom.json")
    assert "\n" not in str(raised.value)


def test_beyond_the_boundary():
    with pytest.raises(InputError, match="beyond the boundary"):
        automatic.simulate(
            parse(shapes=[BALL | {"radius": 0.95}]), Square(32), currents.cosine(Square(32), 1)
        )


TRIANGLE = Polygon([(-0.6, -0.6), (-0.2, -0.6), (-0.4, -0.2)])


def simulated(phantom: Phantom, n: int) -> torch.Tensor:
    return automatic.simulate(phantom, Square(n), currents.cosine(Square(n), 3))[0]


def off(found: torch.Tensor, fine: torch.Tensor) -> float:
    """How far data are from those of a finer grid, at the same nodes."""
    exact = currents.project(fine[:, :: fine.shape[1] // found.shape[1]])
    return float((found - exact).norm() / exact.norm())


@pytest.mark.parametrize(
    "shapes",
    [
        [Ellipse((0, 0), (0.5, 0.02), 0.3), Ellipse((0, 0), (0.5, 0.015), 1.2)],
        [Polygon([(-0.3, -0.1), (-0.28, -0.14), (0.3, 0.2)])],
    ],
)
def test_a_shape_thinner_than_the_cells_is_seen_by_a_finer_grid(shapes: list[Ellipse | Polygon]):
    """On 50 cells a side, h = 0.04: the grid solver alone is off by 0.17 and 0.35."""
    phantom, fine = Phantom(shapes), Square(400)
    exact = GridSolver(fine).difference(phantom, currents.cosine(fine, 3))
    assert off(simulated(phantom, 50), exact) < 0.01


@pytest.mark.parametrize("n", [16, 32])
@pytest.mark.parametrize("gap", [0.01, 0.03, 0.1])
def test_a_circle_near_a_side_on_a_coarse_grid(n: int, gap: float):
    """Without a finer loop of nodes off by up to 0.14."""
    phantom, fine = Phantom([circle((0.9 - gap, 0.23), 0.1)]), Square(800)
    exact = BoundaryIntegralSolver(fine).difference(phantom, currents.cosine(fine, 3))
    assert off(simulated(phantom, n), exact) < 1e-4


@pytest.mark.parametrize("n", [16, 32])
@pytest.mark.parametrize("polygon", [TRIANGLE, Polygon([(0.5, -0.2), (0.98, -0.2), (0.98, 0.3), (0.5, 0.3)])])
def test_a_polygon_on_a_coarse_grid(n: int, polygon: Polygon):
    """Both far from a side and near it; by the coarse grid itself off by 0.01 to 0.14."""
    phantom, fine = Phantom([polygon]), Square(320)
    exact = GridSolver(fine).difference(phantom, currents.cosine(fine, 3))
    assert off(simulated(phantom, n), exact) < 0.008


def test_where_the_grid_is_fine_enough_nothing_is_changed():
    """Thick shapes, ellipses at least a cell from the boundary: the solvers' own data, bit by bit."""
    square = Square(100)
    g = currents.cosine(square, 3)
    for shapes, solver in (
        ([TRIANGLE, circle((0.69, 0.1), 0.3)], GridSolver(square)),
        ([circle((0.68, 0.1), 0.3)], BoundaryIntegralSolver(square)),
        ([], BoundaryIntegralSolver(square)),
    ):
        phantom = Phantom(shapes)
        assert torch.equal(automatic.simulate(phantom, square, g)[0], solver.difference(phantom, g))


def test_a_circle_nearer_to_a_side_than_the_finest_nodes_goes_through_the_grid():
    square, near = Square(250), Phantom([circle((0.9795, 0.23), 0.02)])
    assert automatic.for_integral(near, square) is None
    assert automatic.simulate(near, square, currents.cosine(square, 1))[1] == "grid"
    with pytest.raises(InputError, match=r"^shape 0 \(Ellipse\) .*0\.0001"):
        simulated(Phantom([circle((0.9998, 0.23), 0.0001)]), 200)


def test_a_shape_too_thin_for_the_finest_grid_is_refused_by_name():
    with pytest.raises(InputError, match=r"^shape 1 \(Ellipse\) .*0\.0016.*1000.*0\.006"):
        simulated(Phantom([TRIANGLE, Ellipse((0, 0), (0.5, 0.001))]), 200)


def test_a_grid_of_which_the_finest_is_no_multiple_is_told_of():
    thin = Phantom([TRIANGLE, Ellipse((0, 0), (0.5, 0.005))])
    assert automatic.for_grid(thin, Square(200)) == Square(800)
    with pytest.raises(InputError, match=r"0\.009 .*1000$"):
        automatic.for_grid(thin, Square(334))


def test_currents_are_checked_before_they_are_interpolated():
    near = Phantom([circle((0.89, 0.23), 0.1)])
    with pytest.raises(InputError, match=r"^currents: .*64 "):
        automatic.simulate(near, Square(16), currents.cosine(Square(32), 1))
    with pytest.raises(InputError, match="zero mean"):
        automatic.simulate(near, Square(16), currents.cosine(Square(16), 1) + 1)


@pytest.mark.parametrize(
    ("size", "cells"), [(math.inf, 200), (0.01, 200), (0.0099, 400), (0.003, 800), (1e-9, 1000)]
)
def test_the_finer_grid_is_the_coarsest_multiple_that_does(size: float, cells: int):
    assert automatic.finer(Square(200), size) == Square(cells)
    assert automatic.finer(Square(1100), size) == Square(1100)


def test_the_thickness_is_the_width_of_a_strip_and_the_radius_of_a_circle():
    bent = Polygon([(0, 0), (0.8, 0), (0.8, 0.01), (0.01, 0.01), (0.01, 0.8), (0, 0.8)])
    assert automatic.thickness(circle((0.1, 0.2), 0.3)) == pytest.approx(0.3, rel=1e-3)
    assert automatic.thickness(bent) == pytest.approx(0.01, rel=0.02)
