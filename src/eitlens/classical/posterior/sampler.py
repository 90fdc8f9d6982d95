"""The posterior of the ellipses given noisy boundary data: the front door."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch
from jaxtyping import Float64
from torch import Tensor

from eitlens import checks
from eitlens.classical.posterior.diagnostics import AGREED, Diagnostics, agreement, functions
from eitlens.classical.posterior.guided import Guidance, Guide
from eitlens.classical.posterior.images import Images, images
from eitlens.classical.posterior.islands import Group, Record, crew
from eitlens.classical.posterior.likelihood import Likelihood
from eitlens.classical.posterior.settings import Settings
from eitlens.classical.posterior.target import Target
from eitlens.domain import Domain, check_boundary_values
from eitlens.errors import InputError
from eitlens.forward.base import Currents
from eitlens.forward.currents import project
from eitlens.phantom import EllipseSampler

Progress = Callable[[float, str], None]
"""Told the part done, 0 to 1, and what is being done."""
# The data are solved to this part of the noise; closer outlines then get more nodes.
_ACCURACY = 0.01
_CHECKED_EVERY = 10
_MOST_SAMPLES = 20_000
_MOST_IN_AN_IMAGE = 2000


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
    workers: int = 1,
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
        workers: processes that share the islands, on a CPU; a script that asks for more than one must be guarded by
            `if __name__ == "__main__"`, as always with processes.
    """
    settings = settings or Settings()
    clock = _Clock(time.monotonic(), seconds)
    target = _target(difference, domain, currents, tau, prior, settings.floor)
    guidance = None if guide is None else _guidance(guide, settings, float(target.likelihood.last.max()))
    report = progress or (lambda part, text: None)
    with _one_thread(), crew(target, settings, guidance, _workers(workers, target)) as groups:
        return _run(target, settings, groups, clock, report)


def _workers(count: int, target: Target) -> int:
    if count < 1:
        raise InputError(f"posterior: workers must be at least 1, got {count}")
    if count > 1 and target.likelihood.measured.is_cuda:
        raise InputError("posterior: workers are processes on a CPU; on a GPU all islands are one batch")
    return count


def _guidance(guide: Guide, settings: Settings, last: float) -> Guidance:
    top = min(settings.top, guide.flattest)
    if top <= last:
        raise InputError(
            f"posterior: with a guide levels of noise begin at {top:g}, below which the data's must be: leave it out"
        )
    return Guidance(guide, settings.tries, top)


@contextmanager
def _one_thread() -> Iterator[None]:
    """The operations are many and small: one after the other shared among threads they took ten times as long."""
    count = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(count)


@dataclass(frozen=True)
class _Clock:
    began: float
    budget: float | None

    def spent(self) -> float:
        return time.monotonic() - self.began

    def on(self) -> bool:
        return self.part() < 1

    def part(self) -> float:
        """Of the time that there is."""
        return 0.0 if self.budget is None else min(1.0, self.spent() / max(self.budget, 1e-9))


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
    """What the last level did, sweep by sweep."""

    records: list[Record] = field(default_factory=list)
    values: list[Tensor] = field(default_factory=list)

    def add(self, record: Record) -> None:
        self.records.append(record)
        self.values.append(functions(record.rows, record.likelihood))

    def kept(
        self, values: list[Tensor], settings: Settings
    ) -> Float64[Tensor, "measurements ladders draws *value"]:
        """The last three quarters of all sweeps, without those of the warm-up.

        Of many short ladders the second half of these: there are draws enough, and the common start is to be forgotten.
        """
        short = max(0, len(values) - settings.warmup) // 2 if settings.ladders > 1 else 0
        first = max(settings.warmup + short, len(values) // 4)
        return torch.stack(values[min(first, len(values) - 1) :], 2)


def _run(
    target: Target, settings: Settings, groups: list[Group], clock: _Clock, report: Progress
) -> PosteriorResult:
    """Warm up, then go on until the islands agree, or time or patience is over."""
    trace = _Trace()
    for turn in range(1, settings.warmup + settings.most + 1):
        for group in groups:
            group.begin()
        trace.add(Record.joined([group.end() for group in groups]))
        enough = turn >= settings.warmup + settings.least and turn % _CHECKED_EVERY == 0
        done = _progress(trace, settings, turn, clock, report)
        if not clock.on() or (enough and done):
            break
    return _result(target, trace, settings, clock.spent())


def _progress(trace: _Trace, settings: Settings, turn: int, clock: _Clock, report: Progress) -> bool:
    """Tell how far it is; whether the islands of every measurement agree."""
    part = max(turn / (settings.warmup + settings.most), clock.part())
    if turn <= settings.warmup:
        report(part, f"warm-up, sweep {turn} of {settings.warmup}")
    elif turn % _CHECKED_EVERY == 0 or turn == settings.warmup + settings.most:
        rhat = float(agreement(trace.kept(trace.values, settings), settings.ladders)[0].max())
        report(part, f"sweep {turn}, R-hat {rhat:.3f}")
        return rhat < AGREED
    return False


def _result(target: Target, trace: _Trace, settings: Settings, seconds: float) -> PosteriorResult:
    records = trace.records
    over = len(records) > settings.warmup
    ladders = settings.ladders if over else 1
    rhat, ess = agreement(trace.kept(trace.values, settings), ladders)
    trips = torch.unflatten(records[-1].trips, 1, (-1, ladders)).sum(-1)
    late = records[-(len(records) + 1) // 2 :]
    diagnostics = Diagnostics(
        rhat,
        ess,
        torch.cat([record.accepted for record in late], 1).mean(1),
        trips,
        records[-1].barrier.mean(1),
        (trips > 0).all(1) & over,
        len(records),
        seconds,
    )
    rows, misfit = (
        _thinned(trace.kept(part, settings))
        for part in ([record.rows for record in records], [record.misfit for record in records])
    )
    weight = torch.full_like(misfit, 1 / misfit.shape[1])
    return PosteriorResult(target.domain, target.coordinates.prior, rows, weight, misfit, diagnostics)


def _thinned(values: Tensor) -> Float64[Tensor, "measurements samples *value"]:
    """All islands together, at most `_MOST_SAMPLES`, equally far apart in time."""
    stride = -(-values.shape[1] * values.shape[2] // _MOST_SAMPLES)
    return values[:, :, stride - 1 :: stride].flatten(1, 2)
