"""From the prior to the posterior: sequential Monte Carlo along falling levels of extra white noise.

Each measurement has `islands` independent populations of `particles` each. From one level to the next the
particles are weighted by the ratio of their likelihoods, resampled within their island and moved. The next
level of a measurement is the lowest at which its weights keep half of their effective sample size. The islands
never speak to each other, so what they agree on is no accident; each estimates the evidence Z = p(y), and
they are pooled in proportion to it (Del Moral, Doucet, Jasra, J. R. Stat. Soc. B 68, 2006).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float64
from torch import Tensor

from eitlens.classical.posterior.likelihood import Level
from eitlens.classical.posterior.moves import Chains, langevin, redraw
from eitlens.classical.posterior.target import Target

_FIRST_LEVEL = 30.0
_KEPT = 0.5
# Below this no new ellipse of the prior is ever accepted.
_REDRAWN_ABOVE = 0.3
_BISECTIONS = 20
_SLOWEST = 0.9


@dataclass(frozen=True)
class Population:
    """The chains of all measurements at their levels, with the evidence of each island so far."""

    chains: Chains
    level: Level
    evidence: Float64[Tensor, "measurements islands"]


def start(target: Target, islands: int, particles: int, seed: int) -> Population:
    """Draws of the prior, at a level of white noise that drowns the data."""
    measured = target.likelihood.measured
    count = len(measured) * islands * particles
    z = target.coordinates.draw(count, seed, measured.device)
    level = torch.full_like(target.likelihood.tau, _FIRST_LEVEL)
    chains = Chains.start(target, z.reshape(len(measured), -1, z.shape[-1]), level)
    return Population(chains, level, level.new_zeros(len(measured), islands))


def arrived(population: Population, goal: Level) -> bool:
    """Whether every measurement has reached its goal."""
    return bool((population.level <= goal).all())


def descend(target: Target, population: Population, goal: Level, generator: torch.Generator) -> Population:
    """To the next level towards the goal: weigh and resample."""
    level = _next_level(target, population, goal)
    chains = population.chains
    change = target.likelihood.value(chains.particles.data, level) - chains.local.likelihood
    islands = torch.unflatten(change, 1, (population.evidence.shape[1], -1))
    gain = torch.logsumexp(islands, -1) - torch.log(torch.tensor(float(islands.shape[-1])))
    index = _systematic(torch.softmax(islands, -1), generator)
    chains = replace(chains, particles=chains.particles.take(index))
    return Population(chains.at(target, level), level, population.evidence + gain)


def stir(
    target: Target,
    population: Population,
    moves: int,
    generator: torch.Generator,
    step: Callable[[], bool] = lambda: True,
) -> Population:
    """Move every particle `moves` times, before that by redrawing an ellipse where that can succeed.

    `step` says whether to go on.
    """
    chains = population.chains
    if bool((population.level > _REDRAWN_ABOVE).any()):
        chains = redraw(target, chains, population.level, generator)
    for _ in range(moves):
        if not step():
            break
        chains = langevin(target, chains, population.level, generator)
    return replace(population, chains=chains)


def _next_level(target: Target, population: Population, goal: Level) -> Level:
    """By bisection in log s: the lowest level that keeps the effective sample size, or the goal."""
    data, now = population.chains.particles.data, population.chains.local.likelihood
    high, low = population.level.log(), goal.log()
    for _ in range(_BISECTIONS):
        middle = (high + low) / 2
        good = _kept(target.likelihood.value(data, middle.exp()) - now) >= _KEPT
        high, low = torch.where(good, middle, high), torch.where(good, low, middle)
    fits = _kept(target.likelihood.value(data, goal) - now) >= _KEPT
    # A lone particle far ahead of all others must not hold everybody up with ever smaller steps.
    level = high.exp().minimum(_SLOWEST * population.level).maximum(goal)
    return torch.where(fits, goal, level)


def _kept(change: Float64[Tensor, "measurements particles"]) -> Float64[Tensor, "measurements"]:
    weight = torch.softmax(change, -1)
    return 1 / (weight.square().sum(-1) * change.shape[-1])


def _systematic(weight: Float64[Tensor, "m islands particles"], generator: torch.Generator) -> Tensor:
    """Systematic resampling within each island: indices into the particles of the measurement."""
    count = weight.shape[-1]
    offset = torch.rand(*weight.shape[:2], 1, generator=generator, dtype=weight.dtype, device=weight.device)
    ticks = (torch.arange(count, device=weight.device) + offset) / count
    index = torch.searchsorted(weight.cumsum(-1), ticks).clamp(max=count - 1)
    first = torch.arange(weight.shape[1], device=weight.device)[:, None] * count
    return (index + first).flatten(1)
