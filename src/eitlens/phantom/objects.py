"""Random objects in a round tank, as one would put them there: of many forms, apart from each other, of two kinds."""

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Bool, Float64, Int64
from torch import Tensor

from eitlens import checks, random
from eitlens.errors import InputError
from eitlens.phantom.base import Shape
from eitlens.phantom.batch import PhantomBatch, ShapeGroup
from eitlens.phantom.samplers import Attempt, Range, Sampler
from eitlens.phantom.smooth import RoundedPolygon

VERTICES = 24
"""Vertices of every object: a round one has as many, others repeat their last."""
_TRIES = 24  # places and sizes that are tried for an object, before the tank goes without it
_NUMBERS = 16  # uniform numbers that a form is made of
_ROUND = 0.7  # rounding of a round object, in edges of its polygon: so much makes it smooth
_FORMS = (0.2, 0.15, 0.2, 0.15, 0.15, 0.15)
"""How often a form is drawn: ellipses (circles a third of them), blobs, polygons, rectangles, crosses, letters L."""


@dataclass(frozen=True)
class ObjectSampler(Sampler):
    """Random tanks: one to `most` objects apart from each other, each resistive or conductive, each with its own σ.

    Ellipses, smooth blobs, polygons (convex or not), rectangles, crosses and letters L, as polygons with rounded
    corners. Each object lies in a circle of its own with a radius from `radius`; the circles keep a `gap`, and lie in
    the circle of radius `extent`. Conductivities are uniform in log σ between the ends of `resistive` or `conductive`.
    A share `empty` of the tanks has no object.

    >>> len(ObjectSampler(seed=3, most=4).batch(0, 8))
    8
    """

    kind: ClassVar[type[Shape]] = RoundedPolygon
    seed: int
    most: int = 4
    radius: Range = (0.1, 0.5)
    extent: float = 0.96
    gap: float = 0.03
    rounding: Range = (0.005, 0.03)
    resistive: Range = (0.005, 0.16)
    conductive: Range = (4.0, 160.0)
    empty: float = 0.01
    outside: float = 1.0
    inside: float = 1.0
    disjoint: bool = True

    def __post_init__(self) -> None:
        checks.at_least("ObjectSampler: most", self.most, 1)
        for name in ("radius", "rounding", "resistive", "conductive"):
            low, high = getattr(self, name)
            if not 0 < low <= high < math.inf:
                raise InputError(f"ObjectSampler: {name}=({low}, {high}): expected 0 < low <= high")
        if not self.radius[1] < self.extent <= 1:
            raise InputError(
                f"ObjectSampler: expected radius < extent <= 1, got {self.radius[1]} and {self.extent}"
            )

    def draw(
        self, index: Int64[Tensor, "*#batch"], attempt: Attempt
    ) -> Float64[Tensor, "*batch slots parameters"]:
        """The outlines of all slots, those that are left empty too."""
        numbers = random.uniform(
            random.mixed(self.seed, "forms", 0), index, self.most * _NUMBERS, stream=attempt
        )
        u = torch.unflatten(numbers, -1, (self.most, _NUMBERS))
        place, radius, _ = self._places(index)
        corners = place[..., None, :] + radius[..., None, None] * unit_forms(u)
        rounding = torch.where(
            _form(u) < 2, _ROUND * (2 * math.pi / VERTICES) * radius, _log_between(self.rounding, u[..., 1])
        )
        # A rounding longer than an edge would cut the object down.
        shortest = (corners - corners.roll(-1, -2)).norm(dim=-1)
        edge = torch.where(shortest > 0, shortest, torch.inf).amin(-1)
        rounding = torch.where(_form(u) < 2, rounding, torch.minimum(rounding, edge / 3))
        return torch.cat([rounding[..., None], corners.flatten(-2)], -1)

    def sample(self, index: Int64[Tensor, "batch"]) -> PhantomBatch:
        """The tanks with these indices, on the device of `index`."""
        present = self._places(index)[2]
        u = random.uniform(random.mixed(self.seed, "conductivities", 0), index, 2 * self.most)
        kind, size = u[:, : self.most], u[:, self.most :]
        sigma = torch.where(
            kind < 0.5, _log_between(self.resistive, size), _log_between(self.conductive, size)
        )
        rank = torch.arange(self.most, device=index.device).expand(len(index), -1)
        group = ShapeGroup(self.kind, self.draw(index, 0), present, rank, self.outside * sigma)
        return PhantomBatch((group,), sigma.new_full((len(index),), self.outside))

    def _places(self, index: Int64[Tensor, "*batch"]) -> tuple[Tensor, Tensor, Bool[Tensor, "*batch slots"]]:
        """Centre and radius of the circle of each object, and which there are."""
        seed = random.mixed(self.seed, "places", 0)
        first = random.uniform(seed, index, 2)
        count = 1 + (first[..., 0] * self.most).long()
        count = torch.where(first[..., 1] < self.empty, 0, count)
        draws = random.uniform(seed, index, self.most * _TRIES * 3, stream=1)
        u = torch.unflatten(draws, -1, (self.most, _TRIES, 3))
        radius = _between(self.radius, u[..., 0])
        far = (self.extent - radius) * u[..., 1].sqrt()
        angle = 2 * torch.pi * u[..., 2]
        places = torch.stack([far * angle.cos(), far * angle.sin()], -1)
        return _thrown(places, radius, count, self.gap)


def unit_forms(u: Float64[Tensor, "*batch numbers"]) -> Float64[Tensor, "*batch vertices 2"]:
    """Polygons in the unit circle of the forms that the numbers say."""
    corners = torch.stack([_ellipse(u), _blob(u), _polygon(u), _rectangle(u), _cross(u), _letter(u)], -3)
    form = _form(u)[..., None, None, None].expand(*u.shape[:-1], 1, VERTICES, 2)
    chosen = corners.gather(-3, form)[..., 0, :, :]
    angle = 2 * torch.pi * u[..., 2]
    c, s = angle.cos()[..., None], angle.sin()[..., None]
    x, y = chosen.unbind(-1)
    return torch.stack([c * x - s * y, s * x + c * y], -1)


def _form(u: Float64[Tensor, "*batch numbers"]) -> Int64[Tensor, "*batch"]:
    ends = torch.tensor(_FORMS, dtype=u.dtype, device=u.device).cumsum(0)[:-1]
    return torch.bucketize(u[..., 0].contiguous(), ends)


def _thrown(
    places: Float64[Tensor, "*batch slots tries 2"],
    radius: Float64[Tensor, "*batch slots tries"],
    count: Int64[Tensor, "*batch"],
    gap: float,
) -> tuple[Tensor, Tensor, Bool[Tensor, "*batch slots"]]:
    """Circles one after the other, each at the first of its tries that keeps apart from those before."""
    centres, radii, present = [places[..., 0, 0, :]], [radius[..., 0, 0]], [count > 0]
    for slot in range(1, places.shape[-3]):
        free = (count > slot)[..., None].expand(radius[..., slot, :].shape)
        for centre, size, there in zip(centres, radii, present, strict=True):
            away = (places[..., slot, :, :] - centre[..., None, :]).norm(dim=-1)
            free = free & ((away > radius[..., slot, :] + size[..., None] + gap) | ~there[..., None])
        first = free.to(torch.int8).argmax(-1, keepdim=True)
        centres.append(
            places[..., slot, :, :].gather(-2, first[..., None].expand(*first.shape, 2))[..., 0, :]
        )
        radii.append(radius[..., slot, :].gather(-1, first)[..., 0])
        present.append(free.any(-1))
    return torch.stack(centres, -2), torch.stack(radii, -1), torch.stack(present, -1)


def _angles(u: Tensor) -> Float64[Tensor, "vertices"]:
    return torch.arange(VERTICES, dtype=u.dtype, device=u.device) * (2 * torch.pi / VERTICES)


def _polar(radius: Float64[Tensor, "*batch vertices"], angle: Tensor) -> Float64[Tensor, "*batch vertices 2"]:
    """A star with these radii, the largest 1; smoothed later, which draws it in by a known factor."""
    width = _ROUND * (2 / math.sqrt(math.pi)) * 2 * math.pi / VERTICES
    out = radius / radius.amax(-1, keepdim=True) * math.exp(width**2 / 2)
    return torch.stack([out * angle.cos(), out * angle.sin()], -1)


def _ellipse(u: Tensor) -> Float64[Tensor, "*batch vertices 2"]:
    """Circles for a third of the numbers, or ellipses down to a third of their length."""
    theta = _angles(u)
    ratio = torch.where(u[..., 3] < 1 / 3, 1.0, 1 / 3 + (2 / 3) * u[..., 4])[..., None]
    width = _ROUND * (2 / math.sqrt(math.pi)) * 2 * math.pi / VERTICES
    grown = math.exp(width**2 / 2)
    return torch.stack([theta.cos() * grown + 0 * ratio, ratio * theta.sin() * grown], -1)


def _blob(u: Tensor) -> Float64[Tensor, "*batch vertices 2"]:
    """Waves of the orders 2 to 5 on a circle."""
    theta = _angles(u)
    radius = torch.ones(*u.shape[:-1], VERTICES, dtype=u.dtype, device=u.device)
    for k, order in enumerate(range(2, 6)):
        height = 0.5 * u[..., 3 + 2 * k, None] / order**0.5 * 0.7
        radius = radius + height * torch.cos(order * theta + 2 * torch.pi * u[..., 4 + 2 * k, None])
    return _polar(radius.clamp(min=0.2), theta)


def _polygon(u: Tensor) -> Float64[Tensor, "*batch vertices 2"]:
    """Three to eight corners at even angles, even or uneven distances: convex or stars."""
    corners = 3 + (6 * u[..., 3]).long()
    number = torch.arange(VERTICES, device=u.device).expand(*u.shape[:-1], -1)
    number = torch.minimum(number, corners[..., None] - 1)
    turn = (number + 0.4 * (u[..., 4:].gather(-1, number % 8) - 0.5)) * (2 * torch.pi / corners[..., None])
    uneven = torch.where(u[..., 4] < 0.5, 0.15, 0.6)[..., None]
    radius = 1 - uneven * u[..., 5:].gather(-1, (number * 3) % 8)
    return torch.stack([radius * turn.cos(), radius * turn.sin()], -1)


def _rectangle(u: Tensor) -> Float64[Tensor, "*batch vertices 2"]:
    """Squares for a quarter of the numbers, or rectangles down to a fifth of their length."""
    ratio = torch.where(u[..., 3] < 0.25, 1.0, 0.2 + 0.8 * u[..., 4])
    size = (1 + ratio.square()).rsqrt()
    x, y = size, size * ratio
    return _listed([(-x, -y), (x, -y), (x, y), (-x, y)])


def _cross(u: Tensor) -> Float64[Tensor, "*batch vertices 2"]:
    """Crosses of two equal bars."""
    share = 0.2 + 0.3 * u[..., 3]
    a = (1 + share.square()).rsqrt()
    b = a * share
    return _listed(
        [
            (a, -b),
            (a, b),
            (b, b),
            (b, a),
            (-b, a),
            (-b, b),
            (-a, b),
            (-a, -b),
            (-b, -b),
            (-b, -a),
            (b, -a),
            (b, -b),
        ]
    )


def _letter(u: Tensor) -> Float64[Tensor, "*batch vertices 2"]:
    """Letters L, and triangles with a right angle for a third of the numbers."""
    a = torch.full_like(u[..., 0], 0.7)
    b = -0.7 + 1.4 * (0.25 + 0.3 * u[..., 4])
    b = torch.where(u[..., 3] < 1 / 3, 0.0, b)
    return _listed(
        [
            (-a, -a),
            (a, -a),
            (a, torch.where(b == 0, -a * 0.98, b)),
            (b, b),
            (torch.where(b == 0, -a * 0.98, b), a),
            (-a, a),
        ]
    )


def _listed(corners: list[tuple[Tensor, Tensor]]) -> Float64[Tensor, "*batch vertices 2"]:
    rows = [torch.stack(corner, -1) for corner in corners]
    return torch.stack([*rows, *rows[-1:] * (VERTICES - len(rows))], -2)


def _between(limits: Range, u: Tensor) -> Tensor:
    return limits[0] + (limits[1] - limits[0]) * u


def _log_between(limits: Range, u: Tensor) -> Tensor:
    return limits[0] * (limits[1] / limits[0]) ** u
