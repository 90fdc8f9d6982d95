"""Every figure is drawn, with everything there and with nothing there."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from matplotlib.figure import Figure

from eitlens import models
from eitlens.cli.figures import figures
from eitlens.dataset import SolverConfig
from eitlens.dataset import preset as data_preset
from eitlens.domain import Square
from eitlens.errors import InputError
from eitlens.evaluate.examples import Examples, make_examples, shown
from eitlens.evaluate.metrics import soft_dice
from eitlens.evaluate.sweep import read
from eitlens.feature import Features
from eitlens.figures.style import same_limits
from eitlens.forward.currents import CurrentsConfig
from eitlens.models.trained import Trained
from eitlens.paper.cells import Cell
from eitlens.paper.figures import networks, samples, theorems
from eitlens.paper.figures.registry import FIGURES
from eitlens.paper.figures.studio import Studio
from eitlens.phantom import Ellipse, Phantom, stack
from eitlens.posterior.guide import network as guides

ROOT = Path(__file__).parents[2]
SMALL = replace(data_preset("paper"), n=40, solver=SolverConfig("grid", 1e-4))


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    """Nothing was ever trained."""
    return Studio(tmp_path_factory.mktemp("results"), tmp_path_factory.mktemp("weights"), SMALL, phantoms=1)


@pytest.fixture(scope="module")
def full(bare, tmp_path_factory):
    """A network of the package and two cells, untrained networks all, and a guide, which is no network."""
    home = tmp_path_factory.mktemp("home")
    network = models.create("fno", currents=1)
    trained = Trained(network.eval(), Features(SMALL.n, CurrentsConfig("cosine", 1)))
    for cell in ("unet/0", "uit/0"):
        shutil.copytree(ROOT / "results/table1/uit/0", home / "results/table1" / cell, dirs_exist_ok=True)
        make_examples(trained, bare.scene, 0.0).write(home / "results/table1" / cell / "examples.npz")
    weights = home / "weights" / "flagship"
    weights.mkdir(parents=True)
    models.save(network, weights / "best.safetensors")
    (weights / "features.json").write_text(json.dumps(trained.features.to_dict()))
    evaluation = json.loads((ROOT / "results/table1/uit/0/evaluation.json").read_text())
    rows = [row | {"data": "paper", "currents": 1} for row in evaluation["scores"]]
    (weights / "evaluation.json").write_text(json.dumps({"run": "flagship", "scores": rows}))
    score = evaluation["scores"][0]
    points = [{"kind": "noise", "value": value, "score": score} for value in (0.0, 0.1)]
    (weights / "sweep.json").write_text(json.dumps(points))
    guides.save(guides.Guide(guides.GuideConfig(width=16, layers=1, heads=2)), home / "weights" / "guide")
    return Studio(home / "results", home / "weights", SMALL, phantoms=1)


@pytest.mark.parametrize("name", FIGURES)
def test_drawn_with_what_there_is(name, full, tmp_path):
    FIGURES[name](full, tmp_path / name)
    assert (tmp_path / f"{name}.pdf").read_bytes().startswith(b"%PDF")
    assert (tmp_path / f"{name}.png").stat().st_size > 5000


@pytest.mark.parametrize(
    "name",
    [
        "fig1-pipeline",
        "fig4-convergence",
        "fig6-reconstructions",
        "fig9-latents-unet",
        "noise-robustness",
        "sweeps",
    ],
)
def test_drawn_with_nothing_and_saying_so(name, bare, tmp_path):
    assert FIGURES[name](bare, tmp_path / name) != ""
    assert (tmp_path / f"{name}.png").exists()


def test_an_unknown_figure(tmp_path):
    with pytest.raises(InputError, match=r"fig1-pipeline, .*'fig7'"):
        figures(["fig7"], out=tmp_path)


def test_the_sweep_of_a_network_is_read(full):
    points = read(full.weights / "flagship" / "sweep.json")
    assert [point.value for point in points] == [0.0, 0.1]
    assert 0 < points[0].score.metrics["soft_dice"].mean < 1


def test_chords_lie_on_the_interface():
    disk = stack([Phantom([Ellipse((0.1, 0.0), (0.4, 0.4), 0.0)])])
    chords = samples.chords(Square(16), disk)
    radius = (chords - torch.tensor([0.1, 0.0])).norm(dim=-1)
    np.testing.assert_allclose(radius.numpy(), 0.4, atol=1e-9)
    # They close to a polygon, each within a cell.
    assert float(chords.diff(dim=1).norm(dim=-1).max()) < 2**0.5 * 2 / 16
    assert torch.equal(chords[:, 0].sort(0).values, chords[:, 1].sort(0).values)


def test_examples_survive_the_file(full, tmp_path):
    found = full.examples(Cell("uit", 0.0))
    assert found is not None
    found.write(tmp_path / "again.npz")
    again = Examples.read(tmp_path / "again.npz")
    assert again.index == found.index == full.scene.index.tolist()
    assert torch.equal(again.images, found.images)
    assert again.latents.keys() == found.latents.keys()
    assert all(torch.equal(again.latents[name], level) for name, level in found.latents.items())
    (tmp_path / "bad.npz").write_bytes(b"no archive")
    with pytest.raises(InputError, match="not a file of examples"):
        Examples.read(tmp_path / "bad.npz")


def test_the_levels_shown_are_first_coarsest_and_next():
    sizes = {"down/128": 128, "down/16": 16, "coarse/16": 16, "up/32": 32, "up/128": 128, "logits": 201}
    levels = {name: torch.zeros(1, 1, size, size) for name, size in sizes.items()}
    assert shown(levels) == ["down/128", "coarse/16", "up/32"]
    assert shown({name: level for name, level in levels.items() if name.endswith("128")}) == []


def test_theorem_1_sees_more_with_more_currents():
    found = theorems.study(Square(40), Phantom([Ellipse((0.2, 0.1), (0.3, 0.2), 0.5)]))
    first, last = found.errors[0], found.errors[-1]
    assert last.auc > 0.95 > first.auc
    assert last.l2 < first.l2
    assert last.largest > 0.9
    assert last.best < last.l2


def test_the_dice_of_an_image_is_that_of_table_1():
    logits = 4 * torch.randn(21, 21, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    level = torch.linspace(-1, 1, 21).expand(21, 21)
    kept = (torch.sigmoid(logits) * 255).round() / 255
    assert 0.0 in kept
    assert 1.0 in kept
    expected = float(soft_dice(logits[None], (level < 0).double()[None]))
    assert networks._dice(kept, level) == pytest.approx(expected, abs=1e-3)


def test_panels_to_compare_have_one_scale_and_empty_ones_no_say():
    one, other, empty = Figure().subplots(1, 3)
    one.plot([0, 1], [0.6, 0.7])
    other.plot([0, 1], [0.8, 0.9])
    same_limits([one, other, empty], "y")
    assert one.get_ylim() == other.get_ylim()
    assert 0.5 < one.get_ylim()[0] < 0.6 < 0.9 < one.get_ylim()[1] < 1.0
