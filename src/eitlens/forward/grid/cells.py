"""The part of the stiffness matrix between grid nodes, as conductivities of triangles and cells.

A cell with one conductivity σ has the nine-point element σ (K_triangles - e eᵀ / 6), e = (1, -1, 1, -1)
around the cell (see `laplacian`). A cell that the interface cuts keeps the linear elements of its two
triangles, each with its own mean conductivity, and no e eᵀ: its kinks take care of the rest. All three
numbers are stored relative to a uniform body of conductivity 1, so that they vanish away from the inclusions.
"""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float64, Int64
from torch import Tensor

Cell = Float64[Tensor, "batch cells cells"]


class Cells(NamedTuple):
    """Conductivity less 1 in the lower right and the upper left triangle, and weight of -e eᵀ/6 less 1."""

    lower: Cell
    upper: Cell
    saddle: Cell
    active: Bool[Tensor, "batch cells cells"]
    """Where one of the three, or its derivative, may differ from zero."""


def uniform_cells(sigma: Cell, everywhere: bool) -> Cells:
    """Cells of one conductivity each; `everywhere` makes all of them active, as derivatives need it."""
    excess = sigma - 1
    active = torch.ones_like(sigma, dtype=torch.bool) if everywhere else excess != 0
    return Cells(excess, excess, excess, active)


def touched_nodes(active: Bool[Tensor, "batch cells cells"]) -> Bool[Tensor, "batch nodes"]:
    """The corners of the active cells."""
    size = active.shape[-1] + 1
    nodes = torch.zeros(len(active), size, size, dtype=torch.bool, device=active.device)
    for di in (0, 1):
        for dj in (0, 1):
            nodes[:, di : size - 1 + di, dj : size - 1 + dj] |= active
    return nodes.flatten(1)


# The eight neighbours of a node, as steps along x and y, in the order of `neighbour_weights`.
NEIGHBOURS = ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, 1), (1, -1), (-1, -1))


def neighbour_weights(
    cells: Cells, nodes: Int64[Tensor, "batch unknowns"]
) -> Float64[Tensor, "batch 9 unknowns"]:
    """The row of the matrix at each of the nodes: itself first, then its eight neighbours.

    Every pair along a leg shares two triangles, -½ each; e eᵀ/6 gives +1/6 along legs, -1/6 across a cell.
    The sum of a row is zero: constants are in the kernel.
    """
    lower, upper, saddle = (_around(field, nodes) for field in cells[:3])
    (ne_low, nw_low, _, sw_low), (ne_up, _, se_up, sw_up) = lower, upper
    ne, nw, se, sw = (value / 6 for value in saddle)
    east = ne + se - (ne_low + se_up) / 2
    west = nw + sw - (nw_low + sw_up) / 2
    north = ne + nw - (ne_up + nw_low) / 2
    south = se + sw - (se_up + sw_low) / 2
    others = torch.stack([east, west, north, south, -ne, -nw, -se, -sw], 1)
    return torch.cat([-others.sum(1, keepdim=True), others], 1)


def _around(field: Cell, nodes: Int64[Tensor, "batch unknowns"]) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Values in the cells north-east, north-west, south-east and south-west of the nodes; 0 off the grid."""
    size = field.shape[-1] + 1
    padded = torch.nn.functional.pad(field, (1, 1, 1, 1)).flatten(1)
    corner = nodes // size * (size + 1) + nodes % size
    southwest, southeast = padded.gather(1, corner), padded.gather(1, corner + size + 1)
    northwest, northeast = padded.gather(1, corner + 1), padded.gather(1, corner + size + 2)
    return northeast, northwest, southeast, southwest
