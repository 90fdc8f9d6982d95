"""Jumps: proposals for which the likelihood alone is needed, and no derivative.

A proposal has its ratio r, that of the likelihoods times a bonus, and is accepted with min(1, r). A proposer whose
proposals do not depend on what they would replace may make several tries at once: with w_j the ratio of each, one is
chosen with chance w_j / W, W = Σ w, and accepted with min(1, W / (1 + W - w_j)) (Liu, Monte Carlo Strategies in
Scientific Computing, 2001, section 5.5); for a single try that is the rule of Metropolis and Hastings.

Perturbations are jumps of one ellipse or two. The uniform numbers behind one ellipse, or some of them, move by up to a
random part of their range and are reflected at its ends, or two ellipses change places. That leaves the prior as it
is, so the likelihood alone decides.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float64, Int64, Shaped
from torch import Tensor

from eitlens.phantom.samplers import PER_ELLIPSE
from eitlens.posterior.model.coordinates import EDGE
from eitlens.posterior.model.likelihood import Level
from eitlens.posterior.model.target import Target
from eitlens.posterior.moves.chains import Chains, gumbel, log_uniform, put

# The numbers that a perturbation changes: the whole ellipse, its centre, its shape, its angle.
_PARTS = ((0, 1, 2, 3, 4), (0, 1), (2, 3, 4), (4,))
_NEAREST = math.log(0.03)  # of the least reach of a perturbation, which goes up to the whole range
_JUMPS = 3  # a sweep: together they cost less than one manifold step
_WIDE = 0.1  # above this level the posterior is wide and jumps succeed, which they hardly ever do below


class Proposal(NamedTuple):
    """Places to jump to, which of them are possible, and the log of r without the likelihoods; one try or several."""

    z: Float64[Tensor, "m c tries parameters"]
    possible: Bool[Tensor, "m c tries"]
    bonus: Float64[Tensor, "m c tries"]


Proposer = Callable[[Target, Tensor, torch.Generator], Proposal]


def jump(
    target: Target, chains: Chains, level: Level, generator: torch.Generator, proposers: list[Proposer]
) -> Chains:
    """Make a jump of every proposer in turn, for which the likelihood alone is needed."""
    z, data, likelihood = chains.particles.z, chains.particles.data, chains.local.likelihood
    ever = torch.zeros_like(likelihood, dtype=torch.bool)
    for propose in proposers:
        tries = propose(target, z, generator)
        if not bool(tries.possible.any()):
            continue
        values, row, found = _evaluated(target, tries, level)
        ratio = found - likelihood[..., None] + tries.bonus
        chosen, chance = select(ratio, generator)
        moved = log_uniform(chance, generator) < chance
        z = torch.where(moved[..., None], pick(tries.z, chosen), z)
        data = torch.where(moved[..., None, None], values[pick(row, chosen)], data)
        likelihood = torch.where(moved, pick(found, chosen), likelihood)
        ever = ever | moved
    if not bool(ever.any()):
        return chains
    particles = put(chains.particles, ever, target.sketched(z[ever][None], data[ever][None]))
    return replace(chains, particles=particles, local=target.local(particles, level))


def _evaluated(
    target: Target, tries: Proposal, level: Level
) -> tuple[
    Float64[Tensor, "rows currents boundary"], Int64[Tensor, "m c tries"], Float64[Tensor, "m c tries"]
]:
    """The data of the possible tries, in a row, which row is whose, and the log likelihood of all."""
    shape = tries.possible.shape
    index = torch.nonzero(tries.possible.flatten()).flatten()
    owner = index // (shape[1] * shape[2])
    data = target.data(tries.z.flatten(0, 2)[index])
    value = target.likelihood.taken(owner).value(data[:, None], level[owner])[:, 0]
    # The impossible ones are never chosen: any row will do for them.
    row = torch.zeros(shape, dtype=torch.long, device=index.device).flatten()
    row = row.index_copy(0, index, torch.arange(len(index), device=index.device))
    likelihood = torch.full_like(tries.bonus, -torch.inf).flatten().index_copy(0, index, value)
    return data, row.reshape(shape), likelihood.reshape(shape)


def select(
    ratio: Float64[Tensor, "m c tries"], generator: torch.Generator
) -> tuple[Int64[Tensor, "m c"], Float64[Tensor, "m c"]]:
    """Choose one try each by its ratio; also the log of the chance to accept it."""
    chosen = (ratio + gumbel(ratio, generator)).argmax(-1)
    rest = ratio.scatter(-1, chosen[..., None], 0.0).logsumexp(-1)
    return chosen, ratio.logsumexp(-1) - rest


def pick(values: Shaped[Tensor, "m c tries *value"], chosen: Int64[Tensor, "m c"]) -> Tensor:
    """Take of each chain the try that was chosen."""
    each, chain = (torch.arange(size, device=chosen.device) for size in chosen.shape)
    return values[each[:, None], chain, chosen]


def perturbations(level: Level) -> list[Proposer]:
    """Make proposers of jumps at the upper levels: one ellipse, or part of it, or two that change places."""

    def perturb(target: Target, z: Tensor, generator: torch.Generator) -> Proposal:
        place = _changed(z, generator)
        possible = target.coordinates.allowed(place) & (level > _WIDE)[:, None]
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
