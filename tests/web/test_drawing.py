import pytest

from eitlens import GridSolver, Square, currents
from eitlens.errors import InputError
from eitlens.web.drawing import phantom_of, simulate
from eitlens.web.schema import EllipseShape, PolygonShape

ELLIPSE = EllipseShape(kind="ellipse", center=(0.3, 0.2), semi_axes=(0.3, 0.2), angle=0.4, conductivity=10.0)
TRIANGLE = PolygonShape(kind="polygon", vertices=((-0.6, -0.6), (-0.1, -0.5), (-0.3, -0.1)), conductivity=3.0)


@pytest.mark.parametrize(
    ("shapes", "solver"), [((ELLIPSE,), "boundary integral"), ((ELLIPSE, TRIANGLE), "grid")]
)
def test_data_of_a_drawing_are_those_of_the_fine_grid(shapes, solver):
    made = simulate(shapes, 3)
    square = Square(200)
    exact = GridSolver(square).difference(phantom_of(shapes), currents.cosine(square, 3))
    assert made.solver == solver
    assert made.difference.shape == (3, 800)
    assert float((made.difference - exact).norm() / exact.norm()) < 2e-3
    assert simulate(shapes, 3) is made


def _oval(x: float, y: float, a: float, b: float) -> EllipseShape:
    return EllipseShape(kind="ellipse", center=(x, y), semi_axes=(a, b), conductivity=10.0)


FAR = _oval(-0.5, 0, 0.2, 0.2)


@pytest.mark.parametrize(
    ("shapes", "solver"),
    [
        ((FAR, _oval(0.3, 0, 0.3, 0.3)), "boundary integral"),
        ((FAR, _oval(0.05, 0, 0.33, 0.33)), "boundary integral"),  # 0.02 apart
        ((FAR, _oval(0.025, 0, 0.32, 0.32)), "grid"),  # 0.005 apart
        ((FAR, _oval(0, 0, 0.4, 0.4)), "grid"),  # overlapping
        ((_oval(0.75, 0, 0.245, 0.245),), "grid"),  # next to the boundary
        ((_oval(0, 0, 0.5, 0.5), _oval(0.1, 0, 0.1, 0.1)), "grid"),  # one in the other
        ((_oval(0, 0, 0.9, 0.015), _oval(0, 0.5, 0.1, 0.1)), "grid"),  # too thin
        (tuple(_oval(0, -0.7 + 0.13 * k, 0.8, 0.02) for k in range(12)), "grid"),  # 3,456 unknowns
    ],
)
def test_which_drawings_the_boundary_integral_takes(shapes, solver):
    made = simulate(shapes, 1)
    assert made.solver == solver
    assert float(made.difference.abs().max()) > 1e-3


def _needle(width: float) -> PolygonShape:
    return PolygonShape(
        kind="polygon", vertices=((-0.5, -0.5), (0.5, 0.5), (0.5 + width, 0.5)), conductivity=10.0
    )


def test_a_thin_shape_gets_a_finer_grid():
    needle = phantom_of((_needle(0.05),))
    fine, usual = (
        GridSolver(square).difference(needle, currents.cosine(square, 1))
        for square in (Square(400), Square(100))
    )
    made = simulate((_needle(0.05),), 1).difference
    assert float((made - fine[:, ::2]).norm() / fine[:, ::2].norm()) < 1e-3
    assert float((usual - fine[:, ::4]).norm() / fine[:, ::4].norm()) > 0.2


def test_a_shape_that_no_grid_sees_is_refused():
    with pytest.raises(InputError, match=r"shape 0 \(Polygon\) is 0.007 thick .* at least 0.015 thick"):
        simulate((_needle(0.02),), 1)


def test_conductivities_of_the_phantom():
    assert phantom_of((ELLIPSE, TRIANGLE)).inside == (10.0, 3.0)
    assert phantom_of((ELLIPSE,)).shapes[0].parameters().tolist() == [0.3, 0.2, 0.3, 0.2, 0.4]
