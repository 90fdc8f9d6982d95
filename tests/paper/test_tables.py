"""The tables of results: read from files, composed, and equal to the page in docs."""

import json
import shutil
import statistics
from pathlib import Path

import pytest

from eitlens.errors import InputError
from eitlens.evaluate.statistics import MetricSummary
from eitlens.paper import orderings, seeds, table1
from eitlens.paper.cards import cards, refresh_card
from eitlens.paper.cells import SEED, Cell, Record, read_record, read_shipped, read_table, wanted
from eitlens.paper.markdown import number, table, with_interval
from eitlens.paper.page import Places, compose
from eitlens.paper.published import LEVELS, published
from eitlens.paper.sources import lookup
from eitlens.weights import SHIPPED

ROOT = Path(__file__).parents[2]
PLACES = Places(ROOT)
RUNS = seeds.read_runs(ROOT / "results")


def _record(value: float, width: float = 0.001, metric: str = "soft_dice") -> Record:
    summary = MetricSummary(value, value, value - width, value + width)
    return Record({}, {}, {0.0: {metric: summary}})


def test_the_page_says_what_the_result_files_say():
    assert (ROOT / "docs/results.md").read_text() == compose(PLACES), "run `eitlens benchmark table1`"


def test_the_model_cards_say_what_the_evaluations_say():
    found = cards(SHIPPED)
    assert [card.parent.name for card in found] == ["flagship", "uit-small"]
    for card in found:
        assert card.read_text() == refresh_card(card), "run `eitlens benchmark table1`"


def test_a_card_without_scores_is_left_alone(tmp_path):
    (tmp_path / "guide").mkdir()
    (tmp_path / "guide" / "card.md").write_text("no network\n")
    assert cards(tmp_path) == []


def test_every_cell_is_there_small_and_whole():
    cells = read_table(ROOT / "results/table1")
    assert len(cells) == len(published()) * len(LEVELS) == 36
    for cell in cells:
        folder = cell.folder(ROOT / "results/table1")
        assert sum(file.stat().st_size for file in folder.iterdir()) < 1_000_000
        assert {"config.json", "result.json", "evaluation.json", "log.csv", "learning_curve.png"} <= {
            f.name for f in folder.iterdir()
        }


@pytest.mark.parametrize(
    ("tau", "metric", "held"),
    [
        (0.0, "soft_dice", 18),
        (0.05, "soft_dice", 14),
        (0.2, "soft_dice", 13),
        (0.0, "paper_l2", 18),
        (0.05, "paper_l2", 15),
        (0.2, "paper_l2", 15),
    ],
)
def test_the_main_orderings_of_the_paper(tau, metric, held):
    """Those that no seed could change: 18, 27 of 36 and, by L2, 30 of 36. None is reversed."""
    found = [orderings.counts(RUNS, claim, tau, metric) for claim in orderings.CLAIMS[:2]]
    assert sum(each["holds"] for each in found) == held
    assert sum(each["reversed"] + each["missing"] for each in found) == 0


def test_uit_learns_enough_from_the_finite_set_moved_by_its_symmetries():
    scores = read_record(ROOT / "results/variants/symmetry/uit/0").scores[0.0]
    assert scores["soft_dice"].mean >= 0.89
    assert scores["cross_entropy"].mean <= 0.065


def test_the_papers_numbers():
    rows = published()
    assert len(rows) == 12
    assert rows["uit"].value("soft_dice", 0.0) == 0.897
    assert rows["uit-l3"].value("cross_entropy", 0.2) == 0.0900
    assert rows["fno-big"].value("paper_l2", 0.05) == 0.482
    assert rows["uit"].value("soft_dice", 0.1) is None
    assert rows["uit"].value("iou", 0.0) is None


def test_thirty_six_cells_in_the_order_they_are_wanted():
    cells = wanted()
    assert len(cells) == len(set(cells)) == 36
    assert {cell.preset for cell in cells[:12]} == set(published())
    assert {cell.tau for cell in cells[:12]} == {0.0}
    assert {cell.preset for cell in cells[12:20]} == {"uit", "uit-l3", "unet", "fno"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("vit/0", "no network 'vit'"),
        ("uit", "expected NETWORK/TAU"),
        ("uit/0.5", r"no such noise: choose one of \(0.0, 0.05, 0.2\)"),  # and not hours of training
        ("uit/nan", "no such noise"),
    ],
)
def test_a_cell_that_is_none(text, message):
    with pytest.raises(InputError, match=message):
        Cell.parse(text)


def test_a_missing_cell_is_shown_as_missing(tmp_path):
    shown = table1.comparison({}, {}, "soft_dice")
    assert shown.count("missing") == 36
    assert "| UIT | missing | 0.897 | missing | 0.858 | missing | 0.845 |" in shown
    (tmp_path / "results").mkdir()
    assert "0 of 36" in compose(Places(tmp_path, tmp_path))


def test_networks_of_the_package_stand_below(tmp_path):
    home = tmp_path / "flagship"
    home.mkdir()
    evaluation = json.loads((ROOT / "results/table1/uit/0/evaluation.json").read_text())
    rows = [row | {"data": "paper", "currents": 1} for row in evaluation["scores"]]
    (home / "evaluation.json").write_text(json.dumps({"run": "flagship", "scores": rows}))
    text = compose(Places(ROOT, tmp_path))
    scores = read_shipped(tmp_path)["flagship/1"]
    found = " | – | ".join(f"**{number(scores[tau]['soft_dice'].mean)}**" for tau in (0.0, 0.05, 0.2))
    assert f"| **flagship, L = 1** | {found} | – |" in text


def test_a_network_of_the_package_with_fewer_currents_is_another_row():
    shipped = read_shipped()
    assert {"flagship/1", "flagship/2", "flagship/3", "uit-small/3"} <= set(shipped)
    evaluation = json.loads((PLACES.shipped / "flagship/evaluation.json").read_text())
    for row in evaluation["scores"]:
        if (row["data"], row["tau"], row["currents"]) == ("paper", 0.05, 1):
            exact = row["metrics"]["soft_dice"]["mean"]
    assert lookup("shipped/flagship/1 soft_dice 0.05", PLACES) == f"{exact:.3f}"
    assert shipped["flagship/3"][0.05]["soft_dice"].mean > exact


def test_an_ordering_holds_is_undecided_or_reversed():
    best, worst = Cell("uit", 0.0), Cell("unet", 0.0)
    for other, width, expected in (
        (0.8, 0.001, "holds"),
        (0.899, 0.01, "undecided"),
        (0.95, 0.001, "reversed"),
    ):
        runs = {best: [_record(0.9, width)], worst: [_record(other, width)]}
        assert orderings.verdict(runs, best, worst) == expected
    assert orderings.verdict({}, best, worst) == "missing"
    found = orderings.counts({best: [_record(0.9)], worst: [_record(0.8)]}, orderings.CLAIMS[0], 0.0)
    assert found == {"holds": 1, "undecided": 0, "reversed": 0, "missing": 5}
    lower = {best: [_record(0.1, metric="paper_l2")], worst: [_record(0.2, metric="paper_l2")]}
    assert orderings.verdict(lower, best, worst, "paper_l2") == "holds"
    assert orderings.verdict(lower, worst, best, "paper_l2") == "reversed"


def test_a_pair_that_a_seed_could_change_is_undecided():
    best, worst, seen = Cell("uit", 0.0), Cell("unet", 0.0), Cell("fno", 0.0)
    runs = {best: [_record(0.9)], worst: [_record(0.88)], seen: [_record(0.70), _record(0.72)]}
    assert seeds.widest(runs, "soft_dice") == pytest.approx(0.02)
    assert seeds.reach(runs, best, "soft_dice") == pytest.approx((0.879, 0.921))
    assert orderings.verdict(runs, best, worst) == "undecided"
    runs |= {best: [_record(0.9)] * 3, worst: [_record(0.88)] * 3}
    assert seeds.reach(runs, best, "soft_dice") == pytest.approx((0.899, 0.901))
    assert orderings.verdict(runs, best, worst) == "holds"


def test_runs_of_other_seeds_differ_from_table_1_in_their_seed_alone():
    several = {cell: runs for cell, runs in RUNS.items() if len(runs) > 1}
    counts = {str(cell): len(runs) for cell, runs in several.items()}
    assert counts == {"uit/0": 2, "uit/0.05": 2, "unet/0": 3, "unet/0.05": 3}
    for first, *others in several.values():
        assert first.config["seed"] == SEED
        for other in others:
            assert other.config == first.config | {"seed": other.config["seed"]}
            assert not other.result["made_with"]["changed"]
    assert len({(str(c), r.config["seed"]) for c, runs in several.items() for r in runs}) == 10


def test_what_a_seed_moves():
    """Dice, through the epoch kept, by more than the interval of the test set; L2 and the last epoch hardly."""
    for cell, runs in RUNS.items():
        if len(runs) < 2:
            continue
        dice = seeds.spread(RUNS, cell, "soft_dice")
        ends, l2 = (seeds.spread(RUNS, cell, name).range for name in ("last.soft_dice", "paper_l2"))
        assert 0.003 < dice.range < 0.008
        assert ends < dice.range / 3
        assert l2 < 0.001
        kept = sorted((run.result["best"]["step"], run.scores[cell.tau]["soft_dice"].mean) for run in runs)
        assert [score for _, score in kept] == sorted(score for _, score in kept)
        for run in runs if cell.preset == "unet" else ():
            interval = run.scores[cell.tau]["soft_dice"]
            assert 0.004 < interval.high - interval.low < dice.range


def test_the_side_heads_do_not_explain_the_hybrid_ut():
    ours, clean = (
        read_record(ROOT / f"results/{place}/hybrid-ut/0") for place in ("table1", "variants/last-head")
    )
    assert clean.config["network"]["settings"] == {"side_heads": False}
    assert clean.config | {"network": ours.config["network"]} == ours.config
    one, other = (record.scores[0.0]["soft_dice"].mean for record in (ours, clean))
    assert abs(one - other) < seeds.widest(RUNS, "soft_dice")
    assert published()["hybrid-ut"].value("soft_dice", 0.0) - max(one, other) > 0.04


def test_a_damaged_result_is_one_line(tmp_path):
    shutil.copytree(ROOT / "results/table1/uit/0", tmp_path / "uit/0")
    (tmp_path / "uit/0/evaluation.json").write_text("{")
    with pytest.raises(InputError, match="copy it again"):
        read_table(tmp_path)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"scores": [{"tau": 0.0, "currents": 1}]}, "not as eitlens writes it .KeyError.'data'"),
        (
            {"scores": [{"tau": 0.0, "currents": 1, "data": "paper", "metrics": []}]},
            "not as eitlens writes it",
        ),
        ([], "not as eitlens writes it"),
        ({"scores": 1}, "not as eitlens writes it"),
    ],
)
def test_a_damaged_evaluation_of_a_network_is_one_line(values, message, tmp_path):
    (tmp_path / "uit").mkdir()
    (tmp_path / "uit/evaluation.json").write_text(json.dumps(values))
    with pytest.raises(InputError, match=f"uit/evaluation.json: {message}"):
        read_shipped(tmp_path)


def test_numbers_and_tables():
    assert (number(0.0564), number(0.8971), number(None)) == ("0.0564", "0.897", "–")
    assert with_interval(MetricSummary(0.883, 0.8, 0.881, 0.885)) == "0.883 ± 0.002"
    assert table(["a", "b"], [["x", "1"]]) == "| a | b |\n| --- | ---: |\n| x | 1 |\n"


def test_numbers_follow_their_sources(tmp_path):
    evaluation = json.loads((ROOT / "results/table1/uit/0/evaluation.json").read_text())
    exact = evaluation["scores"][0]["metrics"]["soft_dice"]["mean"]
    assert lookup("table1/uit/0 soft_dice", PLACES) == f"{exact:.3f}"
    assert lookup("paper/uit soft_dice 0.05", PLACES) == "0.858"
    assert lookup("sweep/flagship/contrast soft_dice 10", PLACES) == lookup(
        "sweep/flagship/noise soft_dice 0.0", PLACES
    )
    assert float(lookup("sweep/flagship/shapes soft_dice polygons, apart", PLACES)) < 0.9
    assert lookup("sweep/nobody/noise soft_dice 0.0", PLACES) == "–"
    last = json.loads((ROOT / "results/table1/uit/0/result.json").read_text())["last"]["soft_dice"]
    assert lookup("table1/uit/0 result.last.soft_dice", PLACES) == f"{last:.3f}"
    assert lookup("table1/uit/0 log.soft_dice 50", PLACES) == f"{last:.3f}"
    limit = json.loads((ROOT / "results/information_limit/L1_tau0.05.json").read_text())["scores"][
        "soft_dice"
    ]
    assert lookup("limit/L1_tau0.05 soft_dice", PLACES) == f"{sum(limit) / len(limit):.3f}"
    assert lookup("limit/L1_tau0.05 hard_dice direct sampling", PLACES) < lookup(
        "limit/L1_tau0.05 hard_dice", PLACES
    )
    error = float(lookup("limit/L1_tau0.05 soft_dice standard error", PLACES))
    assert error == pytest.approx(statistics.stdev(limit) / len(limit) ** 0.5, abs=5e-5)
    assert lookup("paper/uit gflops", PLACES) == "658.3"
    assert lookup("paper/uit soft_dice minus paper/unet soft_dice", PLACES) == "0.052"
    assert lookup("runs/unet/0.05 soft_dice runs", PLACES) == "3"
    assert lookup("runs/unet/0.05 soft_dice least", PLACES) == lookup("table1/unet/0.05 soft_dice", PLACES)
    assert lookup("runs/widest soft_dice", PLACES) == lookup("runs/unet/0.05 soft_dice range", PLACES)
    empty = Places(tmp_path, tmp_path)
    assert lookup("runs/widest soft_dice", empty) == "–"
    assert lookup("limit/L1_tau0.05 soft_dice", empty) == "–"
    assert lookup("limit/L1_tau0.05 soft_dice minus paper/uit soft_dice", empty) == "–"
    assert lookup("shipped/flagship soft_dice 0", empty) == "–"
    with pytest.raises(InputError, match="no such source"):
        lookup("table1/uit/0 dise", PLACES)


def test_numbers_of_a_study(tmp_path):
    places = Places(tmp_path)
    assert lookup("study/made-up a/0.05/1", places) == "–"
    (tmp_path / "results").mkdir()
    shares = [0.0, 0.024, 0.19, 1.0]
    (tmp_path / "results/made-up.json").write_text(json.dumps({"a": {"0.05": [3, 0.97]}, "b": shares}))
    assert [lookup(f"study/made-up a/0.05/{k}", places) for k in (0, 1)] == ["3", "0.970"]
    assert [lookup(f"study/made-up b/{k} %", places) for k in range(4)] == ["0", "2.4", "19", "100"]
    assert lookup("study/made-up b/2 .1f", places) == "0.2"
    with pytest.raises(InputError, match="no such source"):
        lookup("study/made-up c", places)
