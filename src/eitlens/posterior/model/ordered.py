"""Ordered ellipses as numbers that are uniform in [0, 1) under the prior: the form in which a guide knows them.

The order is by the distance of the centre from the boundary: the data tell most about the first ellipse and least
about the last, which can then be drawn anew given the others.
"""

import math

import torch
from jaxtyping import Bool, Float64
from torch import Tensor

from eitlens.domain import Domain
from eitlens.phantom.samplers import PER_ELLIPSE
from eitlens.posterior.model.coordinates import EDGE, Coordinates, Z

# Centre and semi-axes come before the angle, the only number that is periodic.
_ANGLE = PER_ELLIPSE - 1


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
