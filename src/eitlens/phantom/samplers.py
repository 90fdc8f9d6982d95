"""Random phantoms of ellipses or of polygons."""

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float64, Int64
from torch import Tensor

from eitlens import checks, random
from eitlens.errors import InputError
from eitlens.phantom.base import Shape
from eitlens.phantom.ellipse import Ellipse
from eitlens.phantom.polygon import Polygon
from eitlens.phantom.sampling import Attempt, Range, Sampler

PER_ELLIPSE = 5
"""Uniform numbers an ellipse is made of."""
_MOST = 1_000_000  # shapes of a phantom: their numbers fill 40 MB
EllipseRows = Float64[Tensor, "*batch ellipses 5"]
"""Parameters of several ellipses: (cx, cy, a, b, angle)."""


@dataclass(frozen=True)
class EllipseSampler(Sampler):
    """The paper's phantoms: `count` ellipses, one semi-axis from `short`, the other from `long`, any angle.

    Each centre is uniform such that the ellipse's bounding box stays in |x|, |y| <= `extent`.

    >>> len(eit.EllipseSampler(seed=7).phantom(0).shapes)
    4
    """

    kind: ClassVar[type[Shape]] = Ellipse
    seed: int
    count: int = 4
    short: Range = (0.1, 0.2)
    long: Range = (0.2, 0.4)
    extent: float = 0.95
    disjoint: bool = False
    gap: float = 0.04
    inside: float = 10.0
    outside: float = 1.0

    def __post_init__(self) -> None:
        _check(self, math.pi * self.short[0] * self.long[0], short=self.short, long=self.long)

    def draw(
        self, index: Int64[Tensor, "*#batch"], attempt: Attempt
    ) -> Float64[Tensor, "*batch {self.count} 5"]:
        """One draw of the configuration, not yet checked for overlaps."""
        numbers = random.uniform(self.seed, index, PER_ELLIPSE * self.count, stream=attempt)
        u = torch.unflatten(numbers, -1, (self.count, PER_ELLIPSE))
        a, b = _between(self.short, u[..., 2]), _between(self.long, u[..., 3])
        cos, sin = random.turn(u[..., 4])
        from_a, from_b = torch.stack([a * cos, a * sin], -1), torch.stack([b * sin, b * cos], -1)
        room = self.extent - (from_a.square() + from_b.square()).sqrt()
        return torch.cat([room * (2 * u[..., :2] - 1), torch.stack([a, b, 2 * torch.pi * u[..., 4]], -1)], -1)


@dataclass(frozen=True)
class PolygonSampler(Sampler):
    """Random phantoms: `count` star-shaped polygons of `corners` vertices at distances from `radius` about a centre.

    >>> len(eit.PolygonSampler(seed=7, corners=6).phantom(0).shapes[0].vertices)
    6
    """

    kind: ClassVar[type[Shape]] = Polygon
    seed: int
    count: int = 4
    corners: int = 5
    radius: Range = (0.12, 0.35)
    extent: float = 0.95
    disjoint: bool = False
    gap: float = 0.04
    inside: float = 10.0
    outside: float = 1.0

    def __post_init__(self) -> None:
        checks.at_least("PolygonSampler: corners", self.corners, 3)
        _check(self, self._least_area(), radius=self.radius)

    def draw(
        self, index: Int64[Tensor, "*#batch"], attempt: Attempt
    ) -> Float64[Tensor, "*batch {self.count} parameters"]:
        """One draw: vertex m lies in the m-th sector of equal angle, so the polygon is star-shaped."""
        each = 2 * self.corners + 3
        numbers = random.uniform(self.seed, index, each * self.count, stream=attempt)
        u = torch.unflatten(numbers, -1, (self.count, each))
        sector = torch.arange(self.corners, device=index.device)
        # A jitter of half a sector keeps every angle between neighbours below π, for a triangle too.
        cos, sin = random.turn(((sector + 0.5 * u[..., : self.corners] + u[..., -1:]) / self.corners) % 1)
        length = _between(self.radius, u[..., self.corners : 2 * self.corners])
        arm = torch.stack([length * cos, length * sin], -1)
        low, high = -self.extent - arm.amin(-2), self.extent - arm.amax(-2)
        center = low + (high - low) * u[..., -3:-1]
        return (center[..., None, :] + arm).flatten(-2)

    def _least_area(self) -> float:
        """A bound of Σ r r' sin(Δ)/2 over neighbours from below.

        The c angles Δ lie between π/c and 3π/c (see `draw`) and have the mean 2π/c; there the sine is above its chord.
        """
        sector = math.pi / self.corners
        return self.corners * self.radius[0] ** 2 * (math.sin(sector) + math.sin(3 * sector)) / 4


def _between(limits: Range, u: Tensor) -> Tensor:
    return limits[0] + (limits[1] - limits[0]) * u


def _check(sampler: EllipseSampler | PolygonSampler, least_area: float, **ranges: Range) -> None:
    """Refuse settings that no phantom can have; `least_area` is the area of the smallest shape."""
    count, extent, gap = sampler.count, sampler.extent, sampler.gap
    checks.at_least(f"{type(sampler).__name__}: count", count, 1)
    if not (0 < extent <= 1 and 0 <= gap < float("inf")):
        raise InputError(f"expected 0 < extent <= 1 and a gap of at least 0, got {extent} and {gap}")
    for name, (low, high) in ranges.items():
        if not 0 < low <= high < extent:
            raise InputError(f"{name}=({low}, {high}): expected 0 < low <= high < extent={extent}")
    checks.positive_number(sampler.inside, "inside conductivity")
    checks.positive_number(sampler.outside, "outside conductivity")
    room = (2 * extent) ** 2
    if sampler.disjoint and count * least_area > room:
        raise InputError(
            f"{count} disjoint shapes with an area of at least {least_area:.2g} each do not fit into "
            f"|x|, |y| <= {extent}, an area of {room:.2g}: take fewer or smaller shapes"
        )
    checks.size(count, f"{type(sampler).__name__}: count", _MOST)
