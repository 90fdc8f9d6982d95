"""When a run ends, and what it keeps of what it did."""

import pytest
import torch
from posterior_case import CURRENTS, SQUARE, measure

from eitlens.errors import InputError
from eitlens.phantom import EllipseSampler
from eitlens.posterior import Settings
from eitlens.posterior.model.likelihood import Likelihood
from eitlens.posterior.model.target import Target
from eitlens.posterior.sampler import sampler
from eitlens.posterior.sampler.ensembles import SweepRecord
from eitlens.posterior.sampler.history import History
from eitlens.posterior.sampler.sampler import _Stopwatch

PRIOR = EllipseSampler(seed=2, count=1)
MEASUREMENTS = 3


class Agreeing:
    """Ensembles that sample the prior itself, which agree at once; places come from the top after `late` sweeps."""

    def __init__(self, settings: Settings, late: int) -> None:
        self.settings, self.late, self.turn = settings, late, 0

    def begin(self) -> None:
        self.turn += 1

    def end(self) -> SweepRecord:
        times = self.settings.ladders if self.turn > self.settings.warmup else 1
        shape = MEASUREMENTS, self.settings.ensembles * times
        count = shape[0] * shape[1]
        rows = PRIOR.batch(self.turn * count, (self.turn + 1) * count).groups[0].parameters
        flat, one = torch.zeros(shape, dtype=torch.float64), torch.ones(MEASUREMENTS, 1, dtype=torch.float64)
        # A number that says which sweep it was.
        misfit = flat + self.turn
        trips = torch.full(shape, int(self.turn >= self.late))
        return SweepRecord(rows.reshape(*shape, 1, 5), flat, misfit, trips, one * self.turn, one)


def ran(settings: Settings, late: int = 0, seconds: float | None = None) -> sampler.PosteriorResult:
    likelihood = Likelihood(measure(PRIOR, 0, 0.2), torch.tensor([0.2], dtype=torch.float64))
    target = Target.build(SQUARE, CURRENTS, PRIOR, likelihood, 1e-2)
    stopwatch = _Stopwatch(-1e9, seconds)
    return sampler._run(target, settings, [Agreeing(settings, late)], stopwatch, lambda part, text: None)


def test_a_run_ends_when_it_has_converged_not_when_ensembles_agree() -> None:
    """Ensembles that agree but saw no place come from the top have not converged: the time that is left is theirs."""
    settings = Settings(ensembles=4, levels=3, warmup=8, least=100, most=400)
    soon, later, never = (ran(settings, late).diagnostics for late in (0, 201, 1000))
    assert (soon.sweeps, later.sweeps, never.sweeps) == (110, 210, 408)
    assert bool(soon.converged.all())
    assert bool(later.converged.all())
    assert not bool(never.arrived.any())
    assert float(never.rhat.max()) < 1.05


@pytest.mark.parametrize(
    ("ladders", "sweeps", "kept"),
    [
        (1, 1, [1]),
        (1, 12, [10, 11, 12]),
        (4, 16, [13, 14, 15, 16]),
        (1, 17, [17]),
        (4, 17, [17]),
        (1, 26, [*range(17, 27)]),
        (4, 26, [*range(22, 27)]),
        (1, 80, [*range(21, 81)]),
    ],
)
def test_what_is_kept(ladders: int, sweeps: int, kept: list[int]) -> None:
    """A warm-up of 16 sweeps: its last quarter while it lasts, nothing of it later."""
    settings = Settings(ensembles=2, levels=3, warmup=16, ladders=ladders)
    history, group = History(settings), Agreeing(settings, 0)
    for _ in range(sweeps):
        group.begin()
        history.add(group.end())
    rows, misfit = history.samples()
    chains = 2 * ladders if sweeps > 16 else 2
    assert rows.shape == (MEASUREMENTS, chains * len(kept), 1, 5)
    assert sorted(misfit[0].tolist()) == sorted(chains * kept)
    found = history.diagnostics(1.0)
    assert found.trips.shape == (MEASUREMENTS, 2)
    assert bool(found.rhat.isfinite().all()) is (sweeps > 16 and len(kept) >= 8)
    assert bool(found.arrived.all()) is (sweeps > 16)
    assert float(found.acceptance[0]) == pytest.approx((sweeps // 2 + 1 + sweeps) / 2)


@pytest.mark.parametrize("ladders", [1, 4])
def test_no_time_at_all_still_gives_something_to_look_at(ladders: int) -> None:
    result = ran(Settings(ensembles=4, levels=3, warmup=8, ladders=ladders), seconds=0.0)
    assert result.rows.shape == (MEASUREMENTS, 4, 1, 5)
    assert not bool(result.diagnostics.converged.any())
    assert float(result.mean(2).max()) >= 0.25


@pytest.mark.parametrize(
    "change", [{"manifold_steps": 0}, {"floor": 0.0}, {"top": -1.0}, {"ensembles": 1}, {"most": 50}]
)
def test_settings_that_cannot_work(change: dict[str, float]) -> None:
    with pytest.raises(InputError, match="posterior: "):
        Settings(**change)
