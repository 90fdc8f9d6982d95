"""Vertices and middles of edges along the boundary of a body, denser towards the ends of electrodes.

Between two breaks, ends of electrodes or corners, the wanted length of an edge at the distance d from an end is
min(longest, b + GRADE d). The current density of a good contact grows like 1/√d towards an end: so does the derivative
of the quadratic functions on an edge whose middle lies at a quarter of it.
"""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float64, Int64
from numpy.typing import NDArray
from torch import Tensor

from eitlens.domain import Domain
from eitlens.errors import InputError

Array = NDArray[np.float64]

END, GRADE = 0.06, 0.5
"""Edge at an end relative to the shorter piece beside it, and how much edges grow for each unit of distance."""
DEFAULT = 100
"""Edges of the default size around a body."""
_COARSEST_END, _SAMPLES, _SAME = (
    0.25,
    2000,
    1e-9,
)  # of an electrode; points along the outline; places that are one
_QUARTER = 0.25  # of an edge: nodes there give fields like √r at an end


@dataclass(frozen=True)
class Spacing:
    """Each boundary node between two breaks: arclength (1 - share) breaks[left] + share (breaks[right] + turn).

    The vertices come first, counter-clockwise, then the middle after each of them.
    """

    left: Int64[Tensor, "nodes"]
    right: Int64[Tensor, "nodes"]
    turn: Float64[Tensor, "nodes"]
    share: Float64[Tensor, "nodes"]
    sharp: Int64[Tensor, "vertices"]
    """1 at the vertices that are ends of electrodes."""

    def arclength(self, breaks: Float64[Tensor, "breaks"]) -> Float64[Tensor, "nodes"]:
        """The arclength of each node."""
        start, end = breaks[self.left], breaks[self.right] + self.turn
        return start + self.share * (end - start)


def space(breaks: Array, sharp: int, size: float, longest: float, perimeter: float) -> Spacing:
    """Spread vertices between the breaks, the first `sharp` of which are ends of electrodes."""
    order = np.argsort(breaks % perimeter, kind="stable")
    place = breaks[order] % perimeter
    # A corner at the end of an electrode is that end.
    keep = np.append(np.diff(place), place[0] + perimeter - place[-1]) > _SAME * perimeter
    order = order[keep] if keep.any() else order[:1]
    length = np.roll(breaks[order] % perimeter, -1) - breaks[order] % perimeter
    length[-1] += perimeter
    fine = min(_COARSEST_END, END * size * DEFAULT / perimeter) * np.minimum(length, np.roll(length, 1))
    first = np.where(order < sharp, fine, np.inf)
    rows = []
    for k, start in enumerate(order):
        following = (k + 1) % len(order)
        stop = order[following]
        share = _graded(length[k], first[k], first[following], longest)
        turn = breaks[start] + length[k] - breaks[stop]
        middle = (share[1:] + share[:-1]) / 2
        if start < sharp:
            middle[0] = share[0] + _QUARTER * (share[1] - share[0])
        if stop < sharp:
            middle[-1] = share[-1] - _QUARTER * (share[-1] - share[-2])
        ends = (np.arange(len(middle)) == 0) & (start < sharp)
        rows.append([(start, stop, turn, a, b, e) for a, b, e in zip(share[:-1], middle, ends, strict=True)])
    left, right, turn, vertex, middle, ends = np.array([row for piece in rows for row in piece]).T
    before, after, turns = (torch.from_numpy(np.tile(x, 2)) for x in (left, right, turn))
    shares = torch.from_numpy(np.concatenate([vertex, middle]))
    return Spacing(before.long(), after.long(), turns, shares, torch.from_numpy(ends).long())


def _graded(length: float, first: float, last: float, longest: float) -> Array:
    """Shares of a piece at its vertices: the wanted lengths fit between them as often as they must."""
    t = np.linspace(0, length, _SAMPLES)
    wanted = np.minimum(longest, np.minimum(first + GRADE * t, last + GRADE * (length - t)))
    passed = np.append(0.0, np.cumsum((1 / wanted[1:] + 1 / wanted[:-1]) / 2 * np.diff(t)))
    count = max(2, int(np.ceil(passed[-1] - _SAME)))
    share: Array = np.interp(np.linspace(0, passed[-1], count + 1), passed, t) / length
    share[0], share[-1] = 0.0, 1.0
    return share


def at_arclength(
    points: Float64[Tensor, "boundary 2"], s: Float64[Tensor, "nodes"], domain: Domain
) -> Float64[Tensor, "nodes 2"]:
    """Points of the boundary at arclengths, by cubic interpolation between its nodes `points`."""
    count, place = len(points), (s % domain.perimeter) / domain.boundary_weight
    first = place.detach().floor().long() - 1
    if domain.corners:  # the four nodes next to a point are of its own side
        ends = torch.tensor([*domain.corners, domain.perimeter], dtype=s.dtype) / domain.boundary_weight
        ends = ends.round().long()
        side = torch.bucketize(place.detach(), ends[1:].to(s.dtype), right=True).clamp(max=len(ends) - 2)
        first = torch.maximum(torch.minimum(first, ends[1:][side] - 3), ends[:-1][side])
    t = place - first
    weights = [-(t - 1) * (t - 2) * (t - 3) / 6, t * (t - 2) * (t - 3) / 2]
    weights += [-t * (t - 1) * (t - 3) / 2, t * (t - 1) * (t - 2) / 6]
    return sum((w[:, None] * points[(first + k) % count] for k, w in enumerate(weights)), torch.zeros(1, 2))


def check_ends(start: Tensor, end: Tensor, perimeter: float) -> None:
    """Refuse electrodes that overlap, touch or have no length, and arclengths beyond the boundary."""
    if bool(((start < 0) | (start >= perimeter) | (end <= start) | (end >= start + perimeter)).any()):
        raise InputError(
            f"electrodes: each needs 0 <= start < {perimeter:.4g} (the perimeter) and start < end < start + perimeter"
        )
    order = torch.argsort(start)
    following = torch.cat([start[order][1:], start[order][:1] + perimeter])
    gap = following - end[order]
    if bool((gap <= 0).any()):
        k, n = int(gap.argmin()), len(order)
        raise InputError(
            f"electrodes {int(order[k]) + 1} and {int(order[(k + 1) % n]) + 1} overlap or touch: leave a gap between"
        )
