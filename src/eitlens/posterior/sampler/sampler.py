"""The posterior of the ellipses given noisy boundary data: the front door."""

import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float64
from torch import Tensor

from eitlens import checks, threads
from eitlens.domain import Domain, check_boundary_values
from eitlens.errors import InputError
from eitlens.forward.base import Currents
from eitlens.forward.currents import project
from eitlens.phantom import EllipseSampler
from eitlens.posterior.guide.proposals import Guidance, ProposalDensity
from eitlens.posterior.model.likelihood import Likelihood
from eitlens.posterior.model.target import Target
from eitlens.posterior.sampler.diagnostics import AGREED, Diagnostics
from eitlens.posterior.sampler.ensembles import EnsembleGroup, SweepRecord, running_ensembles
from eitlens.posterior.sampler.history import History
from eitlens.posterior.sampler.images import Images, images, mean
from eitlens.posterior.sampler.settings import Settings

Progress = Callable[[float, str], None]
"""Called with the part done, 0 to 1, and what is being done."""
# The data are solved to this part of the noise, which then decides; closer outlines get more nodes for it.
_ACCURACY = 0.01
_CHECKED_EVERY = 10  # sweeps between two looks at R-hat: to stop at the first good look flatters it a little
# Samples: the mean is then right to a hundredth, and 2000 fields of bits fit the memory.
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
        return images(self.domain, *self._drawn(k), self.prior.inside, self.prior.outside)

    def mean(self, k: int = 0) -> Float64[Tensor, "nx ny"]:
        """The probability of inclusion of measurement k at each node: that of `images`, and in half of the time."""
        return mean(self.domain, *self._drawn(k))

    def picked(self, k: int, count: int, seed: int = 0) -> Float64[Tensor, "count ellipses 5"]:
        """Draw some samples of measurement k by their weights."""
        generator = torch.Generator().manual_seed(seed)
        return self.rows[k][torch.multinomial(self.weight[k].cpu(), count, True, generator=generator)]

    def _drawn(self, k: int) -> tuple[Tensor, Tensor]:
        """Take as many samples as images are made from, and their weights."""
        stride = -(-self.rows.shape[1] // _MOST_IN_AN_IMAGE)
        rows, weight = self.rows[k, ::stride], self.weight[k, ::stride]
        return rows, weight / weight.sum()


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
    guide: ProposalDensity | None = None,
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
        guide: proposes phantoms (see `posterior.guide`), for data like those it was trained on; the limit is the same.
        workers: processes that share the ensembles, on a CPU, each with random numbers of its own; a script that asks
            for more than one must be guarded by `if __name__ == "__main__"`, as always with processes.
    """
    settings = settings or Settings()
    stopwatch = _Stopwatch(time.monotonic(), seconds)
    report = progress or (lambda part, text: None)
    with threads.Limit(1):  # the operations are many and small
        given = checks.physics(currents, "currents")
        target = _target(difference, domain, given, tau, prior, settings.floor)
        guidance = None if guide is None else _guidance(guide, settings, float(target.likelihood.last.max()))
        with running_ensembles(target, settings, guidance, _workers(workers, target)) as groups:
            return _run(target, settings, groups, stopwatch, report)


def _workers(count: int, target: Target) -> int:
    checks.at_least("posterior: workers", count, 1)
    if count > 1 and target.likelihood.measured.is_cuda:
        raise InputError("posterior: workers are processes on a CPU; on a GPU all ensembles are one batch")
    return count


def _guidance(guide: ProposalDensity, settings: Settings, last: float) -> Guidance:
    top = min(settings.top, guide.flattest)
    if top <= last:
        raise InputError(
            f"posterior: with a guide levels of noise begin at {top:g}, below which the data's must be: leave it out"
        )
    return Guidance(guide, settings.tries, top)


@dataclass(frozen=True)
class _Stopwatch:
    began: float
    budget: float | None

    def spent(self) -> float:
        return time.monotonic() - self.began

    def part(self) -> float:
        """The part of the time that is spent."""
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
    level = _levels(tau, data)
    if bool((data.square().sum(-1) == 0).any()):
        raise InputError("posterior: a measurement is zero everywhere: is there an inclusion at all?")
    likelihood = Likelihood(project(data), level, floor)
    return Target.build(domain, currents, prior, likelihood, _ACCURACY * float(level.min()))


def _levels(tau: float | Tensor, data: Float64[Tensor, "measurements currents boundary"]) -> Tensor:
    """The noise level of each measurement."""
    level = torch.as_tensor(tau, dtype=torch.float64, device=data.device)
    if level.shape not in {(), (1,), (len(data),)}:
        raise InputError(
            f"posterior: expected one tau for all or {len(data)}, one a measurement, got {tuple(level.shape)}"
        )
    checks.positive(level, "posterior: tau (the noise level, to be known)")
    return level.expand(len(data)).contiguous()


def _run(
    target: Target, settings: Settings, groups: list[EnsembleGroup], stopwatch: _Stopwatch, report: Progress
) -> PosteriorResult:
    """Warm up, then go on until all has converged, or time or patience is over."""
    history = History(settings)
    for _ in range(settings.warmup + settings.most):
        for group in groups:
            group.begin()
        history.add(SweepRecord.joined([group.end() for group in groups]))
        if _done(history, stopwatch, report):
            break
    rows, misfit = history.samples()
    weight = torch.full_like(misfit, 1 / misfit.shape[1])
    found = history.diagnostics(stopwatch.spent())
    return PosteriorResult(target.domain, target.coordinates.prior, rows, weight, misfit, found)


def _done(history: History, stopwatch: _Stopwatch, report: Progress) -> bool:
    """Tell how far it is; whether time is over or, looked at now and then, all has converged."""
    settings, turn = history.settings, len(history.records)
    last = settings.warmup + settings.most
    part = max(turn / last, stopwatch.part())
    if turn <= settings.warmup:
        report(part, f"warm-up, sweep {turn} of {settings.warmup}")
    elif turn % _CHECKED_EVERY == 0 or turn == last:
        found = history.diagnostics(stopwatch.spent())
        report(part, f"sweep {turn}, {_state(found)}")
        if turn >= settings.warmup + settings.least and bool(found.converged.all()):
            return True
    return stopwatch.part() == 1


def _state(found: Diagnostics) -> str:
    """Describe in words the measurement that is farthest behind."""
    rhat = float(found.rhat.max())
    waits = rhat < AGREED and not bool(found.arrived.all())
    return f"R-hat {rhat:.3f}{', waiting for places from the top' if waits else ''}"
