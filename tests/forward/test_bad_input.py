"""Bad input gets one line that says what was given, what was expected and the fix, before any work."""

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from eitlens.domain import Square, check_boundary_values
from eitlens.errors import InputError
from eitlens.forward import BoundaryIntegralSolver, currents
from eitlens.forward.base import check_currents
from eitlens.phantom import Ellipse, Phantom, Polygon, Shape, circle

SQUARE = Square(20)
SOLVER = BoundaryIntegralSolver(SQUARE)
CURRENTS = currents.cosine(SQUARE, 2)
DISK = circle((0.5, 0.5), 0.2)


def complaint(action: Callable[[], object]) -> str:
    with pytest.raises(InputError) as caught:
        action()
    message = str(caught.value)
    assert "\n" not in message
    return message


def replaced(value: float) -> Tensor:
    g = CURRENTS.clone()
    g[1, 3] = value
    return g


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_values_that_are_not_numbers(value: float) -> None:
    message = complaint(lambda: SOLVER.difference(Phantom([DISK]), replaced(value)))
    assert message == "currents: 1 of 160 values are NaN or infinite: clean or mask them first"


@pytest.mark.parametrize(
    ("size", "guess"),
    [
        (76, ": were the corners dropped?"),
        (84, ": were the corners counted twice?"),
        (400, ": is it Square(100)?"),
    ],
)
def test_a_wrong_number_of_boundary_values(size: int, guess: str) -> None:
    values = torch.zeros(2, size, dtype=torch.float64)
    message = complaint(lambda: SOLVER.difference(Phantom([DISK]), values))
    assert message == f"currents: expected 80 boundary values (4 × 20 cells), got {size}{guess}"
    assert "got 1" in complaint(lambda: check_boundary_values(SQUARE, torch.tensor(1.0), "f - f0"))


def test_a_current_whose_mean_is_not_zero() -> None:
    message = complaint(lambda: SOLVER.difference(Phantom([DISK]), CURRENTS + 0.25))
    assert "zero mean" in message
    assert "got a mean of 0.25" in message
    assert "currents.project(g) takes it off" in message
    SOLVER.difference(Phantom([DISK]), currents.project(CURRENTS + 0.25))


def test_currents_that_do_not_fit_the_phantoms() -> None:
    assert "got shape (2, 2, 80)" in complaint(
        lambda: SOLVER.difference([Phantom([DISK])] * 3, CURRENTS.expand(2, -1, -1))
    )
    assert "got shape (80,)" in complaint(lambda: check_currents(SQUARE, CURRENTS[0]))


@pytest.mark.parametrize("shape", [circle((0.9, 0.0), 0.2), circle((3.0, 0.0), 0.1)])
def test_a_shape_outside(shape: Shape) -> None:
    message = complaint(lambda: SOLVER.difference([Phantom([DISK]), Phantom([DISK, shape])], CURRENTS))
    assert message.startswith(f"phantom 1: {shape} reaches ")
    assert message.endswith("beyond the boundary: move or shrink it")


@pytest.mark.parametrize(
    "other",
    [
        circle((0.3, 0.5), 0.1),  # overlapping
        circle((0.5, 0.5), 0.1),  # nested
        circle((0.5, 0.5), 0.2),  # the same
        circle((0.2, 0.5), 0.1),  # touching
        Ellipse((0.5, 0.5), (0.4, 0.02), 0.3),  # right across
    ],
)
def test_shapes_that_overlap_or_touch(other: Ellipse) -> None:
    phantoms = [Phantom([DISK]), Phantom([circle((-0.5, 0), 0.1), other, DISK])]
    message = complaint(lambda: SOLVER.difference(phantoms, CURRENTS))
    assert (
        message == f"phantom 1: shapes 1 and 2 overlap or touch ({other} and {DISK}): use GridSolver instead"
    )


def test_thin_shapes_that_cross_between_the_nodes() -> None:
    crossing = Phantom([Ellipse((0, 0), (0.4, 0.012)), Ellipse((0.02, 0.02), (0.4, 0.012), math.pi / 2)])
    assert "shapes 0 and 1 overlap" in complaint(lambda: SOLVER.difference(crossing, CURRENTS))


@pytest.mark.parametrize(
    "phantom",
    [
        Phantom([DISK, circle((0.0995, 0.5), 0.2)]),
        Phantom([Ellipse((0.0, 0.0), (0.5, 0.004))]),
        Phantom([circle((0.0, 0.699), 0.3)]),
    ],
    ids=["each other", "thin", "boundary"],
)
@pytest.mark.parametrize("tolerance", [1e-2, 1e-9])
def test_shapes_that_almost_touch(phantom: Phantom, tolerance: float) -> None:
    message = complaint(lambda: BoundaryIntegralSolver(SQUARE, tolerance).difference(phantom, CURRENTS))
    assert message.startswith(f"phantom 0: {phantom.shapes[0]} is too thin, or almost touches")
    assert message.endswith("use GridSolver instead")


def test_shapes_with_corners() -> None:
    triangle = Polygon([(0, 0), (-0.5, 0), (0, -0.5)])
    for shapes in ([triangle], [DISK, triangle]):
        message = complaint(lambda shapes=shapes: SOLVER.difference(Phantom(shapes), CURRENTS))
        assert message.startswith(
            "BoundaryIntegralSolver needs smooth outlines, got a Polygon: use RoundedPolygon"
        )


def test_options_of_the_solver() -> None:
    assert "at least 8 nodes an outline, got 4" in complaint(lambda: BoundaryIntegralSolver(SQUARE, nodes=4))
    for tolerance in (0.0, 1.0, -1e-3, math.nan):
        message = complaint(lambda tolerance=tolerance: BoundaryIntegralSolver(SQUARE, tolerance))
        assert f"tolerance must be between 0 and 1, got {tolerance}" in message
