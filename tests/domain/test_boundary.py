import pytest
import torch

from eitlens.domain import Square, boundary
from eitlens.errors import InputError
from eitlens.forward import BoundaryIntegralSolver, currents

FINE = Square(400)


@pytest.fixture(scope="module")
def fine(phantom):
    return BoundaryIntegralSolver(FINE).difference(phantom, currents.cosine(FINE, 3))


def even(count: int) -> torch.Tensor:
    return (torch.arange(count, dtype=torch.float64) + 0.5) * 8 / count


def test_arclength_of_the_nodes_and_of_points_a_little_off(square):
    points = square.boundary()
    assert torch.allclose(boundary.arclength(points, square), square.arclength(), atol=1e-12)
    assert torch.allclose(boundary.arclength(1.004 * points, square)[1:], square.arclength()[1:], atol=5e-3)


def test_points_off_the_boundary_or_twice_are_named(square):
    points = square.boundary().clone()
    points[5] = torch.tensor([0.2, 0.3])
    with pytest.raises(InputError, match=r"point 5 .*0\.2, 0\.3.*0\.7"):
        boundary.arclength(points, square)
    points[5] = points[6]
    with pytest.raises(InputError, match="is there twice"):
        boundary.arclength(points, square)


def test_interpolation_is_of_fourth_order_and_small(fine):
    """Between 64 and 256 even points, none of them a corner: the error falls by 2⁸, here by at least 2⁷."""
    square, errors = Square(100), []
    for count in (64, 256):
        found = boundary.to_nodes(boundary.from_nodes(fine, even(count), FINE), even(count), square)
        errors.append(float((found - fine[:, ::4]).norm() / fine.norm() * 2))
    assert errors[1] < 1e-5
    assert errors[0] / errors[1] > 2**7


def test_any_order_of_points_and_corners_among_them(fine):
    square = Square(100)
    s = torch.sort(torch.cat([even(90) + 0.01, torch.tensor([0.0, 2.0], dtype=torch.float64)])).values
    mixed = s[torch.randperm(len(s), generator=torch.Generator().manual_seed(0))]
    first, second = (boundary.to_nodes(boundary.from_nodes(fine, t, FINE), t, square) for t in (s, mixed))
    assert torch.allclose(first, second, atol=1e-12)
    assert float((first - fine[:, ::4]).norm() / fine.norm() * 2) < 5e-4


def test_the_nodes_themselves_are_kept(square, difference):
    assert torch.allclose(boundary.to_nodes(difference, square.arclength(), square), difference, atol=1e-14)


def test_nodes_near_a_point(square):
    assert bool(boundary.near(square.arclength(), square).all())
    sparse = boundary.near(square.arclength()[::8], square)
    assert int(sparse.sum()) == 32
    assert bool(sparse[::8].all())
    between = square.arclength()[::8] + square.h / 2
    assert int(boundary.near(between, square).sum()) == 32
    assert boundary.near(torch.tensor([7.999], dtype=torch.float64), square).nonzero().tolist() == [[0]]


def test_the_largest_gap_goes_around_the_corner(square):
    assert boundary.largest_gap(torch.tensor([1.0, 2.0, 3.0, 6.0], dtype=torch.float64), square) == 3.0
    assert boundary.largest_gap(torch.tensor([3.0, 4.0, 5.0], dtype=torch.float64), square) == 6.0
