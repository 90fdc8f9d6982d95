import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from eitlens.cli.main import app
from eitlens.paper.cells import Cell
from eitlens.weights import SHIPPED

CELL = Path(__file__).parents[2] / "results/table1/uit/0"


@pytest.fixture
def root(tmp_path):
    shutil.copytree(CELL, tmp_path / "results/table1/uit/0")
    return tmp_path


@pytest.fixture(autouse=True)
def a_clean_tree(monkeypatch):
    monkeypatch.setenv("EITLENS_COMMIT", "a95bc4d")


def _run(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def test_table_1_is_written_and_the_findings_and_missing_learning_curves_with_it(root):
    (root / "docs").mkdir()
    (root / "docs/findings.md").write_text("Dice 0.1.\n<!-- 0.1 = table1/uit/0 soft_dice -->\n")
    curve = root / "results/table1/uit/0/learning_curve.png"
    curve.unlink()
    done = _run("benchmark", "table1", "--root", root)
    assert done.exit_code == 0, done.output
    assert curve.stat().st_size > 1000
    assert "1 of 36 cells are done" in (root / "docs/results.md").read_text()
    assert (root / "docs/findings.md").read_text().startswith("Dice 0.8")


def test_trained_cells_get_their_learning_curve(root, monkeypatch):
    def fill(plan, cells, minutes, observers, tell):
        assert minutes == 9
        shutil.copytree(CELL, cells[0].folder(plan.table))
        (cells[0].folder(plan.table) / "learning_curve.png").unlink()
        assert len(observers(cells[0])) == 1
        tell(cells[0], "finished", "")
        tell(cells[1], "failed", "out of memory")
        return {cells[0]: "finished", cells[1]: "failed"}

    monkeypatch.setattr("eitlens.paper.training.fill", fill)
    words = ("--train", "--minutes", 9, "--root", root, "--runs", root / "runs", "--device", "cpu")
    done = _run("benchmark", "table1", "unet/0.05", "fno/0", *words)
    assert done.exit_code == 1
    assert "2 of 2 cells are missing" in done.output
    assert "first 12,800 samples are simulated" in done.output
    assert "fno/0: failed out of memory" in done.output
    assert (Cell("unet", 0.05).folder(root / "results/table1") / "learning_curve.png").stat().st_size > 1000


def test_no_minutes_are_not_all_the_time_there_is(root, monkeypatch):
    given = []
    monkeypatch.setattr(
        "eitlens.paper.training.fill", lambda plan, cells, minutes, *_: given.append(minutes) or {}
    )
    words = ("benchmark", "table1", "fno/0", "--train", "--root", root, "--device", "cpu")
    for more in (("--minutes", 0), ()):
        assert _run(*words, *more).exit_code == 0
    assert given == [0, float("inf")]


def test_table_2_is_measured_kept_and_written(root):
    done = _run("benchmark", "table2", "fno", "--machine", "a test", "--root", root)
    assert done.exit_code == 0, done.output
    kept = json.loads((root / "results/table2/a-test.json").read_text())
    assert kept["rows"][0]["parameters"] == 10_862_017
    page = (root / "docs/results.md").read_text()
    assert "images/s, a test, float32, batch 1" in page
    assert "| fno | 6 | 48 | 14 | FFT | 10,862,017 | 10.86m |" in page


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("uit/0",), "without --train"),
        (("--train", "vit/0"), "no network 'vit'"),
        (("--train", "--variant", "big"), "got 'big'"),
        (("--train", "--precision", "16"), "precision must be one of"),
        (("--root", "nowhere"), "no such folder"),
        (("--train", "--minutes", "nan"), "--minutes nan: give minutes >= 0"),
        (("--train", "--minutes", "-1"), "--minutes -1: give minutes >= 0"),
    ],
)
def test_mistakes_are_one_line(words, message, root):
    done = _run("benchmark", "table1", "--root", root, *words)
    assert done.exit_code == 2
    assert message in done.output
    assert "Traceback" not in done.output


def test_nothing_is_simulated_where_no_cell_is_missing(root):
    words = ("--train", "--minutes", 0, "--root", root, "--runs", root / "runs", "--device", "cpu")
    done = _run("benchmark", "table1", "uit/0", *words)
    assert done.exit_code == 0, done.output
    assert "0 of 1 cells are missing" in done.output
    assert "samples are simulated" not in done.output


def test_nothing_is_simulated_where_there_is_no_time_to_begin(root):
    words = ("--train", "--root", root, "--runs", root / "runs", "--device", "cpu")
    for minutes in (0, 1):
        done = _run("benchmark", "table1", "fno/0", *words, "--minutes", minutes)
        assert done.exit_code == 0, done.output
        assert "1 of 1 cells are missing" in done.output
        assert f"--minutes {minutes} is too short" in done.output
        assert "samples are simulated" not in done.output
    assert not (root / "runs").exists()


def test_where_no_folder_can_be_is_told_before_the_work(tmp_path):
    file = tmp_path / "file"
    file.touch()
    for words in (
        ("benchmark", "table2", "uit", "--no-time", "--root", file),
        ("figures", "theorem1", "--out", file),
    ):
        done = _run(*words)
        assert done.exit_code == 2
        assert "Not a directory: check the path" in done.output.replace("\n", " ")


def test_figures_by_name(root):
    assert "fig10-latents-uit" in _run("figures", "--list").output.splitlines()
    done = _run("figures", "fig4-convergence", "--root", root, "--out", root / "out")
    assert done.exit_code == 0, done.output
    assert (root / "out/fig4-convergence.pdf").exists()
    assert _run("figures", "fig7", "--out", root / "out").exit_code == 2


def test_changes_that_no_commit_names_are_refused(root, monkeypatch):
    """Their results could not be made again; what they would be marked with is asked for."""
    monkeypatch.setattr("eitlens.paper.training.fill", lambda *_, **__: {})
    monkeypatch.setattr("eitlens.paper.queue.fill", lambda *_, **__: {})
    monkeypatch.setattr("eitlens.train.folder.git_state", lambda: {"commit": "a95bc4d0", "changed": True})
    for words in (("table1", "fno/0", "--train"), ("queue", "fno/0")):
        done = _run("benchmark", *words, "--root", root, "--device", "cpu")
        assert done.exit_code == 2
        assert "changes that its commit a95bc4d does not" in " ".join(done.output.split())
        assert _run("benchmark", *words, "--root", root, "--device", "cpu", "--unclean").exit_code == 0


def test_the_queue_says_what_is_missing_and_how_long_it_takes(root):
    done = _run("benchmark", "queue", "--plan", "--root", root)
    lines = done.output.splitlines()
    assert lines[2].startswith("| `published:uit/0` |")
    assert "`cross-ut/0@1127804`" in lines[-1]
    done = _run("benchmark", "queue", "uit/0", "uit/0@7", "--plan", "--root", root)
    assert [line.split(" | ")[0] for line in done.output.splitlines()[2:]] == ["| `uit/0@7`"], (
        "one is trained"
    )


def test_the_queue_trains_what_is_missing(root, monkeypatch):
    trained = []

    def fill(plan, cells, minutes, observers, tell):
        trained.append((plan.variant, plan.seed, str(cells[0])))
        return {}

    monkeypatch.setattr("eitlens.paper.queue.fill", fill)
    words = ("uit/0", "published:unet/0", "fno/0@7", "--root", root, "--device", "cpu")
    done = _run("benchmark", "queue", *words)
    assert done.exit_code == 0, done.output
    assert "2 of 3 jobs are missing" in done.output
    assert trained[1:] == [("published", 1127802, "unet/0"), ("plain", 7, "fno/0")]


@pytest.mark.parametrize("option", [["--processes", "3"], ["--processes=3"]])
def test_processes_share_the_queue(option, root, monkeypatch):
    """Each gets the same command but for the number of them; the worst exit status is the command's."""
    started, statuses = [], iter([0, 1, 0])

    class Process:
        def __init__(self, words):
            started.append(words[1:])

        def wait(self):
            return next(statuses)

    words = ["benchmark", "queue", "fno/0", *option, "--root", str(root), "--device", "cpu"]
    monkeypatch.setattr("subprocess.Popen", Process)
    monkeypatch.setattr("sys.argv", ["eitlens", *words])
    assert _run(*words).exit_code == 1
    alone = ["benchmark", "queue", "fno/0", "--root", str(root), "--device", "cpu"]
    assert started == [["-m", "eitlens", *alone]] * 3


def test_nothing_is_written_outside_the_repository(root, monkeypatch):
    card = root / "src/eitlens/weights/mine/card.md"
    card.parent.mkdir(parents=True)
    shutil.copyfile(SHIPPED / "uit-small/card.md", card)
    shutil.copyfile(SHIPPED / "uit-small/evaluation.json", card.with_name("evaluation.json"))
    written = []
    monkeypatch.setattr("eitlens.cli.benchmark.write_text", lambda path, text: written.append(path))
    assert _run("benchmark", "table1", "--root", root).exit_code == 0
    assert card in written
    assert all(path.is_relative_to(root) for path in written)
