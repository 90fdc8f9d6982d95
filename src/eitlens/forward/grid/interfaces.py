"""Fitting the elements to sharp interfaces: which edges are cut and where, and the matrices that follow.

On every edge whose ends lie in different materials there is one crossing point and one kink unknown, the
deviation of u there from the linear interpolant along the edge. The elements are continuous, so the stiffness
matrix is that of a conforming Galerkin method on a mesh that follows the chords of the interface: symmetric,
positive, with no penalty parameter, linear in the conductivities, and exact for u linear on both sides of a
straight interface.

Limits. An edge that enters and leaves a material between two nodes is not seen: features thinner than a cell
are lost. In a triangle whose corners lie in three materials the conductivity is their mean and the kinks on
its edges are left out (set to zero), which remains conforming. An interface through a node is moved by 1e-9
of a cell. References: R. Becker, E. Burman, P. Hansbo, CMAME 198 (2009) on locally cut elements; S. Frei, T.
Richter, SIAM J. Numer. Anal. 52 (2014) on locally fitted ones.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float64, Int64
from torch import Tensor

from eitlens.forward.grid.cells import Cells
from eitlens.forward.grid.edges import DIAGONAL, Edges, Side, between, cut_edges, sides
from eitlens.forward.grid.triangle import KinkRow, kink_row

Nodal = Float64[Tensor, "batch nodes nodes"]
EdgeValue = Float64[Tensor, "batch edges"]
EdgeFlag = Bool[Tensor, "batch edges"]
EdgeIndex = Int64[Tensor, "batch edges"]
Crossing = Callable[[EdgeIndex, EdgeIndex], EdgeValue]
"""Where the interface crosses the edges from nodes u to nodes v, as a fraction of the way."""

_NEAREST = 1e-9  # of an edge: a crossing at a node itself would divide by zero


class Kinks(NamedTuple):
    """The kink unknowns of each sample, scaled to a unit diagonal, one slot for each cut edge."""

    present: EdgeFlag
    vertices: Int64[Tensor, "batch 4 edges"]
    coupling: Float64[Tensor, "batch 4 edges"]
    follower: EdgeIndex
    """Slot of the next kink along the interface, with the larger label on the left; its own at an end."""
    link: EdgeValue
    """Matrix entry with the follower; zero at an end."""


class _Wing(NamedTuple):
    """The contribution of the triangles on one side of the edges to their kinks."""

    mixed: EdgeFlag
    u: EdgeValue
    v: EdgeValue
    across: EdgeValue
    diagonal: EdgeValue
    link: EdgeValue
    neighbour: EdgeIndex
    """Number of the other cut edge of the triangle."""


def fit(label: Nodal, sigma: Nodal, crossing: Crossing) -> tuple[Cells, Kinks]:
    """Elements for the conductivity `sigma` in materials told apart by `label`; outside both are 1."""
    size = label.shape[-1]
    edges = cut_edges(label)
    cut = crossing(edges.u, edges.v).clamp(_NEAREST, 1 - _NEAREST)
    # By edge number; the middle, which harms no formula, where there is no crossing.
    everywhere = cut.new_full((len(cut), 3 * size**2 + 1), 0.5).scatter(1, edges.number, cut)
    pair, labels = sides(edges, size), label.flatten(1)
    left, right = (_wing(edges, side, labels, sigma.flatten(1), everywhere, size) for side in pair)
    return _cut_cells(label, sigma, everywhere), _kinks(edges, pair, (left, right), labels)


def _wing(edges: Edges, side: Side, label: Tensor, sigma: Tensor, cut: Tensor, size: int) -> _Wing:
    """The triangles on one side: a is the lone vertex, b the other end of the edge, c the vertex across."""
    label_u, label_v, label_c = (label.gather(1, node) for node in (edges.u, edges.v, side.across))
    lone_u, lone_v = label_c == label_v, label_c == label_u
    a, b = torch.where(lone_u, edges.u, edges.v), torch.where(lone_u, edges.v, edges.u)
    neighbour = between(a, side.across, size)
    f = _from(a, edges.u, cut.gather(1, edges.number))
    g = _from(a, torch.minimum(a, side.across), cut.gather(1, neighbour))
    hypotenuse, other = edges.kind == DIAGONAL, neighbour // size**2 == DIAGONAL
    right = (~hypotenuse & ~other, other, hypotenuse)
    first = (f > g) | ((f == g) & (edges.number < neighbour))
    whole = kink_row(f, g, sigma.gather(1, a), sigma.gather(1, b), right, first)
    here = side.present & (lone_u | lone_v)
    part = KinkRow(*(torch.where(here, value, 0.0) for value in whole))
    at_u, at_v = torch.where(lone_u, part.a, part.b), torch.where(lone_u, part.b, part.a)
    return _Wing(side.present & ~here, at_u, at_v, part.c, part.diagonal, part.link, neighbour)


def _from(a: EdgeIndex, base: EdgeIndex, cut: EdgeValue) -> EdgeValue:
    """The fraction measured from a, which is one end of the edge with this base."""
    return torch.where(a == base, cut, 1 - cut)


def _kinks(edges: Edges, pair: tuple[Side, Side], wings: tuple[_Wing, _Wing], label: Tensor) -> Kinks:
    """Add up both sides, scale to a unit diagonal and find each kink's follower along the interface."""
    left, right = wings
    present = edges.present & ~left.mixed & ~right.mixed
    slot = _slots(edges.number, present, 3 * label.shape[1] + 1)
    forward = label.gather(1, edges.u) > label.gather(1, edges.v)
    following = slot.gather(1, torch.where(forward, left.neighbour, right.neighbour))
    there = torch.where(forward, pair[0].present, pair[1].present) & present & (following >= 0)
    own = torch.arange(present.shape[1], device=label.device).expand_as(following)
    follower = torch.where(there, following, own)
    scale = torch.where(present, left.diagonal + right.diagonal, 1.0).rsqrt()
    coupling = torch.stack([left.u + right.u, left.v + right.v, left.across, right.across], 1)
    link = torch.where(forward, left.link, right.link) * scale * scale.gather(1, follower)
    return Kinks(
        present,
        torch.stack([edges.u, edges.v, pair[0].across, pair[1].across], 1),
        torch.where(present, scale, 0.0)[:, None] * coupling,
        follower,
        torch.where(there, link, 0.0),
    )


def _slots(number: EdgeIndex, present: EdgeFlag, total: int) -> Int64[Tensor, "batch numbers"]:
    """The slot of each edge number that has a kink, -1 for the others."""
    slot = torch.where(present, torch.arange(number.shape[1], device=number.device), -1)
    return torch.full((len(number), total), -1, device=number.device).scatter(1, number, slot)


def _cut_cells(label: Nodal, sigma: Nodal, cut: Float64[Tensor, "batch numbers"]) -> Cells:
    """Conductivities of all triangles: at their corners, or the area mean where they are cut."""
    size = label.shape[-1]
    fraction = cut[:, :-1].view(-1, 3, size, size)
    x, y, d = fraction[:, 0], fraction[:, 1], fraction[:, 2, :-1, :-1]
    lower = _triangle_mean(_corners(label, (0, 0), (1, 0), (1, 1)), _corners(sigma, (0, 0), (1, 0), (1, 1)),
                           x[:, :-1, :-1], y[:, 1:, :-1], d)  # fmt: skip
    upper = _triangle_mean(_corners(label, (0, 0), (0, 1), (1, 1)), _corners(sigma, (0, 0), (0, 1), (1, 1)),
                           y[:, :-1, :-1], x[:, :-1, 1:], d)  # fmt: skip
    a, b, c, e = _corners(label, (0, 0), (1, 0), (1, 1), (0, 1))
    whole = (a == b) & (a == c) & (a == e)
    saddle = torch.where(whole, lower - 1, -1.0)
    return Cells(lower - 1, upper - 1, saddle, ~whole | (a != 1))


def _corners(field: Nodal, *steps: tuple[int, int]) -> list[Float64[Tensor, "batch cells cells"]]:
    n = field.shape[-1] - 1
    return [field[:, di : n + di, dj : n + dj] for di, dj in steps]


def _triangle_mean(label: list[Tensor], sigma: list[Tensor], pq: Tensor, qr: Tensor, pr: Tensor) -> Tensor:
    """Area mean of σ in triangles pqr cut at the given fractions of the way p → q, q → r, p → r."""
    (lp, lq, lr), (sp, sq, sr) = label, sigma
    mean = torch.where((lp == lq) & (lq == lr), sp, (sp + sq + sr) / 3)
    mean = torch.where((lq == lr) & (lp != lq), sq + (sp - sq) * pq * pr, mean)
    mean = torch.where((lp == lr) & (lq != lp), sp + (sq - sp) * (1 - pq) * qr, mean)
    return torch.where((lp == lq) & (lr != lp), sp + (sr - sp) * (1 - pr) * (1 - qr), mean)


def no_kinks(batch: int, device: torch.device) -> Kinks:
    """A batch without sharp interfaces."""
    slots = torch.zeros(batch, 0, dtype=torch.int64, device=device)
    values = torch.zeros(batch, 0, dtype=torch.float64, device=device)
    four = slots.new_zeros(batch, 4, 0)
    return Kinks(slots.to(torch.bool), four, four.to(torch.float64), slots, values)
