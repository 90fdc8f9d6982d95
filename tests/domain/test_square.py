"""The square's grid, its boundary loop and the quadrature on it."""

import re

import pytest
import torch

from eitlens.domain import Square
from eitlens.errors import InputError

SIZES = [2, 3, 8, 25]


@pytest.mark.parametrize("n", SIZES)
def test_nodes_are_indexed_x_first(n: int) -> None:
    square = Square(n)
    nodes = square.nodes()
    assert nodes.shape == (*square.shape, 2)
    i, j = 1, n
    torch.testing.assert_close(nodes[i, j], torch.tensor([-1 + i * square.h, 1.0], dtype=torch.float64))


@pytest.mark.parametrize("n", SIZES)
def test_the_loop_is_closed_counter_clockwise_and_visits_each_boundary_node_once(n: int) -> None:
    loop = Square(n).boundary()
    step = loop.roll(-1, 0) - loop
    torch.testing.assert_close(step.norm(dim=-1), torch.full((4 * n,), 2 / n, dtype=torch.float64))
    area = 0.5 * (loop[:, 0] * loop.roll(-1, 0)[:, 1] - loop.roll(-1, 0)[:, 0] * loop[:, 1]).sum()
    torch.testing.assert_close(area, torch.tensor(4.0, dtype=torch.float64))
    assert len(Square(n).loop().unique()) == 4 * n


@pytest.mark.parametrize("n", SIZES)
def test_the_corners_are_nodes_0_n_2n_3n(n: int) -> None:
    corners = Square(n).boundary()[[0, n, 2 * n, 3 * n]]
    assert corners.tolist() == [[-1, -1], [1, -1], [1, 1], [-1, 1]]


def test_arclength_and_angle_follow_the_loop() -> None:
    square = Square(8)
    s, theta, (x, y) = square.arclength(), square.angle(), square.boundary().T
    torch.testing.assert_close(s, square.h * torch.arange(32, dtype=torch.float64))
    torch.testing.assert_close(
        torch.stack([torch.cos(theta), torch.sin(theta)]), torch.stack([x, y]) / torch.hypot(x, y)
    )
    assert s[12] == 3.0
    assert theta[12] == 0.0  # the middle of the right side


def test_the_trace_of_an_asymmetric_field_keeps_its_orientation() -> None:
    square = Square(5)
    x, y = square.nodes().unbind(-1)
    bx, by = square.boundary().unbind(-1)
    field = torch.stack([x + 10 * y, x * y**2])
    torch.testing.assert_close(square.trace(field), torch.stack([bx + 10 * by, bx * by**2]), rtol=0, atol=0)


def test_weights_add_up_to_the_perimeter_and_integrate_by_the_trapezoid_rule() -> None:
    square = Square(10)
    x, _ = square.boundary().unbind(-1)
    assert square.boundary_weight * square.boundary_size == pytest.approx(square.perimeter)
    # ∮ x² = 2·2 + 2·(2/3), to second order: the trapezoid rule errs by exactly 2·h²/3 on the two sides y =
    # ±1.
    assert square.boundary_weight * float((x**2).sum()) == pytest.approx(16 / 3 + 2 * square.h**2 / 3)


def test_clearance_is_the_distance_to_the_boundary() -> None:
    points = torch.tensor([[0.0, 0.0], [0.5, -0.9], [1.0, 0.3], [0.2, 1.25]], dtype=torch.float64)
    expected = torch.tensor([1.0, 0.1, 0.0, -0.25], dtype=torch.float64)
    torch.testing.assert_close(Square(4).clearance(points), expected)


@pytest.mark.parametrize("n", [-3, 0, 1])
def test_a_square_of_too_few_cells_is_refused(n: int) -> None:
    with pytest.raises(InputError, match=f"at least 2 cells a side, got {n}"):
        Square(n)


@pytest.mark.parametrize(
    ("got", "guess"),
    [
        (796, "corners dropped"),
        (804, "counted twice"),
        (801, "first node repeated"),
        (400, r"Square\(100\)"),
        (7, "^$"),
    ],
)
def test_a_wrong_number_of_boundary_values_is_explained(got: int, guess: str) -> None:
    assert re.search(guess, Square(200).explain_boundary(got))
