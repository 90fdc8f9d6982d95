"""Parallel tempering: chains at all levels of extra white noise at once, which exchange their places.

Each measurement has `ensembles` ladders that never speak to each other, so what they agree on is no accident. The
top of a ladder drowns the data and sees the prior, where jumps succeed; the bottom is the posterior. Neighbours
k and k + 1 exchange places with probability min(1, r),

    log r = ℓ_{k+1}(d_k) + ℓ_k(d_{k+1}) - ℓ_k(d_k) - ℓ_{k+1}(d_{k+1}),

even pairs and odd pairs in turn, which carries places down the ladder without the detours of random pairs; the levels
are such that every pair refuses equally often (Syed, Bouchard-Côté, Deligiannidis, Doucet, J. R. Stat. Soc. B 84,
2022). A step costs a forward solve and an exchange none, so there are many rounds of exchanges after each step (the
limit of infinitely many: Plattner et al., J. Chem. Phys. 135, 2011). Every mode the bottom visits was found from the
prior.
"""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Bool, Float64, Int64
from torch import Tensor

from eitlens.posterior.guide.proposals import Guidance
from eitlens.posterior.model.likelihood import Level
from eitlens.posterior.model.target import LocalModel, Particles, Target
from eitlens.posterior.moves.chains import Chains, gumbel, log_uniform
from eitlens.posterior.moves.jumps import jump, perturbations
from eitlens.posterior.moves.manifold import manifold_step

Array = npt.NDArray[np.float64]
# The two highest levels without a guide, in units of rms(y): one that drowns the data, where the prior is left, and one
# where they begin to speak.
_TOP, _SECOND = 30.0, 3.0
_RAREST = 0.02  # a pair that refuses less often counts as if it did: levels must not fall apart
_ROUNDS = 16  # of exchanges after each step: more than half of the levels, so that a place can go far
_SHARED = 0.1  # of a neighbour's step size: a diffusion along the ladder, stable below one half


@dataclass(frozen=True)
class Ladder:
    """Chains, [measurement and level, ensemble], at their levels, and what became of the exchanges so far.

    An ensemble may have several ladders, one next to the other (`multiplied`): then its chains are theirs.
    """

    chains: Chains
    level: Float64[Tensor, "measurements levels"]
    crown: tuple[float, ...]
    """The highest levels, which stay where they are while those below are let down."""
    guidance: Guidance | None
    fresh: Bool[Tensor, "measurements levels ensembles"]
    """Whether a place has come from the top since it last was at the bottom."""
    trips: Int64[Tensor, "measurements ensembles"]
    """The number of places that have come all the way from the top to the bottom."""
    refused: Float64[Tensor, "measurements pairs"]
    tried: Float64[Tensor, "pairs"]

    @property
    def shape(self) -> tuple[int, int, int]:
        """Measurements, levels, ensembles."""
        return self.fresh.shape[0], self.fresh.shape[1], self.fresh.shape[2]

    @property
    def barrier(self) -> Float64[Tensor, "measurements"]:
        """The sum of the shares refused: about half as many as there should be levels."""
        return (self.refused / self.tried.clamp(min=1)).sum(-1)


def start(
    target: Target, last: Level, levels: int, ensembles: int, seed: int, guidance: Guidance | None
) -> Ladder:
    """Draws of the prior at every level, the ladder not yet let down; a guide lets it begin further down."""
    count, device = len(last), last.device
    z = target.coordinates.draw(count * levels * ensembles, seed, device)
    crown = (_TOP, _SECOND) if guidance is None else (guidance.top,)
    level = _spaced(last, levels, crown, 0.0)
    chains = Chains.start(target, z.reshape(count * levels, ensembles, -1), level.flatten())
    fresh = torch.zeros(count, levels, ensembles, dtype=torch.bool, device=device)
    refused = level.new_zeros(count, levels - 1)
    return Ladder(chains, level, crown, guidance, fresh, fresh[:, 0].long(), refused, refused[0])


def let_down(target: Target, ladder: Ladder, last: Level, part: float) -> Ladder:
    """The levels in equal ratios down to a part of the way to the last."""
    return _at_levels(target, ladder, _spaced(last, ladder.shape[1], ladder.crown, part))


def settled(target: Target, ladder: Ladder, generator: torch.Generator) -> Ladder:
    """Give each level a copy of a place on the same or a higher level, at random by its likelihood there.

    Draws of the prior are no place to be at the last level, and single exchanges replace them one by one. This is no
    Markov chain with the right limit: it is over long before anything counts.
    """
    score = _table(target, ladder).permute(0, 3, 2, 1)
    place = torch.arange(ladder.shape[1], device=score.device)
    below = place > place[:, None, None]
    origin = (score + gumbel(score, generator)).masked_fill(below, -torch.inf).argmax(-1)
    # Copies do not count as having come from the top.
    forgotten = replace(ladder, fresh=torch.zeros_like(ladder.fresh), trips=torch.zeros_like(ladder.trips))
    return _placed(target, forgotten, origin)


def multiplied(ladder: Ladder, times: int) -> Ladder:
    """Give every ensemble `times` ladders from the same places; from here on counts what comes from the top."""
    here, near = ladder.chains.particles, ladder.chains.local
    particles = Particles(*(part.repeat_interleave(times, 1) for part in here))
    local = LocalModel(*(part.repeat_interleave(times, 1) for part in near))
    counts = (ladder.fresh, ladder.trips)
    fresh, trips = (torch.zeros_like(part).repeat_interleave(times, -1) for part in counts)
    chains = replace(ladder.chains, particles=particles, local=local)
    return replace(ladder, chains=chains, fresh=fresh, trips=trips)


def _spaced(
    last: Level, levels: int, crown: tuple[float, ...], part: float
) -> Float64[Tensor, "measurements levels"]:
    """The crown, and below it equal ratios down to a part of the way from it to the last."""
    highest = np.log(crown[-1])
    lowest = (1 - part) * highest + part * last.log()[:, None]
    share = torch.linspace(0, 1, levels - len(crown) + 1, dtype=last.dtype, device=last.device)
    below = torch.exp((1 - share) * highest + share * lowest)
    return torch.cat([last.new_tensor(crown[:-1]).expand(len(last), -1), below], 1)


def sweep(
    target: Target, ladder: Ladder, learning: float, generator: torch.Generator, manifold_steps: int
) -> Ladder:
    """Make jumps at every level, then manifold steps, with exchanges after each: without moves there soon are none."""
    level = ladder.level.flatten()
    proposers = perturbations(level)
    if ladder.guidance is not None:
        proposers.append(ladder.guidance.proposer(target.likelihood, level))
    jumped = jump(target, ladder.chains, level, generator, proposers)
    ladder = _exchange(target, replace(ladder, chains=jumped), generator)
    for _ in range(manifold_steps):
        chains = manifold_step(target, ladder.chains, level, generator, learning)
        if learning > 0:
            chains = replace(chains, step=_smoothed(_by_level(ladder, chains.step)).flatten())
        ladder = _exchange(target, replace(ladder, chains=chains), generator)
    return ladder


def _smoothed(step: Float64[Tensor, "measurements levels"]) -> Float64[Tensor, "measurements levels"]:
    """Neighbours learn from each other: few chances a level are too noisy to learn from alone."""
    log = torch.nn.functional.pad(step.log()[:, None], (1, 1), mode="replicate")[:, 0]
    return torch.exp(log[:, 1:-1] + _SHARED * (log[:, 2:] - 2 * log[:, 1:-1] + log[:, :-2]))


def respaced(target: Target, ladder: Ladder) -> Ladder:
    """The levels moved so that every pair would have refused equally often; the counts begin anew."""
    rate = (ladder.refused / ladder.tried.clamp(min=1)).clamp(min=_RAREST).cpu().numpy()
    old = ladder.level.log().cpu().numpy()
    new = [_respaced(*pair) for pair in zip(old, rate, strict=True)]
    level = torch.as_tensor(np.exp(new)).to(ladder.level)
    level[:, -1] = ladder.level[:, -1]
    return _at_levels(target, ladder, level)


def _at_levels(target: Target, ladder: Ladder, level: Float64[Tensor, "measurements levels"]) -> Ladder:
    zero, chains = torch.zeros_like(ladder.refused), ladder.chains.at(target, level.flatten())
    return replace(ladder, chains=chains, level=level, refused=zero, tried=zero[0])


def bottom(ladder: Ladder) -> tuple[Tensor, Tensor, Tensor]:
    """Coordinates, data and log likelihood at the last level, [measurement, ensemble]."""
    parts = (ladder.chains.particles.z, ladder.chains.particles.data, ladder.chains.local.likelihood)
    z, data, likelihood = (_by_level(ladder, part)[:, -1] for part in parts)
    return z, data, likelihood


def _respaced(log_level: Array, rate: Array) -> Array:
    way = np.concatenate([[0.0], np.cumsum(rate)])
    return np.asarray(np.interp(np.linspace(0, way[-1], len(way)), way, log_level))


def _exchange(target: Target, ladder: Ladder, generator: torch.Generator) -> Ladder:
    """`_ROUNDS` rounds at the price of the log likelihood of every place at every level, once."""
    table = _table(target, ladder)
    place = torch.arange(ladder.shape[1], device=table.device)
    origin = place[:, None].expand(ladder.shape).clone()
    refused, tried = ladder.refused.clone(), ladder.tried.clone()
    for turn in range(_ROUNDS):
        partner = _partners(place, turn)
        first = place[partner > place]
        ratio = _ratio(table, origin, place, partner)
        # Both of a pair follow the chance of the first.
        yes = (log_uniform(ratio, generator) < ratio)[:, torch.minimum(place, partner)]
        origin = torch.where(yes, origin[:, partner], origin)
        refused[:, first] += (1 - ratio[:, first].clamp(max=0).exp()).mean(-1)
        tried[first] += 1
    return _counted(_placed(target, replace(ladder, refused=refused, tried=tried), origin))


def _placed(target: Target, ladder: Ladder, origin: Int64[Tensor, "measurements levels ensembles"]) -> Ladder:
    """Give every level the place that was at the level `origin`."""
    particles = Particles(*(_taken(ladder, part, origin) for part in ladder.chains.particles))
    chains = replace(ladder.chains, particles=particles).at(target, ladder.level.flatten())
    return replace(ladder, chains=chains, fresh=torch.gather(ladder.fresh, 1, origin))


def _table(target: Target, ladder: Ladder) -> Float64[Tensor, "measurements places ensembles levels"]:
    """The log likelihood of every place at every level of its measurement."""
    data, count = ladder.chains.particles.data, ladder.shape[1]
    levels = (level.repeat_interleave(count) for level in ladder.level.unbind(1))
    columns = [target.likelihood.value(data, level) for level in levels]
    return _by_level(ladder, torch.stack(columns, -1))


def _ratio(table: Tensor, origin: Tensor, place: Tensor, partner: Tensor) -> Tensor:
    """The log of r of each with its partner, of the places that are where `origin` says."""
    each = torch.arange(len(table), device=table.device)[:, None, None]
    ensemble = torch.arange(table.shape[2], device=table.device)
    gain = table[each, origin, ensemble, partner[:, None]] - table[each, origin, ensemble, place[:, None]]
    return gain + gain[:, partner]


def _partners(place: Int64[Tensor, "levels"], turn: int) -> Int64[Tensor, "levels"]:
    partner = torch.where((place - turn) % 2 == 0, place + 1, place - 1)
    return torch.where((partner >= 0) & (partner < len(place)), partner, place)


def _counted(ladder: Ladder) -> Ladder:
    fresh = ladder.fresh.clone()
    fresh[:, 0] = True
    trips = ladder.trips + fresh[:, -1]
    fresh[:, -1] = False
    return replace(ladder, fresh=fresh, trips=trips)


def _by_level(ladder: Ladder, values: Tensor) -> Tensor:
    return torch.unflatten(values, 0, ladder.shape[:2])


def _taken(ladder: Ladder, values: Tensor, origin: Int64[Tensor, "measurements levels ensembles"]) -> Tensor:
    count, _, ensembles = ladder.shape
    first = torch.arange(count, device=origin.device)[:, None, None]
    each = torch.arange(ensembles, device=origin.device)
    return _by_level(ladder, values)[first, origin, each].flatten(0, 1)
