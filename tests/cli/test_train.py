import importlib
import json
import shutil

import pytest
import torch
import typer
from typer.testing import CliRunner

from eitlens import models
from eitlens.cli.evaluate import evaluate
from eitlens.cli.sweep import sweep
from eitlens.cli.train import train
from eitlens.dataset import DataConfig, generate
from eitlens.errors import InputError
from eitlens.paper.cells import read_shipped

app = typer.Typer()
for command in (train, evaluate, sweep):
    app.command()(command)

TINY = {
    "name": "tiny",
    "network": {"preset": "uit-small", "settings": {"width": 8, "resolution": 32}},
    "data": {
        "stream": {
            "name": "tiny",
            "n": 32,
            "train": 8,
            "validation": 4,
            "test": 4,
            "currents": {"count": 1},
            "sampler": {"count": 1, "disjoint": True},
            "solver": {"name": "boundary-integral", "tolerance": 1e-4},
        },
        "block": 8,
    },
    "batch": 4,
    "samples": 16,
    "log_every": 2,
}


def _run(*words):
    return CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=True)


@pytest.fixture(scope="module")
def recipe(tmp_path_factory):
    file = tmp_path_factory.mktemp("recipe") / "tiny.json"
    file.write_text(json.dumps(TINY))
    return file


def test_from_nothing_to_a_measured_network(recipe, tmp_path, monkeypatch):
    out, home = tmp_path / "run", tmp_path / "home"
    done = _run("train", "--config", recipe, "--out", out, "--device", "cpu", "--export", home)
    assert done.exit_code == 0, done.output
    assert "validation: CE" in done.output
    assert (out / "learning_curve.png").stat().st_size > 1000
    assert (home / "best.safetensors").stat().st_size < (out / "best.safetensors").stat().st_size

    done = _run("evaluate", home, "--tau", 0, 0.05, 0.2, "--device", "cpu")
    assert done.exit_code == 0, done.output
    assert "calibration error" in done.output
    scores = json.loads((home / "evaluation.json").read_text())["scores"]
    assert [row["tau"] for row in scores] == [0, 0.05, 0.2]
    assert {(row["data"], row["currents"], row["samples"]) for row in scores} == {("tiny", 1, 4)}
    assert {"mean", "median", "low", "high"} == set(scores[0]["metrics"]["relative_l2"])

    # Scores of less, or of something else, do not take the place of the run's own.
    for words in (("--limit", 2), ("--data", tmp_path), ("--weights", "last"), ("--currents", 1)):
        done = _run("evaluate", home, *words, "--device", "cpu")
        assert "holds the scores of the run" in str(done.exception)
    assert json.loads((home / "evaluation.json").read_text())["scores"] == scores
    (tmp_path / "folder.json").mkdir()
    done = _run("evaluate", home, "--out", tmp_path / "folder.json", "--device", "cpu")
    assert "folder.json: is a folder" in str(done.exception)
    assert "test samples" not in done.output

    # Told before anything is computed: the picture goes beside the scores, under the same name.
    done = _run("evaluate", home, "--out", tmp_path / "scores.png", "--device", "cpu")
    assert "scores.png: scores are written as JSON" in str(done.exception)
    done = _run("evaluate", home, "--out", tmp_path / "new" / "scores.json", "--device", "cpu", "--limit", 2)
    assert done.exit_code == 0, done.output
    assert (tmp_path / "new" / "scores.json").exists()
    assert (tmp_path / "new" / "scores.png").exists()

    done = _run("sweep", out, "--kind", "noise", "--samples", 2, "--device", "cpu")
    assert done.exit_code == 0, done.output
    assert (out / "sweep.png").stat().st_size > 1000

    # As one of the package's networks, by its name or its folder: what came with it stays as it is.
    assert list(read_shipped(tmp_path, "tiny")) == ["home/1", "run/1"]
    monkeypatch.setattr("eitlens.weights.SHIPPED", tmp_path)
    monkeypatch.chdir(out)
    before = {file: file.read_bytes() for file in home.iterdir()}
    for command in ("evaluate", "sweep"):
        for name in ("home", home):
            done = _run(command, name, "--device", "cpu")
            assert "keeps the scores it came with: say where these go" in str(done.exception)
    words = ("--device", "cpu", "--limit", 1, "--out", tmp_path / "mine.json")
    assert _run("evaluate", "home", *words).exit_code == 0
    assert {file: file.read_bytes() for file in home.iterdir()} == before
    assert json.loads((tmp_path / "mine.json").read_text())["scores"][0]["samples"] == 1


def _train_on(run):
    network = models.load(run / "best")
    with torch.no_grad():
        next(network.parameters()).mul_(1.1)
    models.save(network, run / "best")


def _taus(file):
    return [(row["tau"], row["samples"]) for row in json.loads(file.read_text())["scores"]]


def test_scores_of_other_noise_levels_stay_as_long_as_all_else_agrees(recipe, tmp_path):
    run, out, home = tmp_path / "run", tmp_path / "mine.json", tmp_path / "home"
    words = ("train", "--config", recipe, "--out", run, "--device", "cpu", "--no-test")
    assert _run(*words).exit_code == 0
    measure, file = ("evaluate", run, "--device", "cpu"), run / "evaluation.json"
    assert _run(*measure, "--tau", 0.2, "--limit", 2).exit_code == 0
    assert "other samples (2, not 4), which these replace" in _run(*measure, "--tau", 0.2).output
    assert _taus(file) == [(0.2, 4)]
    old = json.loads(file.read_text())["scores"][0]
    done = _run(*measure, "--tau", 0)
    assert done.exit_code == 0, done.output
    assert "replace" not in done.output
    assert _taus(file) == [(0.0, 4), (0.2, 4)]
    assert json.loads(file.read_text())["scores"][1] == old

    # In a file that was named, nothing is replaced by something else.
    assert _run(*measure, "--tau", 0.1, "--out", out, "--limit", 3).exit_code == 0
    for more, message in (
        (("--limit", 2), "holds scores of other samples (3, not 2): give these another file with --out"),
        (("--limit", 3, "--weights", "last"), "holds scores of other weights"),
    ):
        assert message in str(_run(*measure, "--out", out, *more).exception)
    assert _taus(out) == [(0.1, 3)]

    # Trained on, the run is another network; its 8-bit copy is not.
    _train_on(run)
    assert _run(*words, "--export", home).exit_code == 0
    assert "other weights, which these replace" in _run(*measure, "--tau", 0.05).output
    assert _taus(file) == [(0.05, 4)]
    shutil.copy(file, home)
    assert _run("evaluate", home, "--device", "cpu").exit_code == 0
    assert _taus(home / "evaluation.json") == [(0.0, 4), (0.05, 4)]

    values = json.loads(file.read_text())
    del values["scores"][0]["reliability"]
    for text in ("[]", json.dumps(values)):
        file.write_text(text)
        assert "not as eitlens writes it" in str(_run(*measure).exception)


def test_scores_of_data_of_the_same_name_are_not_mixed(recipe, tmp_path):
    run, stream = tmp_path / "run", TINY["data"]["stream"]
    for name, more in (("home", {}), ("abroad", {"sampler": {"count": 1, "disjoint": True, "seed": 7}})):
        generate(DataConfig.from_dict(stream | more), tmp_path / name)
    words = ("train", "--config", recipe, "--out", run, "--device", "cpu", "--no-test")
    assert _run(*words).exit_code == 0
    measure = ("evaluate", run, "--device", "cpu", "--data")
    assert _run(*measure, tmp_path / "abroad").exit_code == 0
    done = _run("evaluate", run, "--device", "cpu", "--tau", 0.1)
    assert "holds scores of other data that are called tiny, too: give these another file" in str(
        done.exception
    )
    out = ("--out", tmp_path / "mine.json", "--tau")
    assert _run(*measure, tmp_path / "home", *out, 0).exit_code == 0
    assert _run("evaluate", run, "--device", "cpu", *out, 0.1).exit_code == 0  # the recipe of the same data
    assert "other data" in str(_run(*measure, tmp_path / "abroad", *out, 0.2).exception)
    assert _taus(tmp_path / "mine.json") == [(0.0, 4), (0.1, 4)]


def test_sweeps_of_other_kinds_stay_as_long_as_all_else_agrees(recipe, tmp_path, monkeypatch):
    for name in ("CONTRASTS", "INCLUSIONS"):
        monkeypatch.setattr(f"eitlens.evaluate.sweep.{name}", (2,))
    monkeypatch.setattr("eitlens.evaluate.sweep.LEVELS", (0.0, 0.1))
    run, file = tmp_path / "run", tmp_path / "run/sweep.json"
    words = ("train", "--config", recipe, "--out", run, "--device", "cpu", "--no-test")
    assert _run(*words).exit_code == 0
    measure = ("sweep", run, "--device", "cpu", "--samples", 2, "--kind")
    assert _run(*measure, "noise").exit_code == 0
    noise = json.loads(file.read_text())
    assert _run(*measure, "contrast").exit_code == 0
    contrast, *rest = json.loads(file.read_text())
    assert rest == noise
    assert contrast["kind"] == "contrast"
    assert _run(*measure, "noise", "--kind", "contrast", "--samples", 1).exit_code == 0
    assert [row["score"]["samples"] for row in json.loads(file.read_text())] == [1, 1, 1]

    # Noise that a sweep brings along has nothing to do with the level of the others.
    named = (*measure, "noise", "--out", tmp_path / "mine.json")
    assert _run(*named).exit_code == 0
    assert _run(*named[:-3], "contrast", *named[-2:], "--tau", 0.1).exit_code == 0

    before = file.read_bytes()
    for more, message in (
        ((), "holds the sweep contrast of 1 samples a point, not 2: sweep it again, too, or give"),
        (("--samples", 1, "--tau", 0.1), "holds the sweep contrast of a noise level of 0, not 0.1"),
    ):
        assert message in str(_run(*measure, "inclusions", *more).exception)
    _train_on(run)
    assert "the sweep contrast of other weights" in str(
        _run(*measure, "inclusions", "--samples", 1).exception
    )
    assert "the sweep contrast of other weights" in str(_run(*named).exception)
    assert file.read_bytes() == before
    file.write_text("[")
    assert "sweep.json: not a JSON file" in str(_run(*measure, "noise").exception)


def test_stopping_and_going_on(recipe, tmp_path):
    words = ("train", "--config", recipe, "--out", tmp_path, "--device", "cpu", "--no-test")
    done = _run(*words, "--stop-after", 1e-6)
    assert "the same command continues" in done.output
    assert _run(*words).exit_code == 0
    assert (tmp_path / "result.json").exists()


def test_only_the_first_process_logs_and_no_minutes_are_no_minutes(recipe, tmp_path, monkeypatch):
    logged, stops = [], []
    monkeypatch.setattr("eitlens.train.train", lambda *given: stops.append((given[3], len(given[4]))))
    monkeypatch.setattr("eitlens.train.loggers.create_logger", lambda *given: logged.append(given[0]))
    for rank in ("0", "1"):
        monkeypatch.setenv("RANK", rank)
        done = _run("train", "--config", recipe, "--out", tmp_path, "--logger", "wandb", "--stop-after", 0)
        assert done.exit_code == 0, done.output
    assert logged == ["wandb"]
    assert stops == [(0, 2), (0, 1)]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--preset", "papers"), "preset must be one of"),
        (("--preset", "smoke", "--set", "schedule.rate=1"), "unknown key 'rate'"),
        (("--preset", "smoke", "--set", "loss"), "expected key=value"),
        (("--preset", "smoke", "--network", "vit"), "no network is called 'vit'"),
        (("--preset", "smoke", "--data", "nowhere"), "nowhere/manifest.json: no such file"),
        (("--preset", "smoke", "--stream", "nothing"), "data preset must be one of"),
        (("--preset", "smoke", "--logger", "paper"), "logger must be one of"),
        (("--preset", "smoke", "--minutes", "nan"), "how long to train: expected one of"),
        (("--preset", "smoke", "--stop-after", "nan"), "--stop-after nan: give minutes >= 0"),
        (("--preset", "smoke", "--stop-after", "-1"), "--stop-after -1: give minutes >= 0"),
        (("--preset", "smoke", "--export", "/dev/null"), "Not a directory: check the path"),
    ],
)
def test_bad_options_are_one_line(words, message, tmp_path):
    done = _run("train", "--out", tmp_path / "run", "--device", "cpu", *words)
    assert isinstance(done.exception, InputError)
    assert message in str(done.exception)
    assert "\n" not in str(done.exception)


def test_a_finished_run_is_exported_by_the_same_command(recipe, tmp_path):
    words = ("train", "--config", recipe, "--out", tmp_path / "run", "--device", "cpu", "--no-test")
    assert _run(*words).exit_code == 0
    before = {file: file.read_bytes() for file in (tmp_path / "run").iterdir()}
    done = _run(*words)
    assert "this run is finished" in str(done.exception)
    assert "or copy it by the same command with --export DIR" in str(done.exception)
    done = _run(*words, "--batch", 2, "--export", tmp_path / "home")
    assert "holds another run (batch is 4, not 2)" in str(done.exception)
    assert not (tmp_path / "home").exists()

    done = _run(*words, "--export", tmp_path / "home", "--logger", "wandb")
    assert done.exit_code == 0, done.output
    assert "exported: " in done.output
    assert {file: file.read_bytes() for file in (tmp_path / "run").iterdir()} == before
    assert _run("evaluate", tmp_path / "home", "--device", "cpu").exit_code == 0


def test_a_run_is_not_exported_into_itself(tmp_path):
    done = _run("train", "--preset", "smoke", "--out", tmp_path / "run", "--export", tmp_path / "run")
    assert isinstance(done.exception, InputError)
    assert "the run's own folder" in str(done.exception)
    assert not (tmp_path / "run").exists()


def test_a_folder_that_is_no_run(tmp_path):
    done = _run("evaluate", tmp_path, "--device", "cpu")
    assert isinstance(done.exception, InputError)
    assert "is" in str(done.exception)
    assert "a run of `eitlens train`" in str(done.exception)


def test_a_run_is_evaluated_without_its_data_set(tmp_path):
    """The recipe kept with the run makes the same test samples again."""
    recipe = TINY["data"]["stream"]
    generate(DataConfig.from_dict(recipe), tmp_path / "data")
    config = tmp_path / "config.json"
    config.write_text(json.dumps(TINY | {"data": {"folder": str(tmp_path / "data")}}))
    run = tmp_path / "run"
    assert _run("train", "--config", config, "--out", run, "--device", "cpu").exit_code == 0
    scores = json.loads((run / "evaluation.json").read_text())
    shutil.rmtree(tmp_path / "data")
    assert _run("evaluate", run, "--device", "cpu").exit_code == 0
    again = json.loads((run / "evaluation.json").read_text())
    assert again["scores"] == scores["scores"]


def test_two_that_score_one_run_at_once_keep_both_results(finished, tmp_path, monkeypatch):
    run = tmp_path / "run"
    shutil.copytree(finished, run)
    monkeypatch.setattr("eitlens.evaluate.sweep.CONTRASTS", (2,))
    monkeypatch.setattr("eitlens.evaluate.sweep.LEVELS", (0.0,))
    for command, module, name in (
        (("evaluate", run, "--device", "cpu", "--tau"), "eitlens.evaluate.score", "score"),
        (("sweep", run, "--device", "cpu", "--samples", 2, "--kind"), "eitlens.evaluate.sweep", "sweep"),
    ):
        mine, other = (0.1, 0.2) if name == "score" else ("noise", "contrast")
        with monkeypatch.context() as patch:
            _while_it_works(patch, module, name, lambda c=command, o=other: _run(*c, o))
            done = _run(*command, mine)
        assert done.exit_code == 0, done.output
    assert [row["tau"] for row in json.loads((run / "evaluation.json").read_text())["scores"]] == [0.1, 0.2]
    assert {row["kind"] for row in json.loads((run / "sweep.json").read_text())} == {"noise", "contrast"}
    assert not list(run.glob(".*lock"))


def _while_it_works(patch, module, name, other):
    """Have another process do its work after this one has begun and before it writes."""
    home = importlib.import_module(module)
    measure = getattr(home, name)

    def slow(*given, **named):
        patch.undo()
        assert other().exit_code == 0
        return measure(*given, **named)

    patch.setattr(home, name, slow)
