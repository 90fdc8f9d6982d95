"""Cells of Table 1 with networks and data so small that they are quick."""

import json
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from eitlens.errors import InputError
from eitlens.evaluate.examples import Examples
from eitlens.models.trained import Trained
from eitlens.paper.cells import Cell, read_record
from eitlens.paper.training import RESERVE, Plan, fill, missing, run_cell
from eitlens.paper.variants import VARIANTS
from eitlens.train.config import TrainConfig
from eitlens.train.lock import lock_file
from eitlens.train.setup import create_network

CELL = Cell("fno", 0.05)
RESULTS = Path(__file__).parents[2] / "results"


@pytest.fixture(scope="module")
def plan(data, tmp_path_factory):
    home = tmp_path_factory.mktemp("table")
    small = replace(data, train=8, validation=4, test=5)
    return Plan(
        home / "results",
        home / "runs",
        device="cpu",
        batch=4,
        precision="32",
        compile="off",
        data=small,
        epochs=3,
        keep=home / "kept",
    )


def test_a_cell_is_stopped_goes_on_and_comes_home(plan):
    told = []

    def tell(cell, outcome, why):
        told.append((str(cell), outcome, why))

    assert fill(plan, [CELL], minutes=RESERVE, tell=tell) == {}
    assert not run_cell(plan, CELL, minutes=0.0)
    assert missing(plan, [CELL]) == [CELL]
    assert fill(plan, [CELL], tell=tell) == {CELL: "finished"}
    assert told == [("fno/0.05", "finished", "")]
    folder = CELL.folder(plan.table)
    record = read_record(folder)
    assert sorted(record.scores) == [0.0, 0.05, 0.2]
    assert record.result["samples"] == 24
    assert sum(file.stat().st_size for file in folder.iterdir()) < 1_000_000
    assert missing(plan, [CELL]) == []
    assert fill(plan, [CELL]) == {}


def test_when_the_time_is_over_no_other_cell_is_begun(plan, monkeypatch):
    monkeypatch.setattr("eitlens.paper.training.run_cell", lambda *_: False)
    cells = [Cell("fno", 0.0), Cell("fno", 0.2)]
    assert fill(plan, cells) == {cells[0]: "stopped"}


def test_processes_share_the_cells(plan, monkeypatch):
    """What another holds is left to it; what another has finished meanwhile is not trained again."""
    cells, trained = [Cell("fno", 0.0), Cell("fno", 0.2), Cell("unet", 0.0)], []
    finished = cells[1].folder(plan.table) / "result.json"

    def run(plan, cell, minutes, observers):
        trained.append(cell)
        finished.parent.mkdir(parents=True)
        finished.write_text("{}")
        return True

    monkeypatch.setattr("eitlens.paper.training.run_cell", run)
    with lock_file(plan.lock(cells[0])) as mine:
        assert mine
        assert fill(plan, [cells[2], *cells[:2]]) == {cells[2]: "finished"}
    assert trained == [cells[2]]
    finished.unlink()
    finished.parent.rmdir()
    with lock_file(plan.lock(cells[0])) as mine:
        assert mine


def test_what_was_kept_is_what_was_scored(plan):
    fill(plan, [CELL])
    examples = Examples.read(CELL.folder(plan.table) / "examples.npz")
    assert examples.images.shape == (4, 33, 33)
    assert examples.tau == 0.05
    assert examples.latents == {}, "an FNO has one grid"
    kept = Trained.load(CELL.folder(plan.keep / "plain"))
    assert kept.network.preset == "fno"


def test_a_cell_that_fails_does_not_stop_the_others(plan):
    told = {}
    bad = replace(plan, batch=50)
    found = fill(bad, [Cell("fno", 0.0), Cell("fno", 0.2)], tell=lambda c, o, why: told.update({c: why}))
    assert set(found.values()) == {"failed"}
    assert len(found) == 2
    assert "choose a smaller batch" in told[Cell("fno", 0.0)]
    assert not plan.run(Cell("fno", 0.0)).exists()


def test_a_failure_without_words_is_named(plan, monkeypatch):
    def fail(*_):
        raise RuntimeError

    told = []
    monkeypatch.setattr("eitlens.paper.training.run_cell", fail)
    cell = Cell("fno", 0.2)
    assert fill(plan, [cell], tell=lambda *what: told.append(what)) == {cell: "failed"}
    assert told == [(cell, "failed", "RuntimeError")]


def test_making_the_data_is_part_of_the_time(plan, monkeypatch):
    late, clock, given = [0.0], time.monotonic, []

    def slow(*_, **__):
        late[0] += 180

    def run(recipe, folder, device, minutes, observers):
        given.append(minutes)

    monkeypatch.setattr("time.monotonic", lambda: clock() + late[0])
    monkeypatch.setattr("eitlens.paper.training.generate", slow)
    monkeypatch.setattr("eitlens.paper.training.train", run)
    assert not run_cell(plan, Cell("unet", 0.2), minutes=10)
    assert given == [pytest.approx(7, abs=0.1)]


def test_the_recipe_is_that_of_the_cell_in_the_repository():
    kept = TrainConfig.from_dict(json.loads((RESULTS / "table1/uit/0/config.json").read_text()))
    ours = Plan(RESULTS, RESULTS).recipe(Cell("uit", 0.0))
    same = replace(ours, name=kept.name, data=kept.data, log_every=kept.log_every)
    assert same == kept


@pytest.mark.parametrize("name", VARIANTS)
def test_variants_are_valid_and_change_something(name):
    preset = {"last-head": "hybrid-ut", "coarse-norms": "uit-softmax"}.get(name, "fno")
    plain = Plan(RESULTS, RESULTS).recipe(Cell(preset, 0.0))
    changed = VARIANTS[name](plain)
    assert (changed == plain) == (name == "plain")


@pytest.mark.parametrize("preset", ["uit", "unet", "hybrid-ut", "uit-softmax"])
def test_the_published_recipe(preset):
    """The code's: docs/findings.md says what each part is. Precision and data are ours."""
    plan = Plan(RESULTS, RESULTS, "published")
    recipe = plan.recipe(Cell(preset, 0.0))
    assert (recipe.batch, recipe.loss, recipe.gradient) == (10, "weighted-bce", "repo")
    assert recipe.network.faithful == (preset != "unet")  # nothing in a plain U-Net differs
    assert (recipe.schedule.lr, recipe.schedule.peak, recipe.schedule.beta1) == (1e-3, 0.2, 0.95)
    assert (recipe.optimiser, recipe.weight_decay, recipe.clip, recipe.average) == ("adam", 0, 0, 0)
    assert (recipe.epochs, recipe.select, recipe.augment) == (50, "paper_l2", False)


def test_rows_as_published_change_one_setting_each():
    for variant, preset, key, value in (
        ("last-head", "hybrid-ut", "side_heads", False),
        ("coarse-norms", "uit-softmax", "coarse_norms", True),
    ):
        cell = Cell(preset, 0.0)
        plain, clean = (Plan(RESULTS, RESULTS, name).recipe(cell) for name in ("plain", variant))
        assert clean == replace(plain, network=replace(plain.network, settings={key: value}))
        assert getattr(create_network(clean, 1).config, key) == value


def test_a_variant_that_changes_nothing_is_refused():
    with pytest.raises(InputError, match="uit: coarse_norms=True changes nothing"):
        Plan(RESULTS, RESULTS, "coarse-norms").recipe(Cell("uit", 0.0))


def test_another_seed_has_its_own_folders(plan):
    other, changed = replace(plan, seed=7), replace(plan, seed=7, variant="decay")
    assert other.table == plan.results / "seeds/7/table1"
    assert changed.table == plan.results / "seeds/7/variants/decay"
    assert plan.table == plan.results / "table1"
    assert len({str(each.run(CELL)) for each in (plan, other, changed)}) == 3
    assert other.recipe(CELL) == replace(plan.recipe(CELL), seed=7)


def test_an_unknown_variant_is_refused():
    with pytest.raises(InputError, match=r"variant .*'big'"):
        Plan(RESULTS, RESULTS, "big")


def test_a_network_learns_from_a_substitute_of_phi(plan):
    """The whole way: trained, scored, kept in 8 bits with its input."""
    short = replace(plan, variant="code-fields", epochs=1)
    assert fill(short, [CELL]) == {CELL: "finished"}
    plain, other = plan.recipe(CELL), short.recipe(CELL)
    assert other == replace(plain, epochs=1, input=other.input)
    kept = Trained.load(CELL.folder(plan.keep / short.variant))
    assert kept.features.replaces == plain.input
    assert kept(torch.zeros(2, 1, 128, dtype=torch.float64)).shape == (2, 33, 33)


def test_a_network_refuses_an_input_of_another_kind():
    recipe = Plan(RESULTS, RESULTS).recipe(Cell("unet", 0.0))
    with pytest.raises(InputError, match="unet reads harmonic input, the recipe has gaussian"):
        create_network(replace(recipe, input="gaussian"), 1)
