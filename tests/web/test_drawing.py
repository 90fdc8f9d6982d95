import pytest

from eitlens import BoundaryIntegralSolver, Ellipse, GridSolver, Phantom, Polygon, Square, circle, currents
from eitlens.errors import InputError
from eitlens.web.drawing import simulate

ELLIPSE = Ellipse((0.3, 0.2), (0.3, 0.2), 0.4)
TRIANGLE = Polygon([(-0.6, -0.6), (-0.1, -0.5), (-0.3, -0.1)])


@pytest.mark.parametrize(
    ("phantom", "solver"),
    [(Phantom([ELLIPSE]), "boundary integral"), (Phantom([ELLIPSE, TRIANGLE], [10, 3]), "grid")],
)
def test_data_of_a_drawing_are_those_of_the_fine_grid(phantom, solver):
    made = simulate(phantom, 3)
    square = Square(200)
    exact = GridSolver(square).difference(phantom, currents.cosine(square, 3))
    assert made.solver == solver
    assert made.difference.shape == (3, 800)
    assert float((made.difference - exact).norm() / exact.norm()) < 2e-3
    assert simulate(phantom, 3) is made


FAR = circle((-0.5, 0), 0.2)


@pytest.mark.parametrize(
    ("shapes", "solver"),
    [
        ((FAR, circle((0.3, 0), 0.3)), "boundary integral"),
        ((FAR, circle((0.05, 0), 0.33)), "boundary integral"),  # 0.02 apart
        ((FAR, circle((0.025, 0), 0.32)), "grid"),  # 0.005 apart
        ((FAR, circle((0, 0), 0.4)), "grid"),  # overlapping
        ((circle((0.75, 0), 0.245),), "grid"),  # next to the boundary
        ((circle((0, 0), 0.5), circle((0.1, 0), 0.1)), "grid"),  # one in the other
        ((Ellipse((0, 0), (0.9, 0.015)), circle((0, 0.5), 0.1)), "grid"),  # too thin
        ([Ellipse((0, -0.7 + 0.13 * k), (0.8, 0.02)) for k in range(12)], "grid"),  # 3,456 unknowns
    ],
)
def test_which_drawings_the_boundary_integral_takes(shapes, solver):
    made = simulate(Phantom(shapes), 1)
    assert made.solver == solver
    assert float(made.difference.abs().max()) > 1e-3


def test_a_circle_near_a_side_gets_closer_nodes():
    phantom, square, fine = Phantom([circle((0.977, 0.23), 0.02)]), Square(200), Square(800)
    exact = BoundaryIntegralSolver(fine).difference(phantom, currents.cosine(fine, 3))[:, ::4]
    usual = BoundaryIntegralSolver(square).difference(phantom, currents.cosine(square, 3))
    made = simulate(phantom, 3)
    assert made.solver == "boundary integral"
    assert float((made.difference - exact).norm() / exact.norm()) < 1e-4
    assert float((usual - exact).norm() / exact.norm()) > 2e-3


def _needle(width: float) -> Phantom:
    return Phantom([Polygon([(-0.5, -0.5), (0.5, 0.5), (0.5 + width, 0.5)])])


def test_a_thin_shape_gets_a_finer_grid():
    fine, usual = (
        GridSolver(square).difference(_needle(0.05), currents.cosine(square, 1))
        for square in (Square(400), Square(100))
    )
    made = simulate(_needle(0.05), 1).difference
    assert float((made - fine[:, ::2]).norm() / fine[:, ::2].norm()) < 1e-3
    assert float((usual - fine[:, ::4]).norm() / fine[:, ::4].norm()) > 0.2


def test_a_shape_that_no_grid_sees_is_refused():
    with pytest.raises(InputError, match=r"shape 0 \(Polygon\) .*0\.007.*0\.015"):
        simulate(_needle(0.02), 1)
