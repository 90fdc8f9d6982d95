"""Scores made again from weights: alike where these are the ones that were scored, and only there."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner

from eitlens import models
from eitlens.cli.main import app
from eitlens.errors import InputError
from eitlens.models.trained import Trained
from eitlens.paper.cells import Cell
from eitlens.paper.check import check, subject
from eitlens.paper.training import Plan, fill

RESULTS = Path(__file__).parents[2] / "results"
CELL = Cell("fno", 0.05)


@pytest.fixture(scope="module")
def plan(tiny, tmp_path_factory):
    home = tmp_path_factory.mktemp("check")
    options = {"device": "cpu", "batch": 4, "precision": "32", "compile": "off", "epochs": 1}
    plan = Plan(home / "results", home / "runs", data=replace(tiny, train=8), keep=home / "kept", **options)
    assert fill(plan, [CELL]) == {CELL: "finished"}
    return plan


@pytest.mark.parametrize("place", ["kept", "runs"])
def test_a_cell_whose_weights_are_there_is_scored_again(plan, place):
    one = subject(str(CELL), plan.results, [plan.results.parent / place])
    found = {row.metric: row for row in check(one)}
    assert set(found) >= {"soft_dice", "cross_entropy", "calibration_error"}
    assert all(row.holds for row in found.values())
    assert found["soft_dice"].found == pytest.approx(found["soft_dice"].recorded, abs=1e-4)


def test_other_weights_are_found_out(plan, tmp_path):
    trained = Trained.load(plan.run(CELL))
    torch.manual_seed(1)
    for parameter in trained.network.parameters():
        parameter.data += 0.3 * torch.randn_like(parameter)
    folder = CELL.folder(tmp_path / "plain")
    models.save(trained.network, folder / "best.safetensors")
    trained.features.save(folder)
    words = ["benchmark", "table1", "--check", str(CELL), "--root", plan.results.parent, "--keep", tmp_path]
    done = CliRunner().invoke(app, [str(word) for word in (*words, "--runs", tmp_path / "none")])
    assert done.exit_code == 1, done.output
    assert "more than 0.001 apart" in done.output


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("uit/0", "uit/0: its weights are not kept: check a network of the package .flagship, uit-small."),
        ("flagship", "flagship: give the currents and the noise, too, as flagship/1/0.05"),
        ("flagship/3", "give the currents and the noise, too"),
        ("flagship/3/0.5", "no scores at this noise: choose one of 0, 0.05, 0.2"),
        ("vit/0", "no network 'vit'"),
    ],
)
def test_what_cannot_be_checked_is_one_line(text, message):
    with pytest.raises(InputError, match=message):
        subject(text, RESULTS)


def test_a_network_of_the_package_is_read_with_its_recorded_scores():
    one = subject("flagship/1/0.2", RESULTS)
    rows = json.loads((one.folder / "evaluation.json").read_text())["scores"]
    recorded = [row for row in rows if (row["data"], row["currents"], row["tau"]) == ("paper", 1, 0.2)]
    assert one.recorded["soft_dice"].mean == recorded[0]["metrics"]["soft_dice"]["mean"]
    assert (one.currents, one.tau, one.data.test) == (1, 0.2, 2000)
