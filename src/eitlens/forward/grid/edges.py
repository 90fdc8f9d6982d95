"""The edges of the triangulation, by number. A cell is two triangles, cut along (i, j), (i+1, j+1).

An edge goes from its base node u, the one with the smaller flat index i N + j, to v = u + N (along x), u + 1
(along y) or u + N + 1 (the diagonal); its number is kind · N² + u with kind 0, 1, 2 and N nodes a side.
Number 3 N² is no edge.
"""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float64, Int64
from torch import Tensor

DIAGONAL = 2
"""The kind of the edges across a cell."""

Nodes = Int64[Tensor, "batch edges"]


class Edges(NamedTuple):
    """The cut edges of each sample, padded with the number that is no edge."""

    number: Nodes
    present: Bool[Tensor, "batch edges"]
    kind: Nodes
    u: Nodes
    v: Nodes


class Side(NamedTuple):
    """The triangles on one side of the edges: whether there is one, and the vertex across."""

    present: Bool[Tensor, "batch edges"]
    across: Nodes


def cut_edges(label: Float64[Tensor, "batch nodes nodes"]) -> Edges:
    """The edges whose two ends have different labels."""
    size = label.shape[-1]
    cut = torch.zeros(label.shape[0], 3, size, size, dtype=torch.bool, device=label.device)
    cut[:, 0, :-1] = label[:, 1:] != label[:, :-1]
    cut[:, 1, :, :-1] = label[:, :, 1:] != label[:, :, :-1]
    cut[:, 2, :-1, :-1] = label[:, 1:, 1:] != label[:, :-1, :-1]
    number, present = _listed(cut.flatten(1))
    kind, u = number // size**2, number % size**2
    step = torch.tensor([size, 1, size + 1, 0], device=label.device)
    return Edges(number, present, kind, u, u + step[kind])


def sides(edges: Edges, size: int) -> tuple[Side, Side]:
    """The triangles to the left and to the right of the direction u → v."""
    i, j = edges.u // size, edges.u % size
    along_x, along_y = edges.kind == 0, edges.kind == 1
    off_left = (along_x & (j == size - 1)) | (along_y & (i == 0))
    off_right = (along_x & (j == 0)) | (along_y & (i == size - 1))
    left = torch.tensor([size + 1, -size, 1, 0], device=i.device)[edges.kind]
    right = torch.tensor([-1, size + 1, size, 0], device=i.device)[edges.kind]
    return _side(edges, left, off_left), _side(edges, right, off_right)


def between(p: Nodes, q: Nodes, size: int) -> Nodes:
    """The number of the edge between two neighbouring nodes."""
    step = (p - q).abs()
    kind = torch.where(step == size, 0, torch.where(step == 1, 1, DIAGONAL))
    return kind * size**2 + torch.minimum(p, q)


def _side(edges: Edges, offset: Nodes, off: Bool[Tensor, "batch edges"]) -> Side:
    present = edges.present & ~off
    return Side(present, torch.where(present, edges.u + offset, edges.u))


def _listed(mask: Bool[Tensor, "batch numbers"]) -> tuple[Nodes, Bool[Tensor, "batch edges"]]:
    """List where the mask is set, sample by sample and in order; the length of the mask fills up the rows."""
    count = mask.sum(1)
    width = int(count.max())
    sample, number = mask.nonzero(as_tuple=True)
    place = torch.arange(len(sample), device=mask.device) - (count.cumsum(0) - count)[sample]
    listed = torch.full((len(mask), width), mask.shape[1], device=mask.device)
    listed[sample, place] = number
    return listed, torch.arange(width, device=mask.device) < count[:, None]
