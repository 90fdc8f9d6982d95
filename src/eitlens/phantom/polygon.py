"""Simple polygons."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float64
from torch import Tensor

from eitlens import checks
from eitlens.errors import InputError
from eitlens.phantom.base import Shape

Pair = tuple[Tensor, ...]
"""x and y, apart: a sum over a dimension of two takes longer than all the rest."""
_AT_ONCE = 2**18  # pairs of a point and an edge: what a CPU's cache holds
_ROUNDING = 1e-14  # of a cross product, relative to its factors


@dataclass(frozen=True)
class Polygon(Shape):
    """A simple polygon by its vertices, in either order; it is stored counter-clockwise.

    A vertex given several times in a row counts once, also the first again at the end.
    Parameters in a row: (x0, y0, x1, y1, …). In a batch, rows are padded by repeating the last vertex, which
    changes nothing. Level set: the signed distance to the boundary.

    >>> eit.Polygon([(0.0, 0.5), (0.5, 0.0), (0.0, 0.0)]).parameters().tolist()
    [0.0, 0.0, 0.5, 0.0, 0.0, 0.5]
    """

    vertices: tuple[tuple[float, float], ...]

    def __init__(self, vertices: Sequence[Sequence[float]]) -> None:
        try:
            given = [tuple(vertex) for vertex in vertices]
        except TypeError:
            given = []
        if len(given) < 3 or any(len(vertex) != 2 for vertex in given):
            raise InputError(f"Polygon needs at least 3 vertices (x, y), got {checks.shown(vertices)}")
        corners = checks.finite(checks.physics(given, "Polygon"), "Polygon")
        corners = corners[(corners != corners.roll(-1, 0)).any(-1)]
        # Before the area, which is zero for a bow-tie of equal wings: its vertices are not on one line.
        if _crosses_itself(corners):
            raise InputError("Polygon crosses itself: list its vertices in order along the boundary")
        area = _signed_area(corners)
        if float(area.abs()) < 1e-12:  # rounding
            raise InputError("Polygon has no area: are its vertices on one line?")
        corners = corners if area > 0 else corners.flip(0)
        object.__setattr__(self, "vertices", tuple((float(x), float(y)) for x, y in corners))

    def parameters(self) -> Float64[Tensor, "parameters"]:
        """(x0, y0, x1, y1, …)."""
        return torch.tensor(self.vertices, dtype=torch.float64).flatten()

    @staticmethod
    def unpack(row: Float64[Tensor, "parameters"]) -> "Polygon":
        """The polygon from (x0, y0, x1, y1, …), without the padding."""
        return Polygon(torch.unflatten(row, -1, (-1, 2)).tolist())

    @staticmethod
    def padded(row: Float64[Tensor, "parameters"], width: int) -> Float64[Tensor, "{width}"]:
        """The last vertex again and again."""
        return torch.cat([row, row[-2:].repeat((width - len(row)) // 2)])

    @staticmethod
    def level_set(
        parameters: Float64[Tensor, "*#batch parameters"], points: Float64[Tensor, "*#batch points 2"]
    ) -> Float64[Tensor, "*#batch points"]:
        """Distance to the boundary, negative inside. Edges are taken a few at a time to keep the memory flat."""
        start = torch.unflatten(parameters, -1, (-1, 2))
        stop, point = start.roll(-1, -2), points[..., None, :].unbind(-1)
        shape = torch.broadcast_shapes(start.shape[:-2], points.shape[:-2])  # type: ignore[no-untyped-call]
        size = shape.numel() * points.shape[-2]
        squared: Tensor | None = None
        inside: Tensor | None = None
        for ends in zip(
            *(torch.split(end, max(1, _AT_ONCE // max(1, size)), -2) for end in (start, stop)), strict=True
        ):
            a, b = (end[..., None, :, :].unbind(-1) for end in ends)
            distance = _squared_distance(a, b, point).amin(-1)
            crossing = _crossing(a, b, point).sum(-1) % 2 == 1
            squared = distance if squared is None else torch.minimum(squared, distance)
            inside = crossing if inside is None else inside ^ crossing
        assert squared is not None
        assert inside is not None
        # A root has no slope at zero: a point on the boundary gets none, rather than NaN.
        return torch.where(inside, -1.0, 1.0) * squared.clamp(min=1e-300).sqrt()

    @staticmethod
    def within(
        parameters: Float64[Tensor, "*#batch parameters"],
        points: Float64[Tensor, "*#batch points 2"],
        gap: float,
    ) -> Bool[Tensor, "*#batch points"]:
        """Whether a point is inside or at most `gap` away."""
        return Polygon.level_set(parameters, points) <= gap

    @staticmethod
    def bounds(parameters: Float64[Tensor, "*batch parameters"]) -> Float64[Tensor, "*batch 4"]:
        """The bounding box of the vertices."""
        corners = torch.unflatten(parameters, -1, (-1, 2))
        return torch.cat([corners.amin(-2), corners.amax(-2)], -1)

    @staticmethod
    def area(parameters: Float64[Tensor, "*batch parameters"]) -> Float64[Tensor, "*batch"]:
        """The shoelace formula."""
        return _signed_area(torch.unflatten(parameters, -1, (-1, 2)))

    @staticmethod
    def outline(
        parameters: Float64[Tensor, "*batch parameters"], count: int
    ) -> Float64[Tensor, "*batch nodes 2"]:
        """Points spread evenly over each edge, the vertices among them."""
        start = torch.unflatten(parameters, -1, (-1, 2))
        each = max(1, -(-count // start.shape[-2]))
        weight = torch.arange(each, dtype=torch.float64, device=start.device)[:, None] / each
        edge = (start.roll(-1, -2) - start)[..., None, :]
        return (start[..., None, :] + weight * edge).flatten(-3, -2)


def _signed_area(corners: Float64[Tensor, "*batch corners 2"]) -> Float64[Tensor, "*batch"]:
    following = corners.roll(-1, -2)
    return 0.5 * (corners[..., 0] * following[..., 1] - following[..., 0] * corners[..., 1]).sum(-1)


def _squared_distance(a: Pair, b: Pair, point: Pair) -> Tensor:
    """Squared distance of points to the segment ab (which padding may have shrunk to a point)."""
    dx, dy, x, y = b[0] - a[0], b[1] - a[1], point[0] - a[0], point[1] - a[1]
    length = (dx * dx + dy * dy).clamp(min=1e-300)
    along = ((x * dx + y * dy) / length).clamp(0, 1)
    east, north = x - along * dx, y - along * dy
    return east * east + north * north


def _crossing(a: Pair, b: Pair, point: Pair) -> Bool[Tensor, "*any"]:
    """Whether the ray from a point towards +x crosses the segment ab; inside, an odd number of edges do."""
    x, y = point
    straddles = (a[1] > y) != (b[1] > y)
    side = (b[0] - a[0]) * (y - a[1]) - (x - a[0]) * (b[1] - a[1])
    return straddles & ((side > 0) == (b[1] > a[1]))


def _crosses_itself(corners: Float64[Tensor, "corners 2"]) -> bool:
    """Whether two edges that are not neighbours cross."""
    a, b = corners, corners.roll(-1, 0)

    def turn(p: Tensor, q: Tensor, r: Tensor) -> Tensor:
        u, v = q - p, r - p
        left, right = u[..., 0] * v[..., 1], u[..., 1] * v[..., 0]
        # Edges on one line, such as those of a cross, differ from it by rounding.
        straight = (left - right).abs() <= _ROUNDING * u.norm(dim=-1) * v.norm(dim=-1)
        return torch.where(straight, 0.0, torch.sign(left - right))

    first, second = (slice(None), None), (None, slice(None))
    apart = turn(a[first], b[first], a[second]) != turn(a[first], b[first], b[second])
    proper = apart & apart.T
    index = torch.arange(len(corners))
    gap = (index[:, None] - index).abs()
    return bool((proper & (gap > 1) & (gap < len(corners) - 1)).any())
