"""The history of the last level, sweep by sweep: the samples there are, and what they are worth."""

from dataclasses import dataclass, field

import torch
from jaxtyping import Float64
from torch import Tensor

from eitlens.posterior.sampler.diagnostics import Diagnostics, agreement, functions
from eitlens.posterior.sampler.ensembles import SweepRecord
from eitlens.posterior.sampler.settings import Settings

_MOST_SAMPLES = 20_000  # a measurement: 3 MB, and many times the effective number


@dataclass(frozen=True)
class History:
    """The records of all sweeps so far, and the functions by which ensembles are compared."""

    settings: Settings
    records: list[SweepRecord] = field(default_factory=list)
    values: list[Tensor] = field(default_factory=list)

    def add(self, record: SweepRecord) -> None:
        """Add one more sweep."""
        self.records.append(record)
        self.values.append(functions(record.rows, record.likelihood))

    def diagnostics(self, seconds: float) -> Diagnostics:
        """Diagnose what is to be believed of the samples after so many seconds."""
        draws, ladders = self._kept(self.values), self.settings.ladders
        # A warm-up has no draws to compare.
        rhat, ess = agreement(draws if self._over else draws[:, :, :0], ladders)
        latest, late = self.records[-1], self.records[len(self.records) // 2 :]
        trips = torch.unflatten(latest.trips, 1, (-1, ladders if self._over else 1)).sum(-1)
        return Diagnostics(
            rhat=rhat,
            ess=ess,
            acceptance=torch.cat([record.accepted for record in late], 1).mean(1),
            trips=trips,
            barrier=latest.barrier.mean(1),
            arrived=(trips > 0).all(1) & self._over,
            sweeps=len(self.records),
            seconds=seconds,
        )

    def samples(self) -> tuple[Tensor, Tensor]:
        """Ellipses and misfits, [measurement, sample]."""
        rows, misfit = ([record.rows for record in self.records], [record.misfit for record in self.records])
        return _thinned(self._kept(rows)), _thinned(self._kept(misfit))

    @property
    def _over(self) -> bool:
        """Tell whether the warm-up is over."""
        return len(self.records) > self.settings.warmup

    def _kept(self, values: list[Tensor]) -> Float64[Tensor, "measurements ladders draws *value"]:
        """The last three quarters of all sweeps, without those of the warm-up; the last quarter before it is over.

        Of many short ladders the second half of these: there are draws enough, and the common start is to be forgotten.
        """
        done, warmup = len(values), self.settings.warmup
        if not self._over:
            return torch.stack(values[-max(1, done // 4) :], 2)
        short = (done - warmup) // 2 if self.settings.ladders > 1 else 0
        return torch.stack(values[max(warmup + short, done // 4) :], 2)


def _thinned(values: Tensor) -> Float64[Tensor, "measurements samples *value"]:
    """Thin the samples of all ensembles together to at most `_MOST_SAMPLES`, equally far apart in time."""
    stride = -(-values.shape[1] * values.shape[2] // _MOST_SAMPLES)
    return values[:, :, stride - 1 :: stride].flatten(1, 2)
