"""The posterior of the ellipses given noisy boundary data: the front door."""

import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float64
from torch import Tensor

from eitlens import checks
from eitlens.classical.posterior import smc
from eitlens.classical.posterior.coordinates import Coordinates
from eitlens.classical.posterior.diagnostics import AGREED, Diagnostics, agreement, functions
from eitlens.classical.posterior.images import Images, images
from eitlens.classical.posterior.likelihood import FLOOR, Likelihood
from eitlens.classical.posterior.smc import Population
from eitlens.classical.posterior.target import Target
from eitlens.domain import Domain, check_boundary_values
from eitlens.errors import InputError
from eitlens.forward.base import Currents
from eitlens.forward.currents import project
from eitlens.phantom import EllipseSampler

Progress = Callable[[float, str], None]
# The data are solved to this part of the noise; closer outlines then get more nodes.
_ACCURACY = 0.01
_DESCENT = 0.75
_BULK = 0.2


@dataclass(frozen=True)
class Settings:
    """How hard to try. The defaults suit one measurement; for a table of many, fewer particles do."""

    islands: int = 4
    """Independent populations a measurement: they must agree."""
    particles: int = 64
    """Particles an island."""
    moves: int = 6
    """Steps of each particle between two levels of noise, and between two recorded draws."""
    mixing: int = 150
    """Steps of each particle at the level of `_BULK` τ, where they are still long (see `_descend`)."""
    least_draws: int = 4
    """Draws recorded of every particle before the islands are compared …"""
    most_draws: int = 40
    """… and at most."""
    floor: float = FLOOR
    """White noise in the model where f - f0 vanishes, in units of τ rms(f - f0); see `likelihood`."""
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("islands", "particles", "moves", "mixing", "least_draws"):
            least = {"islands": 2, "particles": 2, "mixing": 0}.get(name, 1)
            if getattr(self, name) < least:
                raise InputError(f"posterior: {name} must be at least {least}, got {getattr(self, name)}")
        if self.most_draws < self.least_draws:
            raise InputError(
                f"posterior: most_draws={self.most_draws} is below least_draws={self.least_draws}"
            )


@dataclass(frozen=True)
class PosteriorResult:
    """Weighted samples of the ellipses of each measurement (weights sum to one), misfit and diagnostics."""

    domain: Domain
    prior: EllipseSampler
    rows: Float64[Tensor, "measurements samples ellipses 5"]
    weight: Float64[Tensor, "measurements samples"]
    misfit: Float64[Tensor, "measurements samples"]
    """χ² a boundary node of each sample: about 1 where it explains the data to their noise."""
    diagnostics: Diagnostics

    def images(self, k: int = 0) -> Images:
        """The best images of measurement k for each loss."""
        return images(self.domain, self.rows[k], self.weight[k], self.prior.inside, self.prior.outside)

    def picked(self, k: int, count: int, seed: int = 0) -> Float64[Tensor, "count ellipses 5"]:
        """Some samples of measurement k, drawn by their weights."""
        generator = torch.Generator().manual_seed(seed)
        return self.rows[k][torch.multinomial(self.weight[k].cpu(), count, generator=generator)]


@torch.no_grad()
def sample(
    difference: Tensor,
    domain: Domain,
    currents: Currents,
    tau: float | Tensor,
    prior: EllipseSampler,
    settings: Settings | None = None,
    progress: Progress | None = None,
    seconds: float | None = None,
) -> PosteriorResult:
    """Sample p(ellipses | f - f0) for one measurement (L, N) or a batch (B, L, N), where the currents are.

    Args:
        difference: measured f - f0 with the paper's noise; its mean is taken off.
        domain: the body.
        currents: the L currents (L, N).
        tau: the noise level, one for all or one each; it must be known and positive.
        prior: what the phantoms are like. Its seed is not used.
        settings: how hard to try.
        progress: told the part done, 0 to 1, and what is being done.
        seconds: stop near this time with what there is; `diagnostics.converged` then says what it is worth.
    """
    settings = settings or Settings()
    clock = _Clock(time.monotonic(), seconds)
    target = _target(difference, domain, currents, tau, prior, settings.floor)
    generator = torch.Generator(target.likelihood.measured.device).manual_seed(settings.seed)
    report = progress or (lambda part, text: None)
    population = _descend(target, settings, generator, clock, report)
    return _record(target, population, settings, generator, clock, report)


@dataclass(frozen=True)
class _Clock:
    began: float
    budget: float | None

    def spent(self) -> float:
        return time.monotonic() - self.began

    def on(self) -> bool:
        return self.budget is None or self.spent() < self.budget


def _target(
    difference: Tensor,
    domain: Domain,
    currents: Currents,
    tau: float | Tensor,
    prior: EllipseSampler,
    floor: float,
) -> Target:
    data = check_boundary_values(domain, difference, "f - f0").to(currents.device)
    data = data[None] if data.ndim == 2 else data
    if data.ndim != 3 or data.shape[1:] != currents.shape:
        raise InputError(
            f"posterior: expected data of shape {tuple(currents.shape)} like the currents, or a batch of them, "
            f"got {tuple(difference.shape)}"
        )
    checks.positive_number(floor, "posterior: floor")
    level = torch.as_tensor(tau, dtype=torch.float64, device=data.device).expand(len(data)).contiguous()
    checks.positive(level, "posterior: tau (the noise level, to be known)")
    if bool((data.square().sum(-1) == 0).any()):
        raise InputError("posterior: a measurement is zero everywhere: is there an inclusion at all?")
    likelihood = Likelihood(project(data), level, floor)
    return Target(domain, currents, Coordinates(prior), likelihood, _ACCURACY * float(level.min()))


def _descend(
    target: Target, settings: Settings, generator: torch.Generator, clock: _Clock, report: Progress
) -> Population:
    """Down to the last level, with a long halt a little below τ.

    There the bulk of the data has spoken and steps are still long. Below, the few nodes where f - f0 nearly
    vanishes sharpen the posterior a little and shorten the steps much: whoever has not forgotten where he came
    from by then never will.
    """
    population = smc.start(target, settings.islands, settings.particles, settings.seed)
    first, last = population.level.log(), target.likelihood.last
    for goal, halt in (((_BULK * target.likelihood.tau).maximum(last), settings.mixing), (last, 0)):
        while not smc.arrived(population, goal) and clock.on():
            population = smc.descend(target, population, goal, generator)
            population = smc.stir(target, population, settings.moves, generator, clock.on)
            done = float(((first - population.level.log()) / (first - last.log())).min())
            report(_DESCENT * done, f"noise level {float(population.level.max()):.2g}")
        population = smc.stir(target, population, halt, generator, clock.on)
    return population


def _record(
    target: Target,
    population: Population,
    settings: Settings,
    generator: torch.Generator,
    clock: _Clock,
    report: Progress,
) -> PosteriorResult:
    """Go on moving and record draws until the islands agree, or time or patience is over."""
    rows, values, misfits, rates = [], [], [], []
    for draw in range(1, settings.most_draws + 1):
        population = smc.stir(target, population, settings.moves, generator, clock.on)
        chains = population.chains
        rows.append(target.coordinates.rows(chains.particles.z))
        values.append(functions(rows[-1], chains.local.likelihood))
        misfits.append(target.likelihood.misfit(chains.particles.data))
        rates.append(chains.accepted)
        rhat, ess = agreement(_by_island(values, settings.islands))
        report(_DESCENT + (1 - _DESCENT) * draw / settings.most_draws, f"R-hat {float(rhat.max()):.3f}")
        if not clock.on() or (draw >= settings.least_draws and float(rhat.max()) < AGREED):
            break
    arrived = population.level <= target.likelihood.last
    rate = torch.stack(rates).mean(0)
    diagnostics = Diagnostics(rhat, ess, rate, population.evidence, arrived, clock.spent())
    weight = _weights(population.evidence, settings.particles, len(rows))
    prior = target.coordinates.prior
    return PosteriorResult(
        target.domain, prior, torch.cat(rows, 1), weight, torch.cat(misfits, 1), diagnostics
    )


def _by_island(values: list[Tensor], islands: int) -> Float64[Tensor, "measurements islands draws functions"]:
    each = [torch.unflatten(v, 1, (islands, -1)) for v in values]
    return torch.cat(each, 2)


def _weights(evidence: Float64[Tensor, "measurements islands"], particles: int, draws: int) -> Tensor:
    """Each island in proportion to its evidence, shared by its particles in every draw."""
    island = torch.softmax(evidence, 1) / (particles * draws)
    return island.repeat_interleave(particles, 1).repeat(1, draws)
