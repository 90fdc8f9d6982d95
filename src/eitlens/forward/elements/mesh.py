"""Triangles with curved sides for a body of any outline, graded towards the ends of its electrodes.

Vertices lie along the boundary, the ends of electrodes and the corners among them. Inside the wanted length of an edge
is s(x) = min(size, min_k (b_k + GROWTH |x - x_k|)) over the boundary vertices x_k with edges of length b_k. The
centres of squares of about that size are the first guess; Delaunay triangulation and averaging take turns then.
Everything is a function of the numbers given; coordinates are rounded before each triangulation, so that the last bit
of a machine's arithmetic decides nothing.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import Delaunay, cKDTree

from eitlens.errors import InputError

Array = NDArray[np.float64]
Index = NDArray[np.int64]

GROWTH = 0.4
"""How much longer an edge may be for each unit of distance from the boundary; more makes flat triangles."""
_ROUNDS = 12  # of averaging: the smallest angle grows no more after them
_DIGITS = 9  # of a coordinate relative to `size`: what is rounded away is far below any error, far above the last bit
_APART = 0.6  # of the wanted edge: no vertex begins closer to the boundary
_DISORDER, _WAVES = 0.05, np.array([[12.9, 4.1], [78.2, 7.7]])  # so that no four points lie on a circle
_TIE = 1e-6  # numbers so close to a bound are on the same side of it on every machine
_QUARTERS = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
_SPLIT = 1.3  # of the wanted edge: larger squares are split


@dataclass(frozen=True)
class ElementMesh:
    """Vertices and triangles of six nodes: the vertices, then the middles of the edges 01, 12 and 20.

    The first `boundary` vertices are those of the boundary, counter-clockwise; vertex k is at the arclength
    `arclength[k]`, and `middle[k]` is the node in the middle of the boundary edge from there.
    """

    vertices: Array
    edges: Index
    triangles: Index
    boundary: int
    arclength: Array
    middle: Index

    @property
    def nodes(self) -> int:
        """Vertices and middles of edges together."""
        return len(self.vertices) + len(self.edges)

    def quality(self) -> float:
        """The smallest angle of a triangle, in degrees."""
        return float(np.degrees(_angles(self.vertices[self.triangles[:, :3]]).min()))


def mesh(vertices: Array, arclength: Array, size: float) -> ElementMesh:
    """The mesh of the polygon with the boundary vertices `vertices`, edges inside at most about `size` long."""
    wanted = _Wanted(vertices, size)
    inner = _scattered(vertices, wanted)
    for _ in range(_ROUNDS):
        inner = _averaged(vertices, inner, wanted)
    points = np.concatenate([vertices, inner])
    return _with_middles(points, _triangulate(points, len(vertices), size), arclength)


class _Wanted:
    """The wanted length s(x) of an edge: of the next boundary vertex, once these are no more than s apart from it."""

    def __init__(self, boundary: Array, size: float) -> None:
        length = np.linalg.norm(np.roll(boundary, -1, 0) - boundary, axis=1)
        self.size, self.near = size, cKDTree(boundary)
        far = np.linalg.norm(boundary[:, None] - boundary, axis=-1)
        self.spacing = ((length + np.roll(length, 1)) / 2 + GROWTH * far).min(1)

    def __call__(self, points: Array) -> Array:
        distance, index = self.near.query(points)
        found: Array = np.minimum(self.size, self.spacing[index] + GROWTH * distance)
        return found


def _scattered(boundary: Array, wanted: _Wanted) -> Array:
    """Centres of squares, split in four until they are as small as wanted, not too near to the boundary."""
    low, side = boundary.min(0), float(np.ptp(boundary, axis=0).max())
    count = int(np.ceil(side / wanted.size - _TIE))
    cells: Index = np.stack(np.meshgrid(np.arange(count), np.arange(count)), -1).reshape(-1, 2)
    step, found = side / count, []
    while len(cells):
        # Four corners of a square are on a circle, which leaves Delaunay a choice: hence a little disorder.
        centre = low + (cells + 0.5 + _DISORDER * np.sin(cells @ _WAVES)) * step
        wish = wanted(centre)
        large = step > (_SPLIT + _TIE) * wish
        far = wanted.near.query(centre)[0] > _APART * wish
        found.append(centre[~large & far])
        cells = (2 * cells[large][:, None] + _QUARTERS).reshape(-1, 2)
        step /= 2
    points = np.concatenate(found)
    return points[_inside(points, boundary)]


def _inside(points: Array, boundary: Array) -> NDArray[np.bool_]:
    """Whether a point is in the polygon: a ray from it crosses an odd number of edges."""
    inside, (x, y) = np.zeros(len(points), bool), points.T
    for a, b in zip(boundary, np.roll(boundary, -1, 0), strict=True):
        low, high = (a, b) if a[1] < b[1] else (b, a)
        at = np.flatnonzero((low[1] <= y) & (y < high[1]))
        inside[at] ^= x[at] < low[0] + (y[at] - low[1]) * (high[0] - low[0]) / (high[1] - low[1])
    return inside


def _triangulate(points: Array, boundary: int, size: float) -> Index:
    """Delaunay triangles in the polygon of the first points, counter-clockwise; each of its edges must be there."""
    rounded = np.round(points / size, _DIGITS)
    triangles = Delaunay(rounded).simplices.astype(np.int64)
    area = _doubled_areas(rounded[triangles])
    triangles[area < 0] = triangles[area < 0][:, [0, 2, 1]]
    keep = (np.abs(area) > 1e-9) & _inside(rounded[triangles].mean(1), rounded[:boundary])
    triangles = triangles[keep]
    start, end = triangles.ravel(), np.roll(triangles, -1, 1).ravel()
    if ((end == (start + 1) % boundary) & (start < boundary)).sum() < boundary:
        raise InputError(
            f"mesh: edges of length {size:.3g} are too long for a narrow part of this body: take a smaller size"
        )
    first = triangles.argmin(1)[:, None]
    triangles = np.take_along_axis(triangles, (first + np.arange(3)) % 3, 1)
    return triangles[np.lexsort(triangles.T[::-1])]


def _doubled_areas(corners: Array) -> Array:
    u, v = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    found: Array = u[:, 0] * v[:, 1] - u[:, 1] * v[:, 0]
    return found


def _averaged(boundary: Array, inner: Array, wanted: _Wanted) -> Array:
    """Each inner vertex moves to the mean of the centres of its triangles, weighted by area over wanted area."""
    points = np.concatenate([boundary, inner])
    triangles = _triangulate(points, len(boundary), wanted.size)
    centre = points[triangles].mean(1)
    weight = _doubled_areas(points[triangles]) / wanted(centre) ** 2
    total, *moment = (
        np.bincount(triangles.ravel(), np.repeat(value, 3), len(points))
        for value in (weight, weight * centre[:, 0], weight * centre[:, 1])
    )
    return (np.stack(moment, 1) / np.maximum(total, 1e-300)[:, None])[len(boundary) :]


def _with_middles(points: Array, corners: Index, arclength: Array) -> ElementMesh:
    """Number the edges and put their middles behind the vertices."""
    ends = np.sort(corners[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1)
    edges, which = np.unique(ends, axis=0, return_inverse=True)
    count = len(arclength)
    triangles = np.concatenate([corners, len(points) + which.reshape(-1, 3)], 1)
    index = {tuple(edge): k for k, edge in enumerate(edges.tolist())}
    loop = [index[min(k, (k + 1) % count), max(k, (k + 1) % count)] for k in range(count)]
    return ElementMesh(points, edges, triangles, count, arclength, len(points) + np.array(loop))


def _angles(corners: Array) -> Array:
    """The three angles of each triangle."""
    u, v = np.roll(corners, -1, 1) - corners, np.roll(corners, 1, 1) - corners
    cross = u[..., 0] * v[..., 1] - u[..., 1] * v[..., 0]
    found: Array = np.arctan2(cross, (u * v).sum(-1))
    return found
