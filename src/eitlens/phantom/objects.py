"""Random objects as they are put into tanks: of many forms, some that conduct better and some worse than the water."""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import torch
from jaxtyping import Bool, Float64, Int64
from torch import Tensor

from eitlens import checks, random
from eitlens.domain.base import Domain
from eitlens.errors import ConvergenceError, InputError
from eitlens.phantom.base import Shape
from eitlens.phantom.batch import PhantomBatch, ShapeGroup
from eitlens.phantom.ellipse import Ellipse
from eitlens.phantom.sampling import Attempt, Range, Sampler
from eitlens.phantom.smooth import RoundedPolygon, Star

FORMS = (
    "circle",
    "ellipse",
    "polygon",
    "rectangle",
    "cross",
    "star",
    "angle",
    "half disk",
    "three arms",
    "arc",
)
_KINDS = (0, 0, 1, 1, 1, 2, 1, 1, 1, 1)
"""Of each form: an ellipse, a rounded polygon or a star."""
_NUMBERS = 18
"""Uniform numbers an object is made of beside its circle: form, angle, proportions, kind and size of σ, corners, 12."""
_CORNERS = 12
"""Of a cross, a half disk and an arc; polygons have 3 to 6."""
_SLIMMEST, _ARMS = 0.25, (0.25, 0.5)
"""The least proportion of an ellipse or rectangle, and the width of bars of crosses and angles over their length."""
_POLYGON = 0.7
"""The least distance of a polygon's corner from the centre, over its size."""
_RADIUS, _WAVE = 0.75, 0.08
"""Radius of a star and the most height of each of its three waves, over its size."""
_BRANCH, _HALF_ARC, _HOLLOW = (0.15, 0.35), (0.3, 0.65), (0.4, 0.7)
"""Half the width of three arms, half the angle of an arc over π, and its inner radius, for the outer size 1."""
_QUARTERS = ((1, 0), (0, 1), (-1, 0), (0, -1))
_ARM = (((1, 0), (0, -1)), ((1, 0), (0, 1)), ((0, 1), (0, 1)))
"""Three corners of a cross: x and y, each as multiples of half a bar's length and half its width."""
_AROUND = 256
"""Points of an outline: closer together than objects may be, so that outlines that cross are noticed."""
_WALL = 256
"""Points of the body's boundary."""
_FARTHEST = 4
"""Times the gap, between objects that were moved together."""
_TRIES, _ROUNDS = 16, 64
"""Places at once that are tried for an object, and how often before giving up."""
Objects = Float64[Tensor, "batch objects numbers"]
Circles = Float64[Tensor, "batch objects 3"]
"""Centre and radius."""


class _Rows(NamedTuple):
    """The objects in each of three kinds of shapes, and which of them each is."""

    ellipse: Float64[Tensor, "batch objects 5"]
    polygon: Float64[Tensor, "batch objects 24"]
    star: Float64[Tensor, "batch objects 11"]
    kind: Int64[Tensor, "batch objects"]


@dataclass(frozen=True)
class ObjectSampler(Sampler):
    """Random objects in a tank: one to `count` circles, polygons, crosses and others (`FORMS`).

    All forms and all numbers of objects are equally likely. Each object has a circle of its own, of a radius from
    `size`, in which it just fits. They are placed one after the other: each circle stays `gap` away from the boundary
    of the body and, with `disjoint`, from the others. With equal chances an object conducts worse or better than the
    body around: σ / `outside` is from `resistive` or from `conductive`, and its logarithm is uniform there. Corners are
    rounded by `radius`. Lengths are in units of the body's coordinates. An object that finds no place is an error, or
    left out where the tank may be `crowded`. A share `huddled` of the objects is then moved straight towards another
    object or the boundary, until the outlines are one to four times `gap` apart.

    >>> phantom = eit.ObjectSampler(seed=3, body=eit.Disk(32)).phantom(1)
    >>> len(phantom.shapes), [0.01 <= sigma <= 100 for sigma in phantom.inside]
    (1, [True])
    """

    kind: ClassVar[type[Shape]] = RoundedPolygon
    """One of three kinds, all of them smooth."""
    seed: int
    body: Domain
    count: int = 4
    size: Range = (0.1, 0.35)
    disjoint: bool = True
    gap: float = 0.04
    outside: float = 1.0
    resistive: Range = (0.01, 0.5)
    conductive: Range = (2.0, 100.0)
    radius: float = 0.01
    crowded: bool = False
    huddled: float = 0.0

    def __post_init__(self) -> None:
        checks.at_least("ObjectSampler: count", self.count, 1)
        for name, least, most in (("size", 0.0, 1.0), ("resistive", 0.0, 1.0), ("conductive", 1.0, math.inf)):
            low, high = checks.physics(getattr(self, name), name).tolist()
            object.__setattr__(self, name, (low, high))
            if not least < low <= high < most:
                raise InputError(f"{name}=({low}, {high}): expected {least:g} < low <= high < {most:g}")
        if not 0 <= self.gap < 1:
            raise InputError(f"ObjectSampler: expected a gap from 0 to 1, got {self.gap}")
        if not 0 <= self.huddled <= 1:
            raise InputError(f"ObjectSampler: expected huddled from 0 to 1, got {self.huddled}")
        if self.huddled and not (self.disjoint and self.gap):
            raise InputError("ObjectSampler: huddled objects keep a gap: set disjoint and gap, or huddled=0")
        checks.positive_number(self.outside, "outside conductivity")
        checks.positive_number(self.radius, "ObjectSampler: radius")

    def draw(self, index: Int64[Tensor, "batch"], attempt: Attempt = 0) -> Objects:
        """Uniform numbers of the objects, without their places."""
        u = random.uniform(self.seed, index, _NUMBERS * self.count, stream=attempt)
        return torch.unflatten(u, -1, (self.count, _NUMBERS))

    def sample(self, index: Int64[Tensor, "batch"]) -> PhantomBatch:
        """The phantoms with these indices, on the device of `index`."""
        rank = torch.arange(self.count, device=index.device)
        many = random.uniform(random.mixed(self.seed, "objects", 0), index, 1)
        present = rank <= torch.floor(many * self.count)
        circles, present = self._placed(index, present)
        u = self.draw(index)
        if self.huddled:
            circles = self._together(index, u, circles, present)
        groups = self._shapes(u, circles, present)
        return PhantomBatch(groups, u.new_full((len(index),), self.outside))

    def _shapes(
        self, u: Objects, circles: Circles, present: Bool[Tensor, "batch objects"]
    ) -> tuple[ShapeGroup, ...]:
        """The objects in their circles, by kind of shape."""
        rank = torch.arange(self.count, device=u.device).expand(len(u), -1)
        shapes, inside = _rows(u, circles), self._conductivity(u)
        rounded = torch.cat([torch.full_like(circles[..., :1], self.radius), shapes.polygon], -1)
        kinds: tuple[tuple[type[Shape], Tensor], ...] = (
            (Ellipse, shapes.ellipse),
            (RoundedPolygon, rounded),
            (Star, shapes.star),
        )
        return tuple(
            ShapeGroup(kind, parameters, present & (shapes.kind == k), rank, inside)
            for k, (kind, parameters) in enumerate(kinds)
        )

    def _together(
        self,
        index: Int64[Tensor, "batch"],
        u: Objects,
        circles: Circles,
        present: Bool[Tensor, "batch objects"],
    ) -> Circles:
        """The circles after some objects were moved to another one or to the boundary, where there is room."""
        v = random.uniform(random.mixed(self.seed, "huddled", 0), index, 3 * self.count)
        moved, target, distance = torch.unflatten(v, -1, (self.count, 3)).unbind(-1)
        outlines = self._outlines(u, circles, present)
        circles, length = circles.clone(), self.body.perimeter
        wall = self.body.place(torch.arange(_WALL, dtype=torch.float64) * (length / _WALL)).to(circles)
        for k in range(self.count):
            # The object itself stands for the boundary.
            chosen = torch.floor(target[:, k] * (present.sum(1))).long()
            beside = outlines[torch.arange(len(u)), chosen]
            wanted = self.gap * (1 + (_FARTHEST - 1) * distance[:, k])
            step = torch.where(
                (chosen == k)[:, None],
                _step(outlines[:, k], wall, wanted),
                _step(outlines[:, k], beside, wanted),
            )
            trial = outlines[:, k] + step[:, None]
            clear = self.body.clearance(trial.flatten(0, 1)).view(trial.shape[:2]).amin(-1) > self.gap
            for j in (j for j in range(self.count) if j != k):
                near = torch.cdist(trial, outlines[:, j]).amin((-2, -1)) < self.gap
                near |= _encloses(outlines[:, j], trial[:, 0]) | _encloses(trial, outlines[:, j, 0])
                clear &= ~(near & present[:, j])
            goes = clear & present[:, k] & (moved[:, k] < self.huddled)
            circles[goes, k, :2] += step[goes]
            outlines[goes, k] = trial[goes]
        return circles

    def _outlines(
        self, u: Objects, circles: Circles, present: Bool[Tensor, "batch objects"]
    ) -> Float64[Tensor, "batch objects nodes 2"]:
        """Points around each object; of one that is not there, zeros."""
        found = circles.new_zeros(*present.shape, _AROUND, 2)
        for group in self._shapes(u, circles, present):
            found[group.present] = group.kind.curve(group.parameters[group.present], _AROUND).point
        return found

    def _placed(
        self, index: Int64[Tensor, "batch"], present: Bool[Tensor, "batch objects"]
    ) -> tuple[Circles, Bool[Tensor, "batch objects"]]:
        """The circles, and which objects there are; circles of others are somewhere in the middle."""
        found = torch.zeros(len(index), self.count, 3, dtype=torch.float64, device=index.device)
        found[..., 2] = self.size[0]
        for k in range(self.count):
            left = torch.nonzero(present[:, k]).flatten()
            for block in range(_ROUNDS):
                if not len(left):
                    break
                u = random.uniform(self._places(block), index[left], 3 * _TRIES, stream=k)
                trial = self._circles(torch.unflatten(u, -1, (_TRIES, 3)))
                good = self._fits(trial, found[left, : k if self.disjoint else 0])
                done, first = good.any(1), good.to(torch.int8).argmax(1)
                found[left[done], k] = trial[done, first[done]]
                left = left[~done]
            if len(left) and self.crowded:
                present = present.index_put((left, torch.tensor(k, device=index.device)), torch.tensor(False))
                found[left, k] = found.new_tensor([0.0, 0.0, self.size[0]])
            elif len(left):
                raise ConvergenceError(
                    f"object {k + 1} of a radius from {self.size} finds no place in the {self.body.name} in "
                    f"{_ROUNDS * _TRIES} draws: take fewer or smaller objects, or a smaller gap (now {self.gap})"
                )
        return found, present

    def _places(self, block: int) -> int:
        return random.mixed(self.seed, "places", block)

    def _circles(self, u: Float64[Tensor, "batch tries 3"]) -> Float64[Tensor, "batch tries 3"]:
        """Anywhere in the box around the body."""
        radius = self.size[0] + (self.size[1] - self.size[0]) * u[..., 2:]
        return torch.cat([2 * u[..., :2] - 1, radius], -1)

    def _fits(self, trial: Float64[Tensor, "batch tries 3"], others: Circles) -> Bool[Tensor, "batch tries"]:
        """Whether a circle is in the body and apart from the others."""
        room = self.body.clearance(trial[..., :2]) - trial[..., 2] > self.gap
        apart = trial[:, :, None, :2] - others[:, None, :, :2]
        reach = trial[:, :, None, 2] + others[:, None, :, 2] + self.gap
        fits: Tensor = room & (apart.square().sum(-1) > reach.square()).all(-1)
        return fits

    def _conductivity(self, u: Objects) -> Float64[Tensor, "batch objects"]:
        ends = torch.tensor([self.resistive, self.conductive], dtype=torch.float64, device=u.device)
        low, high = ends.log()[(u[..., 3] >= 0.5).long()].unbind(-1)
        return self.outside * torch.exp(low + (high - low) * u[..., 4])


def _step(
    outline: Float64[Tensor, "batch nodes 2"],
    other: Float64[Tensor, "*#batch others 2"],
    distance: Float64[Tensor, "batch"],
) -> Float64[Tensor, "batch 2"]:
    """The step of an outline straight to the nearest point of another, up to a distance from it."""
    apart, nearest = torch.cdist(outline, other.expand(len(outline), -1, -1)).flatten(1).min(-1)
    body, many = torch.arange(len(outline), device=outline.device), other.shape[-2]
    way = other.expand(len(outline), -1, -1)[body, nearest % many] - outline[body, nearest // many]
    return way * (1 - distance / apart.clamp(min=1e-12))[:, None]


def _encloses(
    outline: Float64[Tensor, "batch nodes 2"], point: Float64[Tensor, "batch 2"]
) -> Bool[Tensor, "batch"]:
    """Whether a point is inside: its ray to the right crosses the outline an odd number of times."""
    x, y = (outline - point[:, None]).unbind(-1)
    next_x, next_y = x.roll(-1, 1), y.roll(-1, 1)
    crossed = (y <= 0) != (next_y <= 0)
    slope = (next_x - x) / torch.where(crossed, next_y - y, 1.0)
    odd: Tensor = (crossed & (x - y * slope > 0)).sum(1) % 2 == 1
    return odd


def _rows(u: Objects, circles: Circles) -> _Rows:
    """The shapes in their circles."""
    form = torch.floor(u[..., 0] * len(FORMS)).long()
    center, size = circles[..., :2], circles[..., 2:]
    slim = torch.where(form[..., None] == 0, 1.0, _SLIMMEST + (1 - _SLIMMEST) * u[..., 2:3])
    ellipse = torch.cat([center, size, slim * size, 2 * math.pi * u[..., 1:2]], -1)
    corners = torch.where((form == 3)[..., None, None], _rectangle(slim), _polygon(u))
    for number, made in ((4, _cross), (6, _angle), (7, _half_disk), (8, _three_arms), (9, _arc)):
        corners = torch.where((form == number)[..., None, None], made(u), corners)
    polygon = center[..., None, :] + size[..., None] * _turned(corners, u[..., 1, None])
    cos, sin = random.turn(u[..., 9:12])
    waves = (_WAVE * size * u[..., 6:9])[..., None] * torch.stack([cos, sin], -1)
    star = torch.cat([center, _RADIUS * size, torch.zeros_like(center), waves.flatten(-2)], -1)
    kind = torch.tensor(_KINDS, device=u.device)[form]
    return _Rows(ellipse, polygon.flatten(-2), star, kind)


def _turned(
    corners: Float64[Tensor, "*batch corners 2"], turns: Tensor
) -> Float64[Tensor, "*batch corners 2"]:
    (cos, sin), (x, y) = random.turn(turns), corners.unbind(-1)
    return torch.stack([cos * x - sin * y, sin * x + cos * y], -1)


def _polygon(u: Objects) -> Float64[Tensor, "*batch 12 2"]:
    """Three to six corners, one in each sector of equal angle; the last again and again."""
    count = 3 + torch.floor(4 * u[..., 5:6])
    number = torch.minimum(torch.arange(_CORNERS, device=u.device), count - 1).long()
    jitter, length = u[..., 6:12].gather(-1, number), u[..., 12:18].gather(-1, number)
    cos, sin = random.turn((number + 0.5 * jitter) / count)
    distance = _POLYGON + (1 - _POLYGON) * length
    return torch.stack([distance * cos, distance * sin], -1)


def _rectangle(slim: Float64[Tensor, "*batch 1"]) -> Float64[Tensor, "*batch 12 2"]:
    """Four corners at the distance 1; the last again and again."""
    signs = slim.new_tensor([(-1, -1), (1, -1), (1, 1), *[(-1, 1)] * 9])
    half = torch.cat([torch.ones_like(slim), slim], -1) / (1 + slim.square()).sqrt()
    return signs * half[..., None, :]


def _cross(u: Objects) -> Float64[Tensor, "*batch 12 2"]:
    """Twelve corners, eight of them at the distance 1."""
    width = _ARMS[0] + (_ARMS[1] - _ARMS[0]) * u[..., 2:3]
    half = torch.cat([torch.ones_like(width), width], -1) / (1 + width.square()).sqrt()
    x, y = (u.new_tensor(_ARM) @ half[..., None, :, None])[..., 0].unbind(-1)
    arms = [torch.stack([c * x - s * y, s * x + c * y], -1) for c, s in _QUARTERS]
    return torch.cat(arms, -2)


def _angle(u: Objects) -> Float64[Tensor, "*batch 12 2"]:
    """The six corners of an L of two equal bars, the outermost two at the distance 1; the last again and again."""
    width = 2 * (_ARMS[0] + (_ARMS[1] - _ARMS[0]) * u[..., 2:3])[..., None]
    ends = u.new_tensor([(-1, -1), (1, -1), (1, -1), (-1, -1), (-1, 1), *[(-1, 1)] * 7])
    wide = u.new_tensor([(0, 0), (0, 0), (0, 1), (1, 1), (1, 0), *[(0, 0)] * 7])
    corners: Tensor = (ends + wide * width) / math.sqrt(2)
    return corners


def _half_disk(u: Objects) -> Float64[Tensor, "*batch 12 2"]:
    """Twelve corners on a half circle of radius 1."""
    angle = torch.linspace(0, math.pi, _CORNERS, dtype=u.dtype, device=u.device)
    corners = torch.stack([angle.cos(), angle.sin()], -1)
    return corners.expand(*u.shape[:-1], -1, -1)


def _three_arms(u: Objects) -> Float64[Tensor, "*batch 12 2"]:
    """Nine corners, six of them at the distance 1; the last again and again."""
    half = _BRANCH[0] + (_BRANCH[1] - _BRANCH[0]) * u[..., 2:3]
    reach, notch = (1 - half.square()).sqrt(), half / math.sqrt(3)
    arm = torch.stack([torch.cat([x, y], -1) for x, y in ((reach, -half), (reach, half), (notch, half))], -2)
    arms = [_turned(arm, half.new_full((1,), k / 3)) for k in range(3)]
    last = arms[-1][..., -1:, :].expand(*arm.shape[:-2], _CORNERS - 9, 2)
    return torch.cat([*arms, last], -2)


def _arc(u: Objects) -> Float64[Tensor, "*batch 12 2"]:
    """A piece of a ring: six corners at the distance 1, then six inside."""
    (least, most), (low, high) = _HALF_ARC, _HOLLOW
    half = math.pi * (least + (most - least) * u[..., 2:3])
    angle = half * torch.linspace(-1, 1, _CORNERS // 2, dtype=u.dtype, device=u.device)
    outer = torch.stack([angle.cos(), angle.sin()], -1)
    inner = (low + (high - low) * u[..., 5:6, None]) * outer.flip(-2)
    return torch.cat([outer, inner], -2)
