"""Perturbations: jumps of one ellipse or two.

The uniform numbers behind one ellipse, or some of them, move by up to a random part of their range and are reflected
at its ends, or two ellipses change places. That leaves the prior as it is, so the likelihood alone decides.
"""

import math

import torch
from torch import Tensor

from eitlens.phantom.samplers import PER_ELLIPSE
from eitlens.posterior.model.coordinates import EDGE
from eitlens.posterior.model.likelihood import Level
from eitlens.posterior.model.target import Target
from eitlens.posterior.moves.jumps import Proposal, Proposer

# What a jump changes: the whole ellipse, its centre, its shape, its angle.
_PARTS = ((0, 1, 2, 3, 4), (0, 1), (2, 3, 4), (4,))
# The farthest it goes: between 0.03 of the range and all of it.
_NEAREST = math.log(0.03)
_JUMPS = 3  # a sweep: together they cost less than one manifold step
# Above this level the posterior is wide and jumps succeed, which they hardly ever do below.
_EASY = 0.1


def perturbations(level: Level) -> list[Proposer]:
    """Make proposers of jumps at the upper levels: one ellipse, or part of it, or two that change places."""

    def perturb(target: Target, z: Tensor, generator: torch.Generator) -> Proposal:
        place = _changed(z, generator)
        possible = target.coordinates.allowed(place) & (level > _EASY)[:, None]
        return Proposal(place[..., None, :], possible[..., None], torch.zeros_like(z[..., :1]))

    return [perturb] * _JUMPS


def _changed(z: Tensor, generator: torch.Generator) -> Tensor:
    count = z.shape[-1] // PER_ELLIPSE
    which = _integers(count, z, generator)
    kind = _integers(len(_PARTS) + (count > 1), z, generator)
    table = torch.tensor([[k in part for k in range(PER_ELLIPSE)] for part in _PARTS], device=z.device)
    changed = table[kind[..., 0].clamp(max=len(_PARTS) - 1)].repeat(1, 1, count) & (_owner(z) == which)
    perturbed = torch.where(changed, _perturbed(z, generator), z)
    other = (which + 1 + _integers(max(count - 1, 1), z, generator)) % count
    return torch.where(kind < len(_PARTS), perturbed, _exchanged(z, which, other))


def _integers(below: int, z: Tensor, generator: torch.Generator) -> Tensor:
    """Draw one of 0, 1, …, below - 1 for each particle."""
    return torch.randint(below, (*z.shape[:-1], 1), generator=generator, device=z.device)


def _exchanged(z: Tensor, one: Tensor, other: Tensor) -> Tensor:
    """The coordinates of the centres of two ellipses exchanged."""
    owner, part = _owner(z), torch.arange(z.shape[-1], device=z.device) % PER_ELLIPSE
    source = torch.where(owner == one, other, torch.where(owner == other, one, owner))
    source = torch.where(part < 2, source, owner)
    return torch.gather(z, -1, PER_ELLIPSE * source + part)


def _owner(z: Tensor) -> Tensor:
    """The ellipse each coordinate belongs to."""
    return torch.arange(z.shape[-1], device=z.device) // PER_ELLIPSE


def _perturbed(z: Tensor, generator: torch.Generator) -> Tensor:
    """Move every coordinate by up to a part of the prior's range, in the numbers u of which the prior is uniform."""
    random = torch.rand(*z.shape[:-1], z.shape[-1] + 1, generator=generator, dtype=z.dtype, device=z.device)
    farthest = torch.exp(_NEAREST * random[..., -1:])
    shift = farthest * (2 * random[..., :-1] - 1)
    # Reflected at 0 and at 1.
    u = 1 - (1 - (torch.sigmoid(z) + shift).abs()).abs()
    angle = torch.arange(z.shape[-1], device=z.device) % PER_ELLIPSE == PER_ELLIPSE - 1
    return torch.where(angle, z + torch.pi / 2 * shift, torch.logit(u, EDGE))
