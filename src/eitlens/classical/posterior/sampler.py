"""The posterior of the ellipses given noisy boundary data: the front door."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import torch
from jaxtyping import Float64
from torch import Tensor

from eitlens import checks
from eitlens.classical.posterior import tempering
from eitlens.classical.posterior.diagnostics import AGREED, Diagnostics, agreement, functions
from eitlens.classical.posterior.guided import Guidance, Guide
from eitlens.classical.posterior.images import Images, images
from eitlens.classical.posterior.likelihood import FLOOR, Level, Likelihood
from eitlens.classical.posterior.target import Target
from eitlens.classical.posterior.tempering import Ladder
from eitlens.domain import Domain, check_boundary_values
from eitlens.errors import InputError
from eitlens.forward.base import Currents
from eitlens.forward.currents import project
from eitlens.phantom import EllipseSampler

Progress = Callable[[float, str], None]
# The data are solved to this part of the noise; closer outlines then get more nodes.
_ACCURACY = 0.01
# How fast the step sizes learn in the warm-up. In its first half the ladder is let down, at some eighths of the second
# the levels are spaced anew, and for three quarters levels take over places from above.
_LEARNING = 0.2
_RESPACED = (5, 6, 7, 8)
_SETTLED = 0.75
_CHECKED_EVERY = 20
_MOST_SAMPLES = 20_000
_MOST_IN_AN_IMAGE = 2000


@dataclass(frozen=True)
class Settings:
    """How hard to try."""

    islands: int = 4
    """Independent ladders a measurement: they must agree."""
    levels: int = 28
    """Levels of noise from the prior to the posterior: about twice `Diagnostics.barrier`."""
    warmup: int = 120
    """Sweeps before the levels and step sizes are fixed."""
    least: int = 100
    """Sweeps after it before the islands are compared …"""
    most: int = 4000
    """… and at most."""
    tries: int = 1
    """Proposals of a guide at once: many cost little where the batch is small for the machine."""
    top: float = 0.25
    """The level at which a ladder with a guide begins, or less if the guide does not know it."""
    ladders: int = 1
    """Ladders of each island after the warm-up, all from the places where it ended: what it was to find is found
    sooner, and R-hat still sees whether the start is forgotten."""
    floor: float = FLOOR
    """White noise in the model where f - f0 vanishes, in units of τ rms(f - f0); see `likelihood`."""
    seed: int = 0

    def __post_init__(self) -> None:
        for name, least in {
            "islands": 2,
            "levels": 3,
            "warmup": 2,
            "least": 1,
            "tries": 1,
            "ladders": 1,
        }.items():
            if getattr(self, name) < least:
                raise InputError(f"posterior: {name} must be at least {least}, got {getattr(self, name)}")
        if self.most < self.least:
            raise InputError(f"posterior: most={self.most} is below least={self.least}")


@dataclass(frozen=True)
class PosteriorResult:
    """Samples of the ellipses of each measurement with their weights, misfit and diagnostics."""

    domain: Domain
    prior: EllipseSampler
    rows: Float64[Tensor, "measurements samples ellipses 5"]
    weight: Float64[Tensor, "measurements samples"]
    misfit: Float64[Tensor, "measurements samples"]
    """χ² a boundary node of each sample: about 1 where it explains the data to their noise."""
    diagnostics: Diagnostics

    def images(self, k: int = 0) -> Images:
        """The best images of measurement k for each loss."""
        stride = -(-self.rows.shape[1] // _MOST_IN_AN_IMAGE)
        rows, weight = self.rows[k, ::stride], self.weight[k, ::stride]
        return images(self.domain, rows, weight / weight.sum(), self.prior.inside, self.prior.outside)

    def picked(self, k: int, count: int, seed: int = 0) -> Float64[Tensor, "count ellipses 5"]:
        """Some samples of measurement k, drawn by their weights."""
        generator = torch.Generator().manual_seed(seed)
        return self.rows[k][torch.multinomial(self.weight[k].cpu(), count, True, generator=generator)]


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
    guide: Guide | None = None,
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
        guide: proposes phantoms (see `guided`), for data like those it was trained on; the limit is the same.
    """
    settings = settings or Settings()
    clock = _Clock(time.monotonic(), seconds)
    target = _target(difference, domain, currents, tau, prior, settings.floor)
    guidance = None if guide is None else _guidance(guide, settings, float(target.likelihood.last.max()))
    generator = torch.Generator(target.likelihood.measured.device).manual_seed(settings.seed)
    report = progress or (lambda part, text: None)
    with _threads() as pool:
        return _run(replace(target, pool=pool), settings, guidance, generator, clock, report)


def _guidance(guide: Guide, settings: Settings, last: float) -> Guidance:
    top = min(settings.top, guide.flattest)
    if top <= last:
        raise InputError(
            f"posterior: with a guide levels of noise begin at {top:g}, below which the data's must be: leave it out"
        )
    return Guidance(guide, settings.tries, top)


@contextmanager
def _threads() -> Iterator[Executor | None]:
    """As many threads as torch has, but each with phantoms of its own.

    The operations are many and small: one after the other shared among threads they took ten times as long.
    """
    count = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        if count == 1:
            yield None
        else:
            # OpenMP counts threads for each thread that uses it.
            with ThreadPoolExecutor(count, initializer=_alone) as pool:
                yield pool
    finally:
        torch.set_num_threads(count)


def _alone() -> None:
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)


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
    return Target.build(domain, currents, prior, likelihood, _ACCURACY * float(level.min()))


@dataclass(frozen=True)
class _Trace:
    """What the last level did, sweep by sweep, [measurement, island]."""

    rows: list[Tensor] = field(default_factory=list)
    values: list[Tensor] = field(default_factory=list)
    misfits: list[Tensor] = field(default_factory=list)
    rates: list[Tensor] = field(default_factory=list)

    def record(self, target: Target, ladder: Ladder) -> None:
        z, data, likelihood = tempering.bottom(ladder)
        self.rows.append(target.coordinates.rows(z))
        self.values.append(functions(self.rows[-1], likelihood))
        self.misfits.append(target.likelihood.misfit(data))
        self.rates.append(ladder.chains.accepted.reshape(ladder.shape[:2])[:, -1])

    def kept(self, values: list[Tensor], warmup: int) -> Float64[Tensor, "measurements islands draws *value"]:
        """The last three quarters of all sweeps, without those of the warm-up."""
        first = max(warmup, len(values) // 4)
        return torch.stack(values[min(first, len(values) - 1) :], 2)


def _run(
    target: Target,
    settings: Settings,
    guidance: Guidance | None,
    generator: torch.Generator,
    clock: _Clock,
    report: Progress,
) -> PosteriorResult:
    """Warm up, then go on until the islands agree, or time or patience is over."""
    likelihood, trace = target.likelihood, _Trace()
    everywhere = replace(target, likelihood=likelihood.repeated(settings.levels))
    counts = settings.levels, settings.islands, settings.seed
    ladder = tempering.start(everywhere, likelihood.last, *counts, guidance)
    for turn in range(1, settings.warmup + settings.most + 1):
        if turn <= settings.warmup:
            ladder = _prepared(everywhere, ladder, likelihood.last, turn, settings.warmup, generator)
        if turn == settings.warmup + 1:
            ladder = tempering.multiplied(ladder, settings.ladders)
        learning = _LEARNING if turn <= settings.warmup else 0.0
        ladder = tempering.sweep(everywhere, ladder, learning, generator)
        trace.record(target, ladder)
        enough = turn >= settings.warmup + settings.least and turn % _CHECKED_EVERY == 0
        done = _progress(trace, settings, turn, report)
        if not clock.on() or (enough and done):
            break
    return _result(target, trace, ladder, settings, clock.spent())


def _prepared(
    target: Target, ladder: Ladder, last: Level, turn: int, warmup: int, generator: torch.Generator
) -> Ladder:
    """What happens to the ladder before a sweep of the warm-up."""
    down = warmup // 2
    if turn <= down:
        ladder = tempering.let_down(target, ladder, last, turn / down)
    if turn in {warmup * part // 8 for part in _RESPACED}:
        ladder = tempering.respaced(target, ladder)
    return tempering.settled(target, ladder, generator) if turn <= _SETTLED * warmup else ladder


def _progress(trace: _Trace, settings: Settings, turn: int, report: Progress) -> bool:
    """Tell how far it is; whether the islands of every measurement agree."""
    if turn <= settings.warmup:
        report(turn / (settings.warmup + settings.most), f"warm-up, sweep {turn} of {settings.warmup}")
    elif turn % _CHECKED_EVERY == 0 or turn == settings.warmup + settings.most:
        rhat = float(agreement(trace.kept(trace.values, settings.warmup), settings.ladders)[0].max())
        report(turn / (settings.warmup + settings.most), f"sweep {turn}, R-hat {rhat:.3f}")
        return rhat < AGREED
    return False


def _result(
    target: Target, trace: _Trace, ladder: Ladder, settings: Settings, seconds: float
) -> PosteriorResult:
    warmup, over = settings.warmup, len(trace.rows) > settings.warmup
    ladders = settings.ladders if over else 1
    rhat, ess = agreement(trace.kept(trace.values, warmup), ladders)
    trips = torch.unflatten(ladder.trips, 1, (-1, ladders)).sum(-1)
    diagnostics = Diagnostics(
        rhat,
        ess,
        torch.stack(trace.rates, 1)[:, -len(trace.rates) // 2 :].mean(1),
        trips,
        ladder.barrier,
        (trips > 0).all(1) & over,
        len(trace.rows),
        seconds,
    )
    rows, misfit = (_thinned(trace.kept(part, warmup)) for part in (trace.rows, trace.misfits))
    weight = torch.full_like(misfit, 1 / misfit.shape[1])
    return PosteriorResult(target.domain, target.coordinates.prior, rows, weight, misfit, diagnostics)


def _thinned(values: Tensor) -> Float64[Tensor, "measurements samples *value"]:
    """All islands together, at most `_MOST_SAMPLES`, equally far apart in time."""
    stride = -(-values.shape[1] * values.shape[2] // _MOST_SAMPLES)
    return values[:, :, stride - 1 :: stride].flatten(1, 2)
