import pytest

from eitlens import GridSolver, Phantom, Square, circle, currents
from eitlens.web.drawing import phantom_of, simulate, smooth_and_apart
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


def test_which_drawings_the_boundary_integral_can_do():
    far, near, edge = circle((-0.5, 0), 0.2), circle((0.05, 0), 0.33), circle((0.75, 0), 0.22)
    assert smooth_and_apart(Phantom([far, circle((0.3, 0), 0.3)]))
    assert not smooth_and_apart(Phantom([far, near]))
    assert not smooth_and_apart(Phantom([edge]))
    assert not smooth_and_apart(Phantom([circle((0, 0), 0.5), circle((0.1, 0), 0.1)]))


def test_conductivities_of_the_phantom():
    assert phantom_of((ELLIPSE, TRIANGLE)).inside == (10.0, 3.0)
    assert phantom_of((ELLIPSE,)).shapes[0].parameters().tolist() == [0.3, 0.2, 0.3, 0.2, 0.4]
