"""Nested dissection: a mesh halved again and again, which unknowns each part eliminates, and where entries go.

The elements are halved across the direction that leaves the fewest nodes between the halves, until few are left.
An unknown is *inner* to the smallest part that has all its elements, and *outer* to the smaller ones that have some of
them. A part is a small dense matrix on its inner and outer unknowns: that of its elements, or what is left of its two
halves. Parts of one level are padded to one size, so that a level is a few batched products for all parts of all
bodies.
"""

from dataclasses import dataclass
from functools import reduce
from itertools import pairwise

import numpy as np
import torch
from jaxtyping import Float64, Int64
from numpy.typing import NDArray
from torch import Tensor

Array = NDArray[np.float64]
Index = NDArray[np.int64]

_LEAF = 10  # elements of the smallest parts, about: fewer make more levels, more make larger matrices
_DIRECTIONS = 8  # of a cut that are tried; the one that shares the fewest nodes is taken
Slots = list[tuple[Index, Index]]
"""The inner and the outer unknowns of each part of a level."""


@dataclass(frozen=True)
class Level:
    """The parts of one size: unknowns by number, one past the last where a slot is empty; children in pairs."""

    inner: Int64[Tensor, "parts inner"]
    outer: Int64[Tensor, "parts outer"]
    merge: Int64[Tensor, "parts two slots"]
    """Slot among the outer ones of each child for each slot of the part; the last, always empty, if it has none."""
    spare: Float64[Tensor, "parts inner"]
    """1 at the inner slots that are empty."""


@dataclass(frozen=True)
class Tree:
    """The levels of a halved mesh, from the whole body to the smallest parts, and where numbers go in them."""

    levels: tuple[Level, ...]
    members: Int64[Tensor, "elements 6"]
    extras: Int64[Tensor, "contacts 4"]
    place: Int64[Tensor, "entries"]
    """Of each entry of a matrix, in the flattened matrices of the smallest parts."""
    load: Int64[Tensor, "unknowns"]
    """Of the load of each unknown, in the flattened slots of the smallest parts."""

    @property
    def unknowns(self) -> int:
        """The number of unknowns."""
        return len(self.load)

    def to(self, device: torch.device) -> "Tree":
        """The tree on a device."""
        levels = tuple(Level(*(getattr(x, f).to(device) for f in Level.__annotations__)) for x in self.levels)
        parts = (part.to(device) for part in (self.members, self.extras, self.place, self.load))
        return Tree(levels, *parts)


def dissect(centres: Array, members: Index, extras: Index, owner: Index, unknowns: int) -> Tree:
    """The tree of elements at `centres` with nodes `members`, (T, 6).

    `extras` are the unknowns, (M, 4), of small matrices that belong to the elements `owner`. The entries of a matrix
    are those of the elements, of the extras, and the diagonal one of unknown 0.
    """
    parts = [np.zeros(len(centres), np.int64)]
    while len(centres) > _LEAF * 2 ** (len(parts) - 1):
        parts.append(_halved(parts[-1], centres, members))
    rows = np.concatenate([np.repeat(np.arange(len(members)), 6), np.repeat(owner, 4)])
    pairs = rows, np.concatenate([members.ravel(), extras.ravel()])
    home = _homes(parts, pairs, unknowns)
    slots = [_slots(level, part, home, pairs) for level, part in enumerate(parts)]
    levels = [_level(slots, k, unknowns) for k in range(len(parts))]
    place, load = _places(parts[-1], slots[-1], members, extras, owner, unknowns)
    return Tree(tuple(levels), *(torch.from_numpy(x) for x in (members, extras, place, load)))


def _halved(part: Index, centres: Array, members: Index) -> Index:
    """The number of the half of each element: twice that of its part, or one more."""
    found = 2 * part
    for k in range(part.max() + 1):
        own = np.flatnonzero(part == k)
        found[own] += _cut(centres[own], members[own])
    return found


def _cut(centres: Array, members: Index) -> Index:
    """0 for one half and 1 for the other, as few nodes shared as one of a few directions allows."""
    nodes, local = np.unique(members, return_inverse=True)
    local, halves, shared = local.reshape(members.shape), [], []
    for k in range(_DIRECTIONS):
        angle = np.pi * (k + 0.1) / _DIRECTIONS
        order = np.argsort(np.round(centres @ [np.cos(angle), np.sin(angle)], 9), kind="stable")
        half = np.zeros(len(centres), np.int64)
        half[order[len(order) // 2 :]] = 1
        sides = [np.bincount(local[half == side].ravel(), minlength=len(nodes)) > 0 for side in (0, 1)]
        halves.append(half)
        shared.append((sides[0] & sides[1]).sum())
    return halves[int(np.argmin(shared))]


def _homes(parts: list[Index], pairs: tuple[Index, Index], unknowns: int) -> Index:
    """The level of the smallest part with all elements of an unknown."""
    element, unknown = pairs
    home = np.zeros(unknowns, np.int64)
    for level, part in enumerate(parts):
        low, high = np.full(unknowns, part.max() + 1), np.full(unknowns, -1)
        np.minimum.at(low, unknown, part[element])
        np.maximum.at(high, unknown, part[element])
        home[low == high] = level
    return home


def _slots(level: int, part: Index, home: Index, pairs: tuple[Index, Index]) -> Slots:
    element, unknown = pairs
    both = np.unique(np.stack([part[element], unknown], 1), axis=0)
    both = both[home[both[:, 1]] <= level]
    split = np.searchsorted(both[:, 0], np.arange(part.max() + 2))
    rows = [both[a:b, 1] for a, b in pairwise(split)]
    return [(row[home[row] == level], row[home[row] < level]) for row in rows]


def _level(slots: list[Slots], k: int, unknowns: int) -> Level:
    inner = _padded([part[0] for part in slots[k]], unknowns)
    outer = _padded([np.append(part[1], unknowns) for part in slots[k]], unknowns)
    own = np.concatenate([inner, outer], 1)
    merge = np.zeros((len(own), 2, 0), np.int64)
    if k + 1 < len(slots):
        children = [part[1] for part in slots[k + 1]]
        where = np.full((len(children), unknowns + 1), max(map(len, children)))
        for child, at in zip(children, where, strict=True):
            at[child] = np.arange(len(child))
        merge = np.take_along_axis(where.reshape(len(own), 2, -1), np.repeat(own[:, None], 2, 1), 2)
    slot, beyond, halves = (torch.from_numpy(x) for x in (inner, outer, merge))
    return Level(slot, beyond, halves, (slot == unknowns).double())


def _padded(rows: list[Index], fill: int) -> Index:
    found = np.full((len(rows), max(map(len, rows))), fill)
    for k, row in enumerate(rows):
        found[k, : len(row)] = row
    return found


def _places(
    leaf: Index, slots: Slots, members: Index, extras: Index, owner: Index, unknowns: int
) -> tuple[Index, Index]:
    """The flat place of every entry and of every load."""
    inner, outer = (max(len(part[side]) for part in slots) for side in (0, 1))
    size, where = inner + outer + 1, np.full((len(slots), unknowns), -1)
    for at, part in zip(where, slots, strict=True):
        at[part[0]], at[part[1]] = np.arange(len(part[0])), inner + np.arange(len(part[1]))
    entries = []
    for rows, parts in ((members, leaf), (extras, leaf[owner])):
        at = where[parts[:, None], rows]
        entries.append((parts[:, None, None] * size**2 + at[:, :, None] * size + at[:, None, :]).ravel())
    first = (where >= 0).argmax(0)
    slot = where[first, np.arange(unknowns)]
    ground = first[:1] * size**2 + slot[:1] * (size + 1)
    return reduce(np.append, [*entries, ground]), first * size + slot
