"""Shapes with a smooth outline of any form: stars, and polygons with rounded corners.

They say where their outline goes. What else a shape must tell is that of a polygon with very many vertices on it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import torch
from jaxtyping import Bool, Float64
from torch import Tensor

from eitlens import checks
from eitlens.errors import InputError
from eitlens.phantom.base import Curve, Shape
from eitlens.phantom.polygon import Polygon

# Vertices of the polygon that stands for the outline: it is off by 1e-4 of the size of the shape at most.
_VERTICES = 256
# This share of the nodes gathers at the corners, over this many times the length of the rounding: of the pairs that
# were tried it has the smallest error with 64 nodes, for a square, a triangle and a cross.
_GATHERED, _SPREAD = 0.7, 3.0
# The curvature at the middle of a turn by a right angle is (2 / √π) / width.
_WIDTH_OF_RADIUS = 2 / math.sqrt(math.pi)
# Newton's steps from a table of this many entries to the place of a node on the polygon, and the narrowest gathering,
# as a part of the perimeter, that they still find.
_TABLE, _STEPS, _NARROWEST = 128, 4, 0.004


class SmoothShape(Shape):
    """A shape that is its smooth curve: `curve` is all that a kind must add to `parameters` and `unpack`."""

    smooth: ClassVar[bool] = True

    @classmethod
    def _polygon(cls, parameters: Float64[Tensor, "*batch parameters"]) -> Float64[Tensor, "*batch corners"]:
        return cls.curve(parameters, _VERTICES).point.flatten(-2)

    @classmethod
    def level_set(
        cls, parameters: Float64[Tensor, "*#batch parameters"], points: Float64[Tensor, "*#batch points 2"]
    ) -> Float64[Tensor, "*#batch points"]:
        """Distance to the boundary, negative inside."""
        return Polygon.level_set(cls._polygon(parameters), points)

    @classmethod
    def outlined(
        cls, parameters: Float64[Tensor, "*batch parameters"]
    ) -> tuple[type[Shape], Float64[Tensor, "*batch numbers"]]:
        """The polygon that stands for the outline."""
        return Polygon, cls._polygon(parameters)

    @classmethod
    def within(
        cls,
        parameters: Float64[Tensor, "*#batch parameters"],
        points: Float64[Tensor, "*#batch points 2"],
        gap: float,
    ) -> Bool[Tensor, "*#batch points"]:
        """Whether a point is inside or at most `gap` away."""
        return Polygon.within(cls._polygon(parameters), points, gap)

    @classmethod
    def bounds(cls, parameters: Float64[Tensor, "*batch parameters"]) -> Float64[Tensor, "*batch 4"]:
        """The bounding box."""
        return Polygon.bounds(cls._polygon(parameters))

    @classmethod
    def area(cls, parameters: Float64[Tensor, "*batch parameters"]) -> Float64[Tensor, "*batch"]:
        """½ ∮ z × dz by the trapezoid rule, which is exact to many digits."""
        curve = cls.curve(parameters, _VERTICES)
        turn = curve.point[..., 0] * curve.first[..., 1] - curve.point[..., 1] * curve.first[..., 0]
        return torch.pi * turn.mean(-1)

    @classmethod
    def outline(
        cls, parameters: Float64[Tensor, "*batch parameters"], count: int
    ) -> Float64[Tensor, "*batch nodes 2"]:
        """About `count` points, on the polygon that stands for the outline."""
        if _VERTICES % count == 0:
            return cls.curve(parameters, count).point
        return Polygon.outline(cls._polygon(parameters), count)


@dataclass(frozen=True)
class Star(SmoothShape):
    """A star-shaped inclusion: the points nearer to the centre than R(θ).

    R(θ) = radius + Σ_k cosines[k] cos (k+1)θ + sines[k] sin (k+1)θ.

    Parameters in a row: (cx, cy, radius, cosines[0], sines[0], cosines[1], …), in a batch padded by zeros.

    >>> eit.Star((0.1, 0.2), 0.3, cosines=(0.0, 0.05)).parameters().tolist()
    [0.1, 0.2, 0.3, 0.0, 0.0, 0.05, 0.0]
    """

    center: tuple[float, float]
    radius: float
    cosines: tuple[float, ...] = ()
    sines: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if checks.physics(self.center, "Star: center").shape != (2,):
            raise InputError(f"Star: center: expected two numbers, got {checks.shown(self.center)}")
        for name in ("cosines", "sines"):
            object.__setattr__(self, name, tuple(checks.physics(list(getattr(self, name)), name).tolist()))
        row = checks.finite(self.parameters(), "Star")
        checks.positive(_radius(row, _angles(row, _VERTICES))[0], "Star: the distance R(θ) to the outline")

    def parameters(self) -> Float64[Tensor, "parameters"]:
        """(cx, cy, radius, cosines[0], sines[0], …)."""
        waves = torch.zeros(max(len(self.cosines), len(self.sines)), 2, dtype=torch.float64)
        waves[: len(self.cosines), 0] = checks.physics(self.cosines)
        waves[: len(self.sines), 1] = checks.physics(self.sines)
        return torch.cat([torch.tensor([*self.center, self.radius], dtype=torch.float64), waves.flatten()])

    @staticmethod
    def unpack(row: Float64[Tensor, "parameters"]) -> "Star":
        """The star from its row; zeros at the end go."""
        cx, cy, radius, *waves = row.tolist()
        while waves and waves[-2:] == [0.0, 0.0]:
            del waves[-2:]
        return Star((cx, cy), radius, tuple(waves[::2]), tuple(waves[1::2]))

    @staticmethod
    def padded(row: Float64[Tensor, "parameters"], width: int) -> Float64[Tensor, "{width}"]:
        """Waves of no height."""
        return torch.cat([row, row.new_zeros(width - len(row))])

    @classmethod
    def curve(cls, parameters: Float64[Tensor, "*batch parameters"], count: int) -> Curve:
        """The point c + R(θ) (cos θ, sin θ) at equally spaced θ."""
        theta = _angles(parameters, count)
        radius, slope, bend = _radius(parameters, theta)
        out = torch.stack([theta.cos(), theta.sin()], -1)
        left = torch.stack([-theta.sin(), theta.cos()], -1)
        radius, slope, bend = radius[..., None], slope[..., None], bend[..., None]
        point = parameters[..., None, :2] + radius * out
        return Curve(point, slope * out + radius * left, (bend - radius) * out + 2 * slope * left)

    @classmethod
    def level_set(
        cls, parameters: Float64[Tensor, "*#batch parameters"], points: Float64[Tensor, "*#batch points 2"]
    ) -> Float64[Tensor, "*#batch points"]:
        """(r - R(θ)) / √(1 + R'²/R²): the distance to the outline where it is near, negative inside."""
        x, y = (points - parameters[..., None, :2]).unbind(-1)
        r = (x.square() + y.square()).clamp(min=1e-300).sqrt()  # a root has no slope at 0
        radius, slope = _radius_at(parameters, torch.atan2(y, x))
        value: Tensor = (r - radius) / (1 + (slope / radius).square()).sqrt()
        return value

    @classmethod
    def within(
        cls,
        parameters: Float64[Tensor, "*#batch parameters"],
        points: Float64[Tensor, "*#batch points 2"],
        gap: float,
    ) -> Bool[Tensor, "*#batch points"]:
        """Whether a point is inside or at most `gap` away: by the polygon, as the level set is no distance far out."""
        return super().within(parameters, points, gap) | (cls.level_set(parameters, points) <= 0)

    @classmethod
    def bounds(cls, parameters: Float64[Tensor, "*batch parameters"]) -> Float64[Tensor, "*batch 4"]:
        """The bounding box: of a parabola through the outermost of many points, to six digits."""
        curve = cls.curve(parameters, _VERTICES)
        bend = torch.where(curve.second.abs() > 0, curve.second, 1.0)
        step = (-curve.first / bend).clamp(-math.pi / _VERTICES, math.pi / _VERTICES)
        near = curve.point + step * (curve.first + 0.5 * step * curve.second)
        both = torch.stack([curve.point, near])
        return torch.cat([both.amin((0, -2)), both.amax((0, -2))], -1)

    @classmethod
    def outlined(
        cls, parameters: Float64[Tensor, "*batch parameters"]
    ) -> tuple[type[Shape], Float64[Tensor, "*batch numbers"]]:
        """Itself: R(θ) is quicker than a polygon of many corners."""
        return cls, parameters

    @classmethod
    def outline(
        cls, parameters: Float64[Tensor, "*batch parameters"], count: int
    ) -> Float64[Tensor, "*batch nodes 2"]:
        """The curve itself."""
        return cls.curve(parameters, count).point


@dataclass(frozen=True)
class RoundedPolygon(SmoothShape):
    """A simple polygon whose corners are rounded: the radius of curvature in a right angle is `radius`.

    The direction of the boundary does not jump at a corner but turns over a length of about `radius`, as the normal
    distribution grows: z'' = Σ_k (e_k - e_{k-1}) φ(s - s_k), e_k the direction of edge k and s_k the arclength of
    vertex k. The curve is analytic, closed, and a few radii away from the corners the edge itself. It keeps inside a
    corner that points out, and fills one that points in. Most nodes gather at the corners.

    Measured against finite elements on the sharp polygon: squares, triangles and crosses of size 0.4 to 0.8 in the
    unit disk that conduct perfectly or not at all. With the default radius and 64 nodes f - f0 is off by 0.1 to 0.9 %.
    Most of it is the rounding, and half the radius has less than half of it. The nodes are off by 1e-4, those of a
    cross, which has twelve corners, by 0.1 to 0.8 %.

    Parameters in a row: (radius, x0, y0, x1, y1, …), padded by repeating the last vertex.

    >>> eit.rectangle((0.0, 0.0), (0.4, 0.2), radius=0.01).parameters().tolist()
    [0.01, -0.2, -0.1, 0.2, -0.1, 0.2, 0.1, -0.2, 0.1]
    """

    vertices: tuple[tuple[float, float], ...]
    radius: float

    def __init__(self, vertices: Sequence[Sequence[float]], radius: float = 0.005) -> None:
        object.__setattr__(self, "vertices", Polygon(vertices).vertices)
        object.__setattr__(self, "radius", checks.positive_number(radius, "RoundedPolygon: radius"))

    def parameters(self) -> Float64[Tensor, "parameters"]:
        """(radius, x0, y0, x1, y1, …)."""
        radius = torch.tensor([self.radius], dtype=torch.float64)
        return torch.cat([radius, torch.tensor(self.vertices, dtype=torch.float64).flatten()])

    @staticmethod
    def unpack(row: Float64[Tensor, "parameters"]) -> "RoundedPolygon":
        """The rounded polygon from its row, without the padding."""
        return RoundedPolygon(torch.unflatten(row[1:], -1, (-1, 2)).tolist(), float(row[0]))

    padded = Polygon.padded

    @classmethod
    def curve(cls, parameters: Float64[Tensor, "*batch parameters"], count: int) -> Curve:
        """Nodes along the rounded boundary, with two derivatives in the parameter that spaces them."""
        corners = _corners(parameters)
        share = torch.arange(count, dtype=torch.float64, device=parameters.device) / count
        s = _places(corners, share)
        _, density, change = _shares(corners, s)
        point, first, second = _rounded(corners, s)
        # s as a function of the parameter 2π share: s' = 1 / (2π density), s'' = -change / (2π)² / density³.
        step = 1 / (2 * math.pi * density[..., None])
        slope = -change[..., None] * 2 * math.pi * step**3
        return Curve(point, first * step, second * step**2 + first * slope)


def rectangle(
    center: tuple[float, float], sides: tuple[float, float], angle: float = 0.0, radius: float = 0.005
) -> RoundedPolygon:
    """A rectangle with rounded corners, by its centre, two sides and the angle of the first.

    >>> len(eit.rectangle((0.1, 0.2), (0.4, 0.2), angle=0.3).vertices)
    4
    """
    x, y = sides[0] / 2, sides[1] / 2
    return _turned([(-x, -y), (x, -y), (x, y), (-x, y)], center, angle, radius)


def cross(
    center: tuple[float, float], size: float, width: float, angle: float = 0.0, radius: float = 0.005
) -> RoundedPolygon:
    """A cross of two equal bars with rounded corners, by its centre, the length and the width of a bar, and its angle.

    >>> len(eit.cross((0.1, 0.2), size=0.5, width=0.15).vertices)
    12
    """
    a, b = size / 2, width / 2
    arm = [(a, -b), (a, b), (b, b)]
    turns = ((1, 0), (0, 1), (-1, 0), (0, -1))
    return _turned([(c * x - s * y, s * x + c * y) for c, s in turns for x, y in arm], center, angle, radius)


def _turned(
    corners: list[tuple[float, float]], center: tuple[float, float], angle: float, radius: float
) -> RoundedPolygon:
    c, s = math.cos(angle), math.sin(angle)
    return RoundedPolygon(
        [(center[0] + c * x - s * y, center[1] + s * x + c * y) for x, y in corners], radius
    )


def _angles(parameters: Tensor, count: int) -> Float64[Tensor, "nodes"]:
    return torch.arange(count, dtype=torch.float64, device=parameters.device) * (2 * torch.pi / count)


def _radius(parameters: Float64[Tensor, "*batch parameters"], theta: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """R, R' and R'' of stars."""
    cosine, sine = parameters[..., 3::2], parameters[..., 4::2]
    order = torch.arange(1, cosine.shape[-1] + 1, dtype=torch.float64, device=theta.device)[:, None]
    c, s = torch.cos(order * theta), torch.sin(order * theta)
    slope = sine @ (order * c) - cosine @ (order * s)
    bend = -(cosine @ (order**2 * c)) - sine @ (order**2 * s)
    return parameters[..., 2:3] + cosine @ c + sine @ s, slope, bend


def _radius_at(
    parameters: Float64[Tensor, "*#batch parameters"], theta: Float64[Tensor, "*#batch points"]
) -> tuple[Tensor, Tensor]:
    """R and R' of stars at an angle for each point."""
    radius, slope = parameters[..., 2:3], torch.zeros_like(theta)
    for k in range(1, (parameters.shape[-1] - 1) // 2):
        cosine, sine = parameters[..., 2 * k + 1, None], parameters[..., 2 * k + 2, None]
        c, s = torch.cos(k * theta), torch.sin(k * theta)
        radius, slope = radius + cosine * c + sine * s, slope + k * (sine * c - cosine * s)
    return radius, slope


class _Corners(NamedTuple):
    """A polygon along its arclength: corners last, of any batch."""

    vertex: Float64[Tensor, "*batch corners 2"]
    place: Float64[Tensor, "*batch corners"]
    edge: Float64[Tensor, "*batch corners 2"]
    jump: Float64[Tensor, "*batch corners 2"]
    """The change of direction at the vertex."""
    width: Float64[Tensor, "*batch corners"]
    """Standard deviation of the rounding."""
    weight: Float64[Tensor, "*batch corners"]
    """Share of the gathered nodes."""
    perimeter: Float64[Tensor, "*batch 1"]


def _corners(parameters: Float64[Tensor, "*batch parameters"]) -> _Corners:
    """The polygon of each row; an edge of no length (padding) goes on in the direction of the one before."""
    vertex = torch.unflatten(parameters[..., 1:], -1, (-1, 2))
    arm = vertex.roll(-1, -2) - vertex
    squared = arm.square().sum(-1)
    length = torch.where(squared > 0, squared, 1.0).sqrt() * (squared > 0)
    number = torch.arange(arm.shape[-2], device=arm.device)
    last = torch.where(length > 0, number, 0).cummax(-1).values[..., None].expand_as(arm)
    edge = (arm / torch.where(length > 0, length, 1.0)[..., None]).gather(-2, last)
    before = edge.roll(1, -2)
    turn = (edge - before).square().sum(-1)
    jump = torch.where(turn > 0, turn, 1.0).sqrt() * (turn > 0)
    total = length.sum(-1, keepdim=True)
    # In an absent slot all vertices may be one: any length will do.
    total = torch.where(total > 0, total, 1.0)
    width = _WIDTH_OF_RADIUS * parameters[..., :1].expand_as(jump)
    weight = jump / torch.where(total > 0, jump.sum(-1, keepdim=True), 1.0).clamp(min=1e-300)
    return _Corners(vertex, length.cumsum(-1) - length, edge, edge - before, width, weight, total)


def _rounded(corners: _Corners, s: Float64[Tensor, "*batch nodes"]) -> tuple[Tensor, Tensor, Tensor]:
    """The curve at arclengths s of the polygon, and two derivatives: the direction turns by each jump as Φ grows."""
    total, width = corners.perimeter[..., None], corners.width[..., None, :]
    beyond = s[..., None] - corners.place[..., None, :]
    # The corner of this round, the round before or the next, whichever is nearest.
    rounds = torch.round(beyond / total).detach()
    near = beyond - total * rounds
    u = near / width
    density, passed = torch.exp(-0.5 * u.square()) / math.sqrt(2 * math.pi), torch.special.ndtr(u)
    ramp = near * passed + width * density + rounds.clamp(min=0) * beyond + rounds.clamp(max=0) * near
    before = corners.edge[..., -1:, :]
    point = corners.vertex[..., :1, :] + s[..., None] * before + ramp @ corners.jump
    return point, before + (passed + rounds) @ corners.jump, (density / width) @ corners.jump


def _shares(corners: _Corners, s: Float64[Tensor, "*batch nodes"]) -> tuple[Tensor, Tensor, Tensor]:
    """The share of nodes up to s, from 0 to 1 around, their density and its change.

    Around each corner nodes gather like a Cauchy distribution, wound around the outline.
    """
    total = corners.perimeter[..., None]
    narrow = (_SPREAD * corners.width[..., None, :] / total).clamp(min=_NARROWEST)
    width = torch.tanh(math.pi * narrow)
    start = torch.zeros_like(s[..., :1])

    def turned(at: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        x = math.pi * (at[..., None] - corners.place[..., None, :]) / total
        rounds = torch.round(x / math.pi).detach()
        x = x - math.pi * rounds
        return rounds + torch.atan2(x.sin(), width * x.cos()) / math.pi, x.sin(), x.cos()

    share, sine, cosine = turned(s)
    spread = (width * cosine).square() + sine.square()
    density = width / (spread * total)
    change = -density * 2 * math.pi * sine * cosine * (1 - width.square()) / (spread * total)
    weight = _GATHERED * corners.weight[..., None, :]
    even = (1 - weight.sum(-1)) / corners.perimeter
    share = (weight * (share - turned(start)[0])).sum(-1) + even * s
    return share, (weight * density).sum(-1) + even, (weight * change).sum(-1)


def _places(corners: _Corners, share: Float64[Tensor, "nodes"]) -> Float64[Tensor, "*batch nodes"]:
    """The arclength up to which there is a given share of nodes; the last of Newton's steps carries the derivative."""
    with torch.no_grad():
        table = torch.arange(_TABLE + 1, dtype=share.dtype, device=share.device) / _TABLE * corners.perimeter
        known = _shares(corners, table)[0].contiguous()
        wanted = share.expand(*known.shape[:-1], -1).contiguous()
        after = torch.searchsorted(known, wanted).clamp(1, _TABLE)
        low, high = known.gather(-1, after - 1), known.gather(-1, after)
        s = (after - 1 + (wanted - low) / (high - low)) / _TABLE * corners.perimeter
    for step in range(_STEPS):
        with torch.set_grad_enabled(torch.is_grad_enabled() and step == _STEPS - 1):
            found, density, _ = _shares(corners, s)
            s = s - (found - share) / density
    return s
