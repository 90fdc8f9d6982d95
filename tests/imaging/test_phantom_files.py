import json

import pytest
import torch

from eitlens.domain import Square
from eitlens.errors import InputError
from eitlens.forward import BoundaryIntegralSolver, currents
from eitlens.imaging import phantoms

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
    assert phantoms.simulate(parse(shapes=[BALL]), square, g)[1] == "boundary-integral"
    exact, by_grid = phantoms.simulate(parse(shapes=[BALL, beside]), square, g)
    assert by_grid == "grid"
    assert float(exact.abs().max()) > 0.01


def test_the_integral_equation_where_it_holds_and_is_small_enough(square):
    g, nothing = currents.cosine(square, 2), parse(shapes=[])
    ball, triangle = parse(shapes=[BALL | {"radius": 0.6}]), [[-0.6, -0.6], [-0.2, -0.6], [-0.4, -0.2]]
    exact = phantoms.by_integral(ball, square, g)
    assert torch.equal(exact, BoundaryIntegralSolver(square).difference(ball, g))
    rough = phantoms.by_integral(ball, square, g, tolerance=1e-4, most=48)
    assert 0 < float((rough - exact).abs().max()) < 1e-4
    assert phantoms.by_integral(ball, square, g, most=48) is None
    assert phantoms.by_integral(parse(shapes=[{"kind": "polygon", "vertices": triangle}]), square, g) is None
    assert float(phantoms.by_integral(nothing, square, g, most=0).abs().max()) == 0


def test_measured_at_the_nodes_and_between(square):
    g = currents.cosine(square, 2)
    data, _ = phantoms.simulate(parse(shapes=[BALL]), square, g)
    at_nodes = phantoms.measured(square, g, data, 1.0, 0.0, 0, 0)
    assert float((at_nodes.voltages - at_nodes.reference - data).abs().max()) < 1e-12
    between = phantoms.measured(square, g, data, 1.0, 0.05, 1, 40)
    assert between.points.shape == (40, 2)
    assert float((between.points.abs().amax(1) - 1).abs().max()) < 1e-9


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, "'shapes' is missing"),
        ({"shapes": 3}, "expected a list of at most 100 shapes"),
        ({"shapes": [{"kind": "star"}]}, "'kind' must be one of ellipse, circle, polygon, got 'star'"),
        ({"shapes": [{"kind": ["circle"]}]}, "'kind' must be one of"),
        ({"shapes": [BALL | {"radius": "big"}]}, "shape 0: radius: expected a number, got 'big'"),
        ({"shapes": [BALL | {"radius": 1e300}]}, "of moderate size"),
        ({"shapes": [BALL | {"radius": 10**400}]}, "of moderate size"),
        ({"shapes": [BALL | {"radius": -1}]}, "must be positive"),
        ({"shapes": [BALL | {"colour": 1}]}, "unknown key 'colour'"),
        ({"shapes": [BALL | {"conductivity": 0}]}, "conductivity must be positive"),
        ({"shapes": [{"kind": "polygon", "vertices": [[0, 0]]}]}, "3 to 1000 points"),
        ({"shapes": [BALL], "inside": 3}, "unknown key 'inside'"),
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
        phantoms.simulate(parse(shapes=[BALL | {"radius": 0.95}]), Square(32), currents.cosine(Square(32), 1))
