"""Jumps: proposals for which the likelihood alone is needed, and no derivative.

A proposal has its ratio r, that of the likelihoods times a bonus, and is accepted with min(1, r). A proposer whose
proposals do not depend on what they would replace may make several tries at once: with w_j the ratio of each, one is
chosen with chance w_j / W, W = Σ w, and accepted with min(1, W / (1 + W - w_j)) (Liu, Monte Carlo Strategies in
Scientific Computing, 2001, section 5.5); for a single try that is the rule of Metropolis and Hastings.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float64, Int64, Shaped
from torch import Tensor

from eitlens.posterior.model.likelihood import Level
from eitlens.posterior.model.target import Target
from eitlens.posterior.moves.chains import Chains, gumbel, log_uniform, put


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
        found = _Found.build(target, tries, level)
        ratio = found.likelihood - likelihood[..., None] + tries.bonus
        chosen, chance = select(ratio, generator)
        moved = log_uniform(chance, generator) < chance
        z = torch.where(moved[..., None], pick(tries.z, chosen), z)
        data = torch.where(moved[..., None, None], found.data[pick(found.row, chosen)], data)
        likelihood = torch.where(moved, pick(found.likelihood, chosen), likelihood)
        ever = ever | moved
    if not bool(ever.any()):
        return chains
    particles = put(chains.particles, ever, target.sketched(z[ever][None], data[ever][None]))
    return replace(chains, particles=particles, local=target.local(particles, level))


class _Found(NamedTuple):
    """The data of the possible tries, in a row, which row is whose, and the log likelihood of all."""

    data: Float64[Tensor, "rows currents boundary"]
    row: Int64[Tensor, "m c tries"]
    likelihood: Float64[Tensor, "m c tries"]

    @staticmethod
    def build(target: Target, tries: Proposal, level: Level) -> "_Found":
        shape = tries.possible.shape
        index = torch.nonzero(tries.possible.flatten()).flatten()
        owner = index // (shape[1] * shape[2])
        data = target.data(tries.z.flatten(0, 2)[index])
        value = target.likelihood.taken(owner).value(data[:, None], level[owner])[:, 0]
        # The impossible ones are never chosen: any row will do for them.
        row = torch.zeros(shape, dtype=torch.long, device=index.device).flatten()
        row = row.index_copy(0, index, torch.arange(len(index), device=index.device))
        all_values = torch.full_like(tries.bonus, -torch.inf).flatten().index_copy(0, index, value)
        return _Found(data, row.reshape(shape), all_values.reshape(shape))


def select(
    ratio: Float64[Tensor, "m c tries"], generator: torch.Generator
) -> tuple[Int64[Tensor, "m c"], Float64[Tensor, "m c"]]:
    """Choose one try each by its ratio; also the log of the chance to accept it."""
    chosen = (ratio + gumbel(ratio, generator)).argmax(-1)
    rest = ratio.scatter(-1, chosen[..., None], 0.0).logsumexp(-1)
    return chosen, ratio.logsumexp(-1) - rest


def pick(values: Shaped[Tensor, "m c tries *value"], chosen: Int64[Tensor, "m c"]) -> Tensor:
    """Take of each chain the try that was chosen."""
    index = chosen.reshape(*chosen.shape, *[1] * (values.ndim - 2)).expand(
        *chosen.shape, 1, *values.shape[3:]
    )
    return values.gather(2, index)[:, :, 0]
