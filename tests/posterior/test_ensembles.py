"""Ensembles in a process of their own."""

import os
import signal

import pytest
import torch
from posterior_case import CURRENTS, SQUARE, measure

from eitlens.phantom import EllipseSampler
from eitlens.posterior import Settings
from eitlens.posterior.model.likelihood import Likelihood
from eitlens.posterior.model.target import Target
from eitlens.posterior.sampler.ensembles import Ensembles, _RemoteEnsembles


def test_a_process_hears_no_interrupt_and_its_death_is_told() -> None:
    """An interrupt goes to all processes at a terminal, those that are still importing too."""
    prior, settings = EllipseSampler(seed=2, count=1), Settings(ensembles=2, levels=3, warmup=2)
    likelihood = Likelihood(measure(prior, 0, 0.2), torch.tensor([0.2], dtype=torch.float64))
    target = Target.build(SQUARE, CURRENTS, prior, likelihood, 1e-2)
    heard, away = signal.getsignal(signal.SIGINT), _RemoteEnsembles()
    assert signal.getsignal(signal.SIGINT) is heard
    os.kill(away._process.pid, signal.SIGINT)
    away.settle((target, settings, None, 2, 1))
    away.begin()
    here = Ensembles(target, settings, None, 2, 1).end()
    there = away.end()
    torch.testing.assert_close(there.rows, here.rows)
    away._process.kill()
    away._process.join()
    with pytest.raises(RuntimeError, match="has died"):
        away.begin()
    with pytest.raises(RuntimeError, match="has died"):
        away.end()
    away.stop()
