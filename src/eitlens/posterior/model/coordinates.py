"""The prior in coordinates without bounds, in which the sampler moves.

An ellipse of `EllipseSampler` is five uniform numbers u: its centre within the room its own width leaves, its
two semi-axes, its angle. The sampler moves in z = (logit u₀, …, logit u₃, angle): the uniform prior becomes
the logistic density Π u(1 - u), smooth, and flat in the angle, whose period nobody needs to know. What is
left of the prior is the condition that the ellipses stay apart, a yes or no.

A guide knows the ellipses as ordered numbers that are uniform in [0, 1) under the prior. The order is by the distance
of the centre from the boundary: the data tell most about the first ellipse and least about the last, which can then be
drawn anew given the others.
"""

import math
from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float64
from torch import Tensor
from torch.nn.functional import logsigmoid

from eitlens.domain import Domain
from eitlens.errors import InputError
from eitlens.phantom import Ellipse, EllipseSampler
from eitlens.phantom.samplers import PER_ELLIPSE
from eitlens.phantom.samplers import EllipseRows as Rows

Z = Float64[Tensor, "*batch parameters"]
# Precision of the logistic density; for the angle, nine times that of half a turn: the data bend most with it,
# and shorter steps in the angle let all the others be longer (measured: by 1.7).
_PRECISION = (1 / 3, 1 / 3, 1 / 3, 1 / 3, 9 * 12 / torch.pi**2)
_FAR = 30.0  # logit u beyond this is the wall of the prior to rounding: 1 - u < 1e-13
_ELSEWHERE = 2**40  # where draws begin in the prior's sequence, beyond any data set: see `Coordinates.draw`
EDGE = 1e-12  # the least distance of a number u from 0 and from 1, inside that wall
_ANGLE = PER_ELLIPSE - 1  # centre and semi-axes come before the angle, the only number that is periodic


@dataclass(frozen=True)
class Coordinates:
    """The map z ↦ ellipses (cx, cy, a, b, angle), its derivative and the prior density of z."""

    prior: EllipseSampler

    def __post_init__(self) -> None:
        if self.prior.count > 1 and not self.prior.disjoint:
            raise InputError(
                "posterior: the prior must keep its ellipses apart, as the boundary integral solver needs it: "
                "EllipseSampler(…, disjoint=True)"
            )
        if self.prior.inside == self.prior.outside:
            raise InputError("posterior: inside and outside conduct alike: there is nothing to see")

    @property
    def size(self) -> int:
        """Number of coordinates."""
        return PER_ELLIPSE * self.prior.count

    def precision(self, device: torch.device) -> Float64[Tensor, "parameters"]:
        """Diagonal of the metric that rules the steps where the data say nothing."""
        return torch.tensor(_PRECISION * self.prior.count, dtype=torch.float64, device=device)

    def draw(self, count: int, seed: int, device: torch.device) -> Z:
        """Coordinates of `count` draws of the prior; `seed` takes the place of the prior's own.

        They are no phantoms of a data set, whatever the seed (a stream's they may be): the first of them could be the
        very ones that the sampler is to find.
        """
        batch = replace(self.prior, seed=seed).batch(_ELSEWHERE, _ELSEWHERE + count, device)
        return self.from_rows(batch.groups[0].parameters)

    def rows(self, z: Z) -> Rows:
        """The ellipses of z."""
        u, angle = self._split(z)
        a, b = self._semi_axes(u)
        half = Ellipse.half_widths(a, b, angle)
        center = (self.prior.extent - half) * (2 * u[..., :2] - 1)
        return torch.cat([center, torch.stack([a, b, angle], -1)], -1)

    def from_rows(self, rows: Rows) -> Z:
        """The coordinates of ellipses of the prior."""
        a, b, angle = rows[..., 2:].unbind(-1)
        room = self.prior.extent - Ellipse.half_widths(a, b, angle)
        size = torch.stack([_place(self.prior.short, a), _place(self.prior.long, b)], -1)
        u = torch.cat([(rows[..., :2] / room + 1) / 2, size], -1)
        return torch.cat([torch.logit(u, EDGE), angle[..., None]], -1).flatten(-2)

    def allowed(self, z: Z) -> Bool[Tensor, "*batch"]:
        """Tell whether the ellipses stay apart, and no coordinate has run away."""
        return self.prior.apart(self.rows(z)) & (_logits(z).abs() < _FAR).flatten(-2).all(-1)

    def log_density(self, z: Z) -> Float64[Tensor, "*batch"]:
        """The log of Π u(1 - u), of ellipses that are apart."""
        logits = _logits(z)
        return (logsigmoid(logits) + logsigmoid(-logits)).sum((-2, -1))

    def gradient(self, z: Z) -> Z:
        """∇ log Π u(1 - u) = 1 - 2u."""
        u, angle = self._split(z)
        return torch.cat([1 - 2 * u, torch.zeros_like(angle)[..., None]], -1).flatten(-2)

    def derivative(self, z: Z) -> Float64[Tensor, "*batch ellipses 5 5"]:
        """∂(cx, cy, a, b, angle) / ∂z of each ellipse, [row, column] = [ellipse parameter, coordinate]."""
        u, angle = self._split(z)
        a, b = self._semi_axes(u)
        half = Ellipse.half_widths(a, b, angle)
        cos, sin = torch.cos(angle), torch.sin(angle)
        squares = torch.stack([torch.stack([cos, sin], -1), torch.stack([sin, cos], -1)], -1).square()
        by_axis = squares * torch.stack([a, b], -1)[..., None, :] / half[..., None]
        turn = (b.square() - a.square()) * sin * cos
        by_angle = torch.stack([turn, -turn], -1) / half
        side, slope = 2 * u[..., :2] - 1, u * (1 - u)
        scale = u.new_tensor([_length(self.prior.short), _length(self.prior.long)])
        out = u.new_zeros(*angle.shape, 5, 5)
        out[..., 0, 0], out[..., 1, 1] = (2 * (self.prior.extent - half) * slope[..., :2]).unbind(-1)
        out[..., :2, 2:4] = -side[..., None] * by_axis * (scale * slope[..., 2:])[..., None, :]
        out[..., :2, 4] = -side * by_angle
        out[..., 2, 2], out[..., 3, 3] = (scale * slope[..., 2:]).unbind(-1)
        out[..., 4, 4] = 1
        return out

    def _split(self, z: Z) -> tuple[Float64[Tensor, "*batch ellipses 4"], Float64[Tensor, "*batch ellipses"]]:
        return torch.sigmoid(_logits(z)), z[..., PER_ELLIPSE - 1 :: PER_ELLIPSE]

    def _semi_axes(self, u: Tensor) -> tuple[Tensor, Tensor]:
        short, long = self.prior.short, self.prior.long
        return short[0] + _length(short) * u[..., 2], long[0] + _length(long) * u[..., 3]


def _logits(z: Z) -> Float64[Tensor, "*batch ellipses 4"]:
    return torch.unflatten(z, -1, (-1, PER_ELLIPSE))[..., :4]


def _length(limits: tuple[float, float]) -> float:
    return limits[1] - limits[0]


def _place(limits: tuple[float, float], value: Tensor) -> Tensor:
    """Compute where a value lies between its limits, 0 to 1; in the middle where the prior knows it exactly."""
    return (value - limits[0]) / _length(limits) if _length(limits) > 0 else torch.full_like(value, 0.5)


def ordered(domain: Domain, coordinates: Coordinates, z: Z) -> Z:
    """Order the ellipses, that nearest to the boundary first."""
    order = domain.clearance(coordinates.rows(z)[..., :2]).argsort(-1)
    parts = torch.unflatten(z, -1, (-1, PER_ELLIPSE))
    return torch.gather(parts, -2, order[..., None].expand_as(parts)).flatten(-2)


def in_order(domain: Domain, coordinates: Coordinates, z: Z) -> Bool[Tensor, "*batch"]:
    """Tell whether the ellipses come in that order."""
    return (domain.clearance(coordinates.rows(z)[..., :2]).diff(dim=-1) >= 0).all(-1)


def to_numbers(z: Z) -> Float64[Tensor, "*batch parameters"]:
    """Turn z into its uniform numbers; an angle counts modulo π."""
    parts = torch.unflatten(z, -1, (-1, PER_ELLIPSE))
    turn = torch.remainder(parts[..., _ANGLE:], math.pi) / math.pi
    return torch.cat([torch.sigmoid(parts[..., :_ANGLE]), turn], -1).flatten(-2)


def from_numbers(numbers: Float64[Tensor, "*batch parameters"]) -> Z:
    """Turn uniform numbers into the coordinates z."""
    parts = torch.unflatten(numbers, -1, (-1, PER_ELLIPSE))
    return torch.cat([torch.logit(parts[..., :_ANGLE], EDGE), math.pi * parts[..., _ANGLE:]], -1).flatten(-2)
