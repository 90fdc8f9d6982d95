"""Functions on the boundary of the square, from the points where they were measured to the nodes of a grid.

Let v = f - f0. No current flows through the boundary for v, so it continues evenly across a side, and near a corner
v = a + b Re z² + O(|z|⁴), z from the corner along one of its sides: along both sides v has slope zero at the corner,
and the second derivatives there are opposite. The interpolant is therefore the cubic spline in arclength that has two
continuous derivatives between corners, slope zero at corners, and, at a corner that was not measured, opposite second
derivatives. It reproduces the data at the points and is of fourth order in the distance between them.
"""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float64
from scipy.interpolate import CubicSpline
from scipy.sparse import csc_array
from scipy.sparse.linalg import splu
from torch import Tensor

from eitlens.domain import Square
from eitlens.errors import InputError

SIDE, PERIMETER = 2.0, 8.0
OFF, TOGETHER = 1e-2, 1e-6
Array = np.ndarray


def arclength(points: Float64[Tensor, "points 2"]) -> Float64[Tensor, "points"]:
    """Arclength in [0, 8) of points on the boundary, counter-clockwise from (-1, -1); moved there by up to 0.01."""
    away = (points.abs().amax(1) - 1).abs()
    if bool((away > OFF).any()):
        k = int(away.argmax())
        x, y = points[k].tolist()
        raise InputError(
            f"points: point {k} at ({x:g}, {y:g}) is {float(away[k]):.3g} off the boundary of (-1, 1)²: "
            "scale the coordinates so that the body fills it"
        )
    x, y = points.clamp(-1, 1).unbind(1)
    sideways = x.abs() >= y.abs()
    s = torch.where(sideways, torch.where(x > 0, 3 + y, 7 - y), torch.where(y > 0, 5 - x, 1 + x)) % PERIMETER
    gap = torch.diff(torch.sort(s).values, append=s.min()[None] + PERIMETER)
    if bool((gap < TOGETHER).any()):
        k = int(torch.argsort(s)[int(gap.argmin())])
        raise InputError(
            f"points: point {k} at ({points[k, 0]:g}, {points[k, 1]:g}) is there twice: give it once"
        )
    return s


def largest_gap(s: Float64[Tensor, "points"]) -> float:
    """The longest piece of boundary without a point."""
    ordered = torch.sort(s).values
    return float(torch.diff(ordered, append=ordered[:1] + PERIMETER).max())


def near(s: Float64[Tensor, "points"], square: Square) -> Bool[Tensor, "boundary"]:
    """The nodes of the square that are next to a point: one a point, or its noise would count twice."""
    seen = torch.zeros(square.boundary_size, dtype=torch.bool)
    seen[torch.floor(s / square.boundary_weight + 0.5).long() % square.boundary_size] = True
    return seen


def from_nodes(
    values: Float64[Tensor, "rows boundary"], s: Float64[Tensor, "points"]
) -> Float64[Tensor, "rows points"]:
    """Values at arclengths s of functions given at the 4n nodes of a square: a cubic spline on each side."""
    n = values.shape[1] // 4
    loop = torch.cat([values, values[:, :1]], 1).numpy()
    side = (s / SIDE).long().clamp(max=3)
    found = torch.empty(len(values), len(s), dtype=torch.float64)
    line = np.linspace(0, SIDE, n + 1)
    for k in range(4):
        here = side == k
        spline = CubicSpline(line, loop[:, k * n : (k + 1) * n + 1], axis=1)
        found[:, here] = torch.from_numpy(spline((s[here] - SIDE * k).numpy()))
    return found


def to_nodes(
    values: Float64[Tensor, "rows points"], s: Float64[Tensor, "points"], square: Square
) -> Float64[Tensor, "rows boundary"]:
    """The spline through values of f - f0 at arclengths s, at the nodes of the square."""
    order = torch.argsort(s)
    spline = _fit(s[order].numpy(), values[:, order].numpy())
    return torch.from_numpy(spline(square.arclength().numpy()))


@dataclass(frozen=True)
class _Spline:
    """Cubics between knots 0 = x_0 < … < x_K = 8, by values and slopes at the knots, (rows, knots)."""

    knots: Array
    values: Array
    slopes: Array

    def __call__(self, s: Array) -> Array:
        k = np.clip(np.searchsorted(self.knots, s, side="right") - 1, 0, len(self.knots) - 2)
        h = self.knots[k + 1] - self.knots[k]
        t = (s - self.knots[k]) / h
        a, b = self.values[:, k], self.values[:, k + 1]
        p, q = h * self.slopes[:, k], h * self.slopes[:, k + 1]
        result: Array = a + t * (p + t * (3 * (b - a) - 2 * p - q + t * (2 * (a - b) + p + q)))
        return result


def _fit(s: Array, values: Array) -> _Spline:
    """Solve for the slopes at the points and the values at corners that were not measured.

    With Δ = (v_+ - v) / h², the second derivatives at the ends of an interval are 6Δ - (4p + 2q)/h and
    -6Δ + (2p + 4q)/h: one linear equation for each point between corners and each corner not measured.
    """
    at_corner = np.abs((s + 1) % SIDE - 1) < TOGETHER
    snapped = np.where(at_corner, np.round(s / SIDE) * SIDE % PERIMETER, s)
    missing = np.setdiff1d(np.arange(4) * SIDE, snapped)
    knots = np.concatenate([snapped, missing])
    order = np.argsort(knots)
    knots, is_corner = knots[order], np.concatenate([at_corner, np.ones(len(missing), bool)])[order]
    known = np.concatenate([np.ones(len(s), bool), np.zeros(len(missing), bool)])[order]
    data = np.concatenate([values, np.zeros((len(values), len(missing)))], 1)[:, order]
    unknown = _solve(knots, is_corner, known, data)
    full = np.where(known, data, unknown), np.where(is_corner, 0.0, np.where(known, unknown, 0.0))
    closed = [np.concatenate([part, part[:, :1]], 1) for part in full]
    return _Spline(np.append(knots, PERIMETER), closed[0], closed[1])


def _solve(knots: Array, is_corner: Array, known: Array, data: Array) -> Array:
    """The one unknown of each knot: its slope, at a corner its value; at a measured corner nothing (zero)."""
    count = len(knots)
    here, after = np.arange(count), np.roll(np.arange(count), -1)
    before = np.roll(here, 1)
    h = np.diff(knots, append=PERIMETER)
    sign = np.where(is_corner, -1.0, 1.0)  # v''(+) = sign · v''(-)
    matrix, right = _Entries(count), np.zeros((count, len(data)))
    # value[k] enters the equation of `row` with `weight`: as data where known, as an unknown elsewhere.
    free = ~(is_corner & known)
    for row, k, weight in (
        (here, here, -6 / h**2 + sign * 6 / h[before] ** 2),
        (here, after, 6 / h**2),
        (here, before, -sign * 6 / h[before] ** 2),
    ):
        right -= (weight * free * known[k] * data[:, k]).T
        matrix.add(row, k, weight * free * ~known[k])
    for row, k, weight in (
        (here, here, -4 / h - sign * 4 / h[before]),
        (here, after, -2 / h),
        (here, before, -sign * 2 / h[before]),
    ):
        matrix.add(row, k, weight * free * ~is_corner[k])
    matrix.add(here, here, np.where(free, 0.0, 1.0))
    try:
        solution: Array = splu(matrix.build()).solve(right).T
    except RuntimeError:
        raise InputError("points: too few or too unevenly spread to interpolate between them") from None
    return solution


class _Entries:
    """A sparse matrix, entry by entry."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.parts: list[tuple[Array, Array, Array]] = []

    def add(self, rows: Array, columns: Array, values: Array) -> None:
        self.parts.append((rows, columns, values))

    def build(self) -> csc_array:
        rows, columns, values = (np.concatenate(part) for part in zip(*self.parts, strict=True))
        return csc_array((values, (rows, columns)), shape=(self.size, self.size))
