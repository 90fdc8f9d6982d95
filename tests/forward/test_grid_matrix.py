"""The matrix of the grid solver against matrices assembled by scikit-fem, and exact solutions."""

import numpy as np
import pytest
import torch
from fitted_mesh import boundary_data, cell_matrix, level_set_matrix
from torch import Tensor

from eitlens.domain import Square
from eitlens.forward import currents
from eitlens.forward.grid import Field, GridSolver, LevelSet
from eitlens.forward.grid.chain import invert, lay_out
from eitlens.forward.grid.laplacian import laplacian

CPU = torch.device("cpu")


def tight(n: int) -> GridSolver:
    return GridSolver(Square(n), tolerance=1e-13)


def random(*shape: int, seed: int = 0) -> Tensor:
    return torch.rand(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def wavy_level_set(square: Square) -> Tensor:
    """Two blobs, and one that leaves through the left side: closed and open chains."""
    x, y = square.nodes().unbind(-1)
    blobs = torch.minimum((x - 0.3) ** 2 + (y - 0.2) ** 2 - 0.13, (x - 0.1) ** 2 + 3 * (y + 0.6) ** 2 - 0.1)
    return torch.minimum(blobs, (x + 1) ** 2 + (y - 0.11) ** 2 - 0.2)


def expected(matrix: object, square: Square, g: Tensor) -> Tensor:
    return torch.from_numpy(boundary_data(matrix, square.loop().numpy(), g.numpy(), square.h))


@pytest.mark.parametrize("n", [2, 7, 12])
def test_the_uniform_body_is_inverted_exactly(n: int) -> None:
    matrix = cell_matrix(n, np.ones((n, n))).toarray()
    load = random(3, n + 1, n + 1)
    load = load - load.mean((-1, -2), keepdim=True)
    u = laplacian(n, CPU).solve(load)
    assert np.abs(u.flatten(1).numpy() @ matrix - load.flatten(1).numpy()).max() < 1e-13
    grid, work = load.clone(), torch.empty_like(load)
    laplacian(n, CPU).solve_(grid, work)
    torch.testing.assert_close(grid, u, rtol=1e-12, atol=1e-14)


def test_a_cell_field_against_scikit_fem() -> None:
    square = Square(12)
    sigma, g = 0.1 + 5 * random(12, 12), currents.trigonometric(square, 4)
    f = tight(12).trace(Field(sigma, outside=2.0), g)
    torch.testing.assert_close(f, expected(cell_matrix(12, sigma.numpy()), square, g), rtol=1e-9, atol=1e-12)


def test_a_nodal_field_is_the_mean_in_each_cell() -> None:
    square = Square(9)
    sigma, g = 0.1 + random(10, 10), currents.cosine(square, 2)
    mean = (sigma[1:, 1:] + sigma[1:, :-1] + sigma[:-1, 1:] + sigma[:-1, :-1]) / 4
    torch.testing.assert_close(
        tight(9).difference(sigma, g), tight(9).difference(mean, g), rtol=1e-9, atol=1e-13
    )


@pytest.mark.parametrize(("inside", "outside"), [(10.0, 1.0), (0.02, 2.0)])
def test_a_level_set_against_a_fitted_mesh(inside: float, outside: float) -> None:
    square = Square(25)
    values, g = wavy_level_set(square), currents.trigonometric(square, 4)
    matrix = level_set_matrix(25, values.numpy(), inside, outside)
    f = tight(25).trace(LevelSet(values, inside, outside), g)
    torch.testing.assert_close(f, expected(matrix, square, g), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("shift", [0.0, 1e-12, 0.013, -0.3])
@pytest.mark.parametrize("along", [0, 1])
def test_a_straight_interface_is_exact(shift: float, along: int) -> None:
    """The current σ ∂u/∂x = 1 flows through two slabs, u linear in each; three times on a grid line."""
    square = Square(20)
    axis, where = square.nodes()[..., along], square.boundary()[:, along]
    sides = (where == 1).double() - (where == -1).double()
    corners = square.boundary().abs().amin(-1) == 1
    g = torch.where(corners, sides / 2, sides)[None]
    u = torch.where(axis < shift, (axis - shift) / 4, axis - shift)
    found = tight(20).potential(LevelSet(axis - shift, inside=4.0, outside=1.0), g)[0]
    torch.testing.assert_close(
        found - found[0, 0], u - u[0, 0], rtol=0, atol=1e-12 if shift == 0.013 else 1e-9
    )


def test_a_tilted_interface_is_exact_inside() -> None:
    """A u = 0 at inner nodes for u linear on both sides with continuous flux; at the crossings u = 0."""
    n = 16
    square = Square(n)
    x, y = square.nodes().unbind(-1)
    normal = 0.6 * x + 0.8 * y - 0.0371
    u = torch.where(normal < 0, normal / 7, normal)
    matrix = level_set_matrix(n, normal.numpy(), 7.0, 1.0)
    g = currents.project(random(1, 4 * n))
    f = tight(n).trace(LevelSet(normal, 7.0, 1.0), g)
    torch.testing.assert_close(f, expected(matrix, square, g), rtol=1e-8, atol=1e-11)
    padded = np.pad(u.flatten().numpy(), (0, matrix.shape[0] - u.numel()))
    residual = (matrix @ padded)[: u.numel()].reshape(n + 1, n + 1)
    assert np.abs(residual[1:-1, 1:-1]).max() < 1e-13


@pytest.mark.parametrize("lengths", [(6,), (15, 16), (17, 33, 1), (48, 7, 200)])
@pytest.mark.parametrize("closed", [True, False])
def test_chains_are_inverted(lengths: tuple[int, ...], closed: bool) -> None:
    """Rings and open chains of awkward lengths, scrambled over the slots, some slots empty."""
    generator = torch.Generator().manual_seed(sum(lengths))
    total = sum(lengths) + 5
    slots = torch.randperm(total, generator=generator)
    follower, present = torch.arange(total), torch.zeros(total, dtype=torch.bool)
    matrix = torch.eye(total, dtype=torch.float64)
    link = torch.zeros(total, dtype=torch.float64)
    for part in slots.split([*lengths, 5])[:-1]:
        present[part] = True
        ends = part.roll(-1) if closed and len(part) > 2 else torch.cat([part[1:], part[-1:]])
        follower[part] = ends
        joined = ends != part
        link[part] = 0.49 * joined * torch.rand(len(part), dtype=torch.float64, generator=generator)
        for k, m in zip(part[joined], ends[joined], strict=True):
            matrix[k, m] = matrix[m, k] = link[k]
    layout = lay_out(follower[None], present[None])
    padded = torch.nn.functional.pad(link, (0, 1))[layout.slot]
    load = random(2, total)
    placed = torch.nn.functional.pad(load * present, (0, 1))[:, layout.slot[0]]
    found = invert(padded, layout.follower)(placed[None])[0]
    result = torch.zeros(2, total + 1, dtype=torch.float64).index_add(1, layout.slot[0], found)[:, :-1]
    torch.testing.assert_close(result[:, present], torch.linalg.solve(matrix, load.T).T[:, present])
