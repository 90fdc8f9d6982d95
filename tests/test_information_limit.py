"""What the result files of the information limit say, and how their tables, claims and pictures are made."""

import math
import sys
from pathlib import Path

import pytest
import torch

sys.path.insert(0, str(Path(__file__).parents[1] / "validation"))

from limit import claims, costs, files, kept, pictures, report, scores
from limit.measurements import Cell, fingerprint, measured, same

needs_files = pytest.mark.skipif(not list(report.cells()), reason="no result files of the information limit")
ROOT = Path(__file__).parents[1]
CELL = Cell(1, 0.05)
COUNT = 12


@needs_files
def test_nobody_beats_the_limit():
    """Paired by phantom: no gain on the limit beyond two standard errors."""
    better = [r for r in report.rivals() if r.gain.value > 2 * r.gain.error]
    assert not better


@needs_files
def test_the_tables_are_what_the_files_say():
    assert report.tables() in (ROOT / "docs" / "posterior_notebook.md").read_text(), (
        "run validation/information_limit.py"
    )


def test_the_costs_are_what_the_files_say():
    page = (ROOT / "docs" / "posterior_notebook.md").read_text()
    assert costs.cost() in page, "run validation/information_limit.py"
    assert costs.judged() in page, "run validation/information_limit.py"


@needs_files
@pytest.mark.parametrize("cell", [cell for cell, _ in report.cells()], ids=lambda cell: cell.name)
def test_the_files_of_a_cell_fit_together(cell):
    limit = dict(report.cells())[cell]
    for values in report.methods(cell, limit).values():
        assert {len(each) for each in values.values()} == {limit["phantoms"]}
    found = kept.load(cell)
    assert len(found.samples) == len(found.mean) == len(found.best) == limit["phantoms"] >= 48
    assert same(measured(cell, 0, limit["phantoms"], torch.device("cpu")), limit["data"])


def test_the_sampler_is_right():
    found = [
        *claims.disk(),
        *(claim for each in claims.CALIBRATIONS.items() for claim in claims.calibration(*each)),
    ]
    assert len(found) == 4 + 2 * (1 + 9 + 1) + (1 + 18 + 1)
    assert all(claim.holds for claim in found)


@pytest.fixture
def made_up(tmp_path, monkeypatch):
    """A cell whose limit is Dice 0.8 ± 0.1 with a network 0.05 behind, on phantoms of which two did not converge."""
    monkeypatch.setattr(files, "RESULTS", tmp_path / "results")
    dice = [0.7 + 0.2 * k / (COUNT - 1) for k in range(COUNT)]
    limit = dict.fromkeys(("hard_dice", "soft_dice", "expected_dice"), dice)
    lower = ("cross_entropy", "expected_cross_entropy", "relative_l2")
    limit |= {name: [1 - value for value in dice] for name in lower}
    rhat, arrived = [1.2, *[1.01] * (COUNT - 1)], [*[True] * (COUNT - 1), False]
    files.write(
        f"{CELL.name}.json",
        {"phantoms": COUNT, "scores": limit, "rhat": rhat, "arrived": arrived, "data": []},
    )
    files.write(f"{CELL.name}_compared.json", {"network": {"hard_dice": [value - 0.05 for value in dice]}})
    return tmp_path


def test_all_are_compared_and_what_converged_is_known(made_up):
    ((_, limit),) = report.cells()
    assert report.converged(limit).tolist() == [False, *[True] * (COUNT - 2), False]
    (rival,) = report.rivals()
    assert rival.gain.value == pytest.approx(-0.05, abs=1e-6)
    assert rival.gain.error < 1e-6


def test_a_network_that_beats_the_limit_is_found_out(made_up):
    worse = {"relative_l2": [1 - (0.72 + 0.2 * k / (COUNT - 1)) for k in range(COUNT)]}
    files.write(f"{CELL.name}_compared.json", {"network": worse})
    (failed,) = [claim for claim in claims.nobody_better() if not claim.holds]
    assert "network does not beat the limit in relative_l2: +0.02" in failed.text


def test_a_table_that_is_not_whole_is_found_out(made_up):
    failed = [claim.text for claim in claims.limit() if not claim.holds]
    assert failed[0].startswith("all 6 cells are there, but L3_tau0.05")
    assert failed[1] == f"L1_tau0.05: {COUNT} phantoms, {COUNT - 2} of them converged"


def test_cost_is_counted(made_up):
    rows = [{"seconds": s, "rhat": [r], "arrived": [True]} for s, r in ((50, 1.04), (130, 1.04), (90, 1.1))]
    files.write("cost_cuda.json", {"device": "a GPU", "measurements": rows})
    (claim,) = claims.cost()
    assert not claim.holds
    assert "within 120 s for 1 of 3 measurements" in claim.text


def test_tables_and_plot_go_into_the_page(made_up):
    page, plot = made_up / "page.md", made_up / "images" / "plot.png"
    page.write_text("before\n<!-- table -->\nold\n<!-- end of table -->\nafter\n")
    report.write(page, plot)
    text = page.read_text()
    assert text.startswith("before\n<!-- table -->\n\n| L |")
    assert text.endswith("<!-- end of table -->\nafter\n")
    assert "| 1 | 0.05 | limit (posterior) | 0.800 ± 0.019 |" in text
    assert "| 1 | 0.05 | network | -0.050 ± 0.000 |  |  |  |" in text
    assert "| 1 | 0.05 | the same, linearised estimate | 0.817 |  | 0.107 |  |  |" in text
    assert "](images/plot.png)" in text
    assert 5000 < plot.stat().st_size < 150_000


def test_the_gallery_takes_what_converged(made_up):
    """Expected Dice grows with the number; the first and the last did not converge."""
    ((_, limit),) = report.cells()
    assert pictures.chosen(limit) == {"easy": COUNT - 2, "typical": COUNT // 2 - 1, "ambiguous": 1}


def test_kept_images_come_back(made_up):
    mean = torch.rand(2, 30, 21, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    mean[0, 0, :2] = torch.tensor([0.0, 1.0])
    samples = torch.ones(2, 3, 4, 5, dtype=torch.float64)
    kept.save(CELL, kept.Kept(samples, mean, mean > 0.4))
    found = kept.load(CELL)
    assert torch.equal(found.samples, samples)
    assert torch.equal(found.best, mean > 0.4)
    assert float((found.mean - mean).abs().max()) < 0.013
    spread = [(m * (1 - m)).sqrt() for m in (found.mean, mean)]
    assert float((spread[0] - spread[1]).abs().max()) < 0.013


def test_a_sure_mean_is_scored_as_it_expects():
    """A square of whose inside 99 draws are sure: what is scored is what was expected, when it is the truth."""
    truth = torch.zeros(60, 60, dtype=torch.float64)
    truth[20:40, 20:40] = 1
    found = scores.of_mean(truth, 99.0, truth)
    assert found["hard_dice_of_mean"] == pytest.approx(1, abs=1e-6)
    assert 0 < found["cross_entropy"] < found["expected_cross_entropy"] < 0.01
    unsure = scores.of_mean(0.2 + 0.6 * truth, 99.0, truth)
    assert unsure["cross_entropy"] == pytest.approx(-math.log(0.8), abs=0.01)


def test_other_measurements_are_told_apart():
    samples = measured(CELL, 0, 2, torch.device("cpu"))
    assert same(samples, fingerprint(samples))
    assert not same(samples, fingerprint(measured(CELL, 1, 3, torch.device("cpu"))))
    assert not same(samples, fingerprint(measured(Cell(1, 0.01), 0, 2, torch.device("cpu"))))


@pytest.mark.parametrize(("ranks", "uniform"), [([k / 200 for k in range(200)], True), ([0.5] * 200, False)])
def test_ranks_are_told_from_uniform_ones(ranks, uniform):
    assert (report.uniform(ranks) > 0.01) is uniform
