"""Random bodies of many worlds: inclusions of any number, form and contrast, phases, smooth conductivities."""

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from jaxtyping import Float64, Int64
from torch import Tensor

from eitlens import checks, random
from eitlens.checks import choose
from eitlens.domain.base import Domain
from eitlens.errors import InputError
from eitlens.phantom.base import Shape
from eitlens.phantom.batch import PhantomBatch, ShapeGroup
from eitlens.phantom.ellipse import Ellipse
from eitlens.phantom.medium import WAVES, Medium, random_waves
from eitlens.phantom.objects import ObjectSampler
from eitlens.phantom.polygon import Polygon
from eitlens.phantom.samplers import EllipseSampler
from eitlens.phantom.sampling import Attempt, Range, Sampler
from eitlens.phantom.smooth import RoundedPolygon, Star

WORLDS = ("paper", "paper-disjoint", "inclusions", "inclusions-disjoint", "phases", "smooth", "mixed")
_SHAPED, _PAPERS = ("inclusions", "inclusions-disjoint", "mixed"), ("paper", "paper-disjoint")
_KINDS: tuple[tuple[type[Shape], int], ...] = ((Ellipse, 5), (Polygon, 24), (Star, 11))
"""The kinds of shapes of every batch, and the numbers of a row of each."""
_LENGTH: Range = (0.15, 0.6)
"""Correlation lengths of random fields, over half the side: from a fine grain to a slow change."""
_LEVEL: Range = (0.2, 1.2)
"""Where phases are cut, in standard deviations: an area of 11 to 42 % before the window."""
_SMOOTH, _TEXTURE = (0.2, 1.5), (0.05, 0.4)
"""Standard deviation of log σ of smooth bodies, and of the texture of mixed ones."""
Rows = Int64[Tensor, "rows"]


@dataclass(frozen=True)
class WorldSampler(Sampler):
    """Random bodies, each of one of the `worlds`, all of which are equally likely; name one twice to see it twice.

    `paper` and `paper-disjoint`: the paper's four ellipses of contrast 10, that may overlap or stay apart.
    `inclusions` and `inclusions-disjoint`: none to `count` shapes of all forms of `ObjectSampler`, with sharp corners.
    Half the bodies have one conductivity for all shapes, the others one for each; its logarithm is uniform in
    `resistive` or `conductive`. `phases`: where a random field is above a level, and where it is below another.
    `smooth`: log σ is a random field. `mixed`: inclusions in a body whose conductivity varies smoothly, as theirs does.

    >>> worlds = eit.WorldSampler(seed=7, body=eit.Square(32), worlds=("inclusions-disjoint", "smooth"))
    >>> worlds.batch(0, 8).conductivity(eit.Square(32).nodes().flatten(0, 1)[None]).shape
    torch.Size([8, 1089])
    """

    kind: ClassVar[type[Shape]] = Ellipse
    """One of three."""
    seed: int
    body: Domain
    count: int = 6
    worlds: tuple[str, ...] = WORLDS
    size: Range = (0.1, 0.4)
    disjoint: bool = False
    gap: float = 0.05
    outside: float = 1.0
    inside: float = 10.0
    resistive: Range = (0.01, 0.5)
    conductive: Range = (2.0, 100.0)

    def __post_init__(self) -> None:
        checks.at_least("WorldSampler: count", self.count, 1)
        object.__setattr__(self, "worlds", tuple(self.worlds))
        if not self.worlds:
            raise InputError(f"WorldSampler: expected at least one world of {', '.join(WORLDS)}")
        for name in self.worlds:
            choose("WorldSampler: worlds", name, WORLDS)
        if self.body.name != "square":
            raise InputError(
                f"WorldSampler: it fills the square, got the {self.body.name}: use ObjectSampler"
            )
        if self.disjoint:
            raise InputError("WorldSampler: the worlds say what is disjoint: leave disjoint out")
        self._objects(WORLDS[0])

    def draw(self, index: Int64[Tensor, "batch"], attempt: Attempt = 0) -> Int64[Tensor, "batch"]:
        """The number of each sample's world."""
        u = random.uniform(self._use("world"), index, 1, stream=attempt)[:, 0]
        return (u * len(self.worlds)).long()

    def sample(self, index: Int64[Tensor, "batch"]) -> PhantomBatch:
        """The bodies with these indices, on the device of `index`."""
        chosen, slots = self.draw(index), max(self.count, 4)
        whole = _blank(len(index), slots, index.device, self.outside)
        for name in dict.fromkeys(self.worlds):
            numbers = torch.tensor([k for k, world in enumerate(self.worlds) if world == name])
            rows = torch.isin(chosen, numbers.to(index.device)).nonzero().flatten()
            if len(rows):
                _put(whole, rows, self._shapes(name, index[rows]))
                _put_medium(whole, rows, self._medium(name, index[rows]))
        return whole

    def _shapes(self, world: str, index: Int64[Tensor, "batch"]) -> tuple[ShapeGroup, ...]:
        if world in _PAPERS:
            apart = world == "paper-disjoint"
            paper = EllipseSampler(self._use(world), disjoint=apart, inside=self.inside * self.outside)
            return paper.sample(index).groups
        return self._inclusions(world, index) if world in _SHAPED else ()

    def _inclusions(self, world: str, index: Int64[Tensor, "batch"]) -> tuple[ShapeGroup, ...]:
        """None to `count` shapes; half the bodies have one conductivity for all."""
        u = random.uniform(self._use(f"{world} contrast"), index, 2)
        some, alike = u[:, :1] * (self.count + 1) >= 1, u[:, 1:] < 0.5
        groups = self._objects(world).sample(index).groups
        return tuple(
            _sharp(
                replace(
                    group,
                    present=group.present & some,
                    inside=torch.where(alike, group.inside[:, :1], group.inside),
                )
            )
            for group in groups
        )

    def _objects(self, world: str) -> ObjectSampler:
        return ObjectSampler(
            self._use(f"{world} objects"),
            self.body,
            self.count,
            self.size,
            world == "inclusions-disjoint",
            self.gap,
            self.outside,
            self.resistive,
            self.conductive,
            crowded=True,
        )

    def _medium(self, world: str, index: Int64[Tensor, "batch"]) -> Medium:
        """The medium of some bodies of one world; uniform in most worlds."""
        u = random.uniform(self._use("medium"), index, 7)
        length = _between(_LENGTH, u[:, 0])
        zero = u.new_zeros(len(index), WAVES, WAVES)
        levels, values = u.new_full((len(index), 2), math.inf), u.new_ones(len(index), 2)
        if world == "phases":
            # A third has the conductive phase alone, a third the resistive one, a third both.
            there = torch.stack([u[:, 1] < 2 / 3, u[:, 1] >= 1 / 3], -1)
            low, high = _LEVEL
            levels = torch.where(there, low + (high - low) * u[:, 2:4], math.inf)
            values = torch.stack([_between(self.conductive, u[:, 4]), _between(self.resistive, u[:, 5])], -1)
            return Medium(self._field(index, length), levels, values, zero)
        spread = {"smooth": _SMOOTH, "mixed": _TEXTURE}.get(world)
        texture = (
            zero if spread is None else self._field(index, length) * _between(spread, u[:, 6])[:, None, None]
        )
        return Medium(zero, levels, values, texture)

    def _field(self, index: Int64[Tensor, "batch"], length: Tensor) -> Float64[Tensor, "batch waves waves"]:
        normal = random.normal(self._use("field"), index, WAVES**2)
        return random_waves(torch.unflatten(normal, -1, (WAVES, WAVES)), length)

    def _use(self, name: str) -> int:
        return random.mixed(self.seed, f"worlds {name}", 0)


def _between(limits: Range, u: Tensor) -> Tensor:
    """Log-uniform between the limits."""
    low, high = math.log(limits[0]), math.log(limits[1])
    return torch.exp(low + (high - low) * u)


def _sharp(group: ShapeGroup) -> ShapeGroup:
    """The same shapes; rounded polygons with their sharp corners, which a grid has no use to round."""
    if group.kind is not RoundedPolygon:
        return group
    return replace(group, kind=Polygon, parameters=group.parameters[..., 1:])


def _blank(count: int, slots: int, device: torch.device, outside: float) -> PhantomBatch:
    """A batch of empty bodies with slots for shapes of each kind."""

    def group(kind: type[Shape], width: int) -> ShapeGroup:
        ones = torch.ones(count, slots, width, dtype=torch.float64, device=device)
        empty = torch.zeros(count, slots, dtype=torch.bool, device=device)
        return ShapeGroup(kind, ones, empty, empty.long(), ones[..., 0].clone())

    waves = torch.zeros(count, WAVES, WAVES, dtype=torch.float64, device=device)
    pair = torch.ones(count, 2, dtype=torch.float64, device=device)
    medium = Medium(waves, pair * math.inf, pair, waves.clone())
    groups = tuple(group(kind, width) for kind, width in _KINDS)
    return PhantomBatch(groups, pair[:, 0] * outside, medium)


def _put(whole: PhantomBatch, rows: Rows, groups: tuple[ShapeGroup, ...]) -> None:
    """Write shapes into some samples of a batch."""
    for group in groups:
        (target,) = (one for one in whole.groups if one.kind is group.kind)
        for name, part in group.tensors.items():
            target.tensors[name][rows, : part.shape[1]] = part


def _put_medium(whole: PhantomBatch, rows: Rows, medium: Medium) -> None:
    """Write a medium into some samples of a batch."""
    assert whole.medium is not None
    for name, part in medium.tensors.items():
        whole.medium.tensors[name][rows] = part
