"""Functions on the boundary of a body, from the points where they were measured to the nodes of a grid.

Let v = f - f0. No current flows through the boundary for v, so it continues evenly across a side, and near a corner
v = a + b Re z² + O(|z|⁴), z from the corner along one of its sides: along both sides v has slope zero at the corner,
and the second derivatives there are opposite. The interpolant is therefore the cubic spline in arclength that has two
continuous derivatives between corners, slope zero at corners, and, at a corner that was not measured, opposite second
derivatives. It reproduces the data at the points and is of fourth order in the distance between them. A boundary
without corners has the periodic spline.
"""

from itertools import pairwise

import numpy as np
import torch
from jaxtyping import Bool, Float64
from scipy.interpolate import CubicHermiteSpline, CubicSpline
from scipy.sparse import csc_array
from scipy.sparse.linalg import splu
from torch import Tensor

from eitlens.domain import Domain
from eitlens.domain.bodies import BODIES
from eitlens.errors import InputError

OFF, TOGETHER = 1e-2, 1e-6  # so far off the boundary, so near to each other points may be
Array = np.ndarray


def arclength(points: Float64[Tensor, "points 2"], domain: Domain) -> Float64[Tensor, "points"]:
    """Arclength in [0, perimeter) of points on the boundary, moved there by up to 0.01."""
    away = domain.clearance(points).abs()
    if bool((away > OFF).any()):
        k = int(away.argmax())
        x, y = points[k].tolist()
        raise InputError(
            f"points: point {k} at ({x:g}, {y:g}) is {float(away[k]):.3g} off the boundary of the {domain.name}: "
            f"{_advice(points)}"
        )
    s = domain.locate(points)
    gap = torch.diff(torch.sort(s).values, append=s.min()[None] + domain.perimeter)
    if bool((gap < TOGETHER).any()):
        k = int(torch.argsort(s)[int(gap.argmin())])
        raise InputError(
            f"points: point {k} at ({points[k, 0]:g}, {points[k, 1]:g}) is there twice: give it once"
        )
    return s


def _advice(points: Float64[Tensor, "points 2"]) -> str:
    for name, body in BODIES.items():
        if bool((body.clearance(points).abs() <= OFF).all()):
            return f"they are on that of the {name}: say so with the domain of the measurement"
    return "scale the coordinates so that the body fills (-1, 1)²"


def largest_gap(s: Float64[Tensor, "points"], domain: Domain) -> float:
    """The longest piece of boundary without a point."""
    ordered = torch.sort(s).values
    return float(torch.diff(ordered, append=ordered[:1] + domain.perimeter).max())


def near(s: Float64[Tensor, "points"], domain: Domain) -> Bool[Tensor, "boundary"]:
    """The boundary nodes that are next to a point: one a point, or its noise would count twice."""
    seen = torch.zeros(domain.boundary_size, dtype=torch.bool)
    seen[torch.floor(s / domain.boundary_weight + 0.5).long() % domain.boundary_size] = True
    return seen


def sides(domain: Domain) -> list[tuple[float, float]]:
    """The smooth pieces of the boundary, from corner to corner; without corners the whole of it."""
    return list(pairwise([0.0, *domain.corners[1:], domain.perimeter]))


def from_nodes(
    values: Float64[Tensor, "rows boundary"], s: Float64[Tensor, "points"], domain: Domain
) -> Float64[Tensor, "rows points"]:
    """Values at arclengths s of functions given at the boundary nodes: a cubic spline on each side."""
    loop = torch.cat([values, values[:, :1]], 1).numpy()
    found = torch.empty(len(values), len(s), dtype=torch.float64)
    side = torch.bucketize(s, torch.tensor(domain.corners[1:], dtype=torch.float64), right=True)
    for k, (start, stop) in enumerate(sides(domain)):
        first, last = (round(end / domain.boundary_weight) for end in (start, stop))
        line, here = np.linspace(0, stop - start, last - first + 1), side == k
        spline = CubicSpline(
            line, loop[:, first : last + 1], 1, "not-a-knot" if domain.corners else "periodic"
        )
        found[:, here] = torch.from_numpy(spline((s[here] - start).numpy()))
    return found


def to_nodes(
    values: Float64[Tensor, "rows points"], s: Float64[Tensor, "points"], domain: Domain
) -> Float64[Tensor, "rows boundary"]:
    """The spline through values of f - f0 at arclengths s, at the boundary nodes."""
    order = torch.argsort(s)
    spline = _fit(s[order].numpy(), values[:, order].numpy(), domain)
    nodes = domain.arclength().numpy()
    return torch.from_numpy(spline(np.where(nodes < spline.x[0], nodes + domain.perimeter, nodes)))


def _fit(s: Array, values: Array, domain: Domain) -> CubicHermiteSpline:
    """Solve for the slopes at the points and the values at corners that were not measured.

    With Δ = (v_+ - v) / h², the second derivatives at the ends of an interval are 6Δ - (4p + 2q)/h and
    -6Δ + (2p + 4q)/h: one linear equation for each point between corners and each corner not measured.
    """
    at_corner, snapped = _snapped(s, domain)
    missing = np.setdiff1d(domain.corners, snapped)
    knots = np.concatenate([snapped, missing])
    order = np.argsort(knots)
    knots, is_corner = knots[order], np.concatenate([at_corner, np.ones(len(missing), bool)])[order]
    known = np.concatenate([np.ones(len(s), bool), np.zeros(len(missing), bool)])[order]
    data = np.concatenate([values, np.zeros((len(values), len(missing)))], 1)[:, order]
    around = np.append(knots, knots[0] + domain.perimeter)
    unknown = _solve(np.diff(around), is_corner, known, data)
    full = np.where(known, data, unknown), np.where(is_corner, 0.0, np.where(known, unknown, 0.0))
    closed = [np.concatenate([part, part[:, :1]], 1) for part in full]
    return CubicHermiteSpline(around, closed[0], closed[1], axis=1)


def _snapped(s: Array, domain: Domain) -> tuple[Array, Array]:
    """A mask of the points at a corner, and the points with these exactly there."""
    at_corner, snapped = np.zeros(len(s), bool), s
    for end in (*domain.corners, domain.perimeter) if domain.corners else ():
        close = np.abs(s - end) < TOGETHER
        at_corner, snapped = at_corner | close, np.where(close, end % domain.perimeter, snapped)
    return at_corner, snapped


def _solve(h: Array, is_corner: Array, known: Array, data: Array) -> Array:
    """The one unknown of each knot: its slope, at a corner its value; at a measured corner nothing (zero)."""
    count = len(h)
    here, after = np.arange(count), np.roll(np.arange(count), -1)
    before = np.roll(here, 1)
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
