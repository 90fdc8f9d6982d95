"""The table a network for worlds is scored on: its rows, its bars, and what it says of a network of either kind."""

import sys
from pathlib import Path

import pytest
import torch

from eitlens import models
from eitlens.dataset import preset
from eitlens.evaluate.score import Score
from eitlens.evaluate.statistics import MetricSummary
from eitlens.feature import Features, InputRecipe
from eitlens.feature.scaled import ScaledCodes
from eitlens.feed import simulate_range
from eitlens.forward.currents import CurrentsConfig
from eitlens.models.trained import Trained

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))
import worlds_rows

CPU = torch.device("cpu")
SMALL = {
    "modes": 16,
    "width": 64,
    "layers": 1,
    "heads": 2,
    "grid": 4,
    "hidden": 64,
    "waves": 2,
    "amplitudes": 2,
}


def test_every_row_has_a_name_of_its_own_and_a_recipe_that_knows_sigma():
    known = list(worlds_rows.rows())
    assert len({row.name for row in known}) == len(known)
    assert {row.group for row in known} == {
        "limit",
        "paper",
        "contrast",
        "shapes",
        "white",
        "worlds",
        "sigma",
    }
    assert all(row.recipe.sigma for row in known)
    assert all(row.most == worlds_rows.PHANTOMS for row in known if row.group == "limit")


def test_a_bar_is_reached_or_missed():
    one = MetricSummary(0.9, 0.9, 0.8, 1.0)
    found = Score(3, {"hard_dice": one}, MetricSummary(0.02, 0.02, 0.01, 0.03), {})
    told = worlds_rows.against(
        found, {"hard_dice": (0.89, None), "calibration_error": (None, 0.01), "coverage": (0, 1)}
    )
    assert [told[name]["reached"] for name in ("hard_dice", "calibration_error")] == [True, False]
    assert "coverage" not in told


@pytest.fixture(scope="module")
def networks():
    """Untrained networks of classes, and of masks."""
    bodies = simulate_range(preset("worlds-smoke"), 0, 24, CPU).difference
    codes = ScaledCodes.fitted(
        InputRecipe(n=32, currents=CurrentsConfig(count=3), modes=16), lambda _: bodies
    )
    plain = models.create("uit-small", currents=3, width=8, resolution=32).eval()
    classes = models.create("worlds", currents=3, **SMALL).eval()
    return Trained(classes, codes), Trained(plain, Features(32, CurrentsConfig(count=3)))


@pytest.mark.parametrize("group", ["white", "limit", "sigma"])
def test_networks_of_either_kind_are_scored(networks, group):
    row = [one for one in worlds_rows.rows() if one.group == group][-1]
    for trained, phased in zip(networks, (True, False), strict=True):
        found = worlds_rows.Scorer(trained, 2)(row)
        assert found["samples"] == 2
        assert ("sigma_inside" in found["metrics"]) == phased
        assert {"hard_dice", "calibration_error"} <= set(found["metrics"])
