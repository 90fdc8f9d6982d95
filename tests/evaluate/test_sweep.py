"""Sweeps with a network that has learned nothing: what they simulate, not how good it is."""

from dataclasses import replace

import pytest
import torch

from eitlens import models
from eitlens.dataset import DataConfig, SamplerConfig, SolverConfig
from eitlens.errors import InputError
from eitlens.evaluate import sweep as sweeps
from eitlens.evaluate.score import score
from eitlens.feature import Features
from eitlens.feed import simulate_range
from eitlens.forward.currents import CurrentsConfig
from eitlens.models.trained import Trained

RECIPE = DataConfig(
    "tiny",
    n=32,
    train=4,
    validation=2,
    test=4,
    currents=CurrentsConfig(count=1),
    sampler=SamplerConfig(count=1, disjoint=True),
    solver=SolverConfig("boundary-integral", tolerance=1e-4),
)


@pytest.fixture(scope="module")
def trained() -> Trained:
    torch.manual_seed(0)
    network = models.create("uit-small", currents=1, width=8, resolution=32).eval()
    return Trained(network, Features(32, CurrentsConfig(count=1)))


def test_every_sweep_has_its_cases():
    values = {kind: [case.value for case in cases(RECIPE)] for kind, cases in sweeps.SWEEPS.items()}
    assert values["resolution"] == [64, 96, 128, 160, 200, 256]
    assert values["inclusions"] == [1, 2, 3, 4, 5, 6]
    assert values["contrast"] == [2, 5, 10, 20, 50, 100]
    assert len(values["shapes"]) == len(set(values["shapes"])) == 4
    assert [case.recipe.sampler.inside for case in sweeps.contrast(RECIPE)] == values["contrast"]


def test_a_sweep_over_shapes_and_noise(trained, monkeypatch):
    monkeypatch.setattr(sweeps, "DECIBELS", (20,))
    monkeypatch.setattr(sweeps, "LEVELS", (0.0, 0.2))
    seen = []
    points = sweeps.sweep(
        trained, RECIPE, ["shapes", "noise", "white-noise"], 2, progress=lambda *at: seen.append(at)
    )
    assert [(p.kind, p.value) for p in points] == seen
    assert [p.score.samples for p in points] == [2] * 7
    by = {(p.kind, p.value): p.score.metrics["cross_entropy"].mean for p in points}
    assert by["noise", 0.0] != by["noise", 0.2] != by["white-noise", 20]


def test_resolution_changes_the_grid_and_little_else(trained, monkeypatch):
    monkeypatch.setattr(sweeps, "RESOLUTIONS", (48, 64))
    points = sweeps.sweep(trained, RECIPE, ["resolution"], 2)
    a, b = (p.score.metrics["cross_entropy"].mean for p in points)
    assert a == pytest.approx(b, rel=0.05)


def test_a_sweep_that_does_not_exist(trained):
    with pytest.raises(InputError, match=r"sweep .*resolution"):
        sweeps.sweep(trained, RECIPE, ["colour"])


def test_scores_do_not_depend_on_the_batch_and_are_the_same_twice(trained, monkeypatch):
    samples = simulate_range(RECIPE, 0, 4, torch.device("cpu"))
    whole = score(trained, samples, 0.1)
    monkeypatch.setattr("eitlens.evaluate.score.BATCH", 3)
    parts = score(trained, samples, 0.1)
    assert parts.metrics["cross_entropy"].mean == pytest.approx(whole.metrics["cross_entropy"].mean, rel=1e-5)
    assert parts.calibration.mean == pytest.approx(whole.calibration.mean, rel=1e-4)


def test_data_of_another_make_are_refused(trained):
    samples = simulate_range(replace(RECIPE, n=48), 0, 2, torch.device("cpu"))
    with pytest.raises(InputError, match="trained for"):
        score(trained, samples)
