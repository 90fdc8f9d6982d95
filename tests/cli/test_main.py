"""The command line as a user meets it."""

import os
import subprocess
import sys

import pytest
import typer
from typer.testing import CliRunner

from eitlens import __version__
from eitlens.cli.main import app
from eitlens.dataset import presets as data_sets
from eitlens.errors import InputError
from eitlens.train import presets as recipes

RUN = CliRunner()


def test_version():
    assert RUN.invoke(app, ["--version"]).output.strip() == f"eitlens {__version__}"


def test_help_begins_with_what_is_tried_first():
    output = RUN.invoke(app, ["--help"]).output
    places = [output.index(f" {name} ") for name in ("demo", "reconstruct", "train", "benchmark", "doctor")]
    assert places == sorted(places)


@pytest.mark.parametrize(("command", "known"), [("train", recipes), ("generate", data_sets)])
def test_help_names_every_preset(command, known):
    (option,) = (one for one in COMMANDS[command].params if one.name == "preset")
    assert all(name in option.help for name in known.PRESETS)


def test_a_users_mistake_is_one_line_and_status_2(monkeypatch):
    def refuse(*_args, **_options):
        raise InputError("expected 800 boundary values, got 796")

    monkeypatch.setattr("eitlens.figures.demo.demo_figure", refuse)
    result = RUN.invoke(app, ["demo"])
    assert result.exit_code == 2
    assert "expected 800 boundary values, got 796" in result.output
    assert "Traceback" not in result.output


@pytest.mark.parametrize("heavy", ["torch", "matplotlib", "numpy"])
def test_help_stays_light(heavy):
    """The command line answers `--help` without importing what its commands need."""
    code = f"import sys, eitlens.cli.main; sys.exit({heavy!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def _commands():
    group = typer.main.get_command(app)
    for name, command in group.commands.items():
        yield name, command
        for inner, nested in getattr(command, "commands", {}).items():
            yield f"{name} {inner}", nested


COMMANDS = dict(_commands())


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_a_line_an_example_and_helped_options(name):
    text = " ".join(COMMANDS[name].help.split())
    assert f"eitlens {name}" in text.split("Example")[1]
    assert len(text.split(".")[0]) < 120
    assert all(parameter.help for parameter in COMMANDS[name].params if parameter.name != "help")
    assert RUN.invoke(app, [*name.split(), "--help"]).exit_code == 0


def test_the_commands_there_are():
    assert {
        *("benchmark", "calibrate", "check", "compare", "demo", "doctor", "evaluate", "export", "figures"),
        *("generate", "inspect", "models", "reconstruct", "serve", "simulate", "sweep", "train"),
    } == {name.split()[0] for name in COMMANDS}


def test_the_shell_completes_commands_and_options(monkeypatch):
    def complete(words):
        wanted = {"COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1)}
        environment = os.environ | wanted | {"_EITLENS_COMPLETE": "complete_bash"}
        code = (
            "import sys; sys.argv = ['eitlens']; from eitlens.cli.main import app; app(prog_name='eitlens')"
        )
        return subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
        ).stdout.split()

    assert complete("eitlens rec") == ["reconstruct"]
    assert complete("eitlens doctor --js") == ["--json"]
    # Where no shell is found, as in CI, its name can be given.
    monkeypatch.setenv("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "1")
    shown = RUN.invoke(app, ["--show-completion", "bash"])
    assert shown.exit_code == 0


def _examples():
    for name, command in COMMANDS.items():
        for line in command.help.splitlines():
            if line.strip().startswith("Example: "):
                yield name, line.strip().removeprefix("Example: ")


@pytest.mark.parametrize(("name", "example"), list(_examples()))
def test_examples_can_be_pasted(name, example):
    """On one line of a terminal of 80 columns, and with words that the command knows."""
    assert len(example) <= 70
    words = example.removeprefix(f"eitlens {name}").split()
    if not hasattr(COMMANDS[name], "commands"):
        COMMANDS[name].make_context(name, words)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--nonsense"], "No such option: --nonsense: see eitlens --help"),
        (["nonsense"], "No such command 'nonsense': see eitlens --help"),
        (["benchmark", "nonsense"], "No such command 'nonsense': see eitlens benchmark --help"),
        (["reconstruct"], "Missing argument 'measurement': see eitlens reconstruct --help"),
        (["simulate", "-o", "x.npz"], "give a phantom as a JSON file, or --random SEED, and not both"),
        (["simulate", "a.json", "--random", "1", "-o", "x.npz"], "give a phantom as a JSON file"),
    ],
)
def test_a_word_that_is_not_known_or_missing_is_one_line(words, told):
    done = RUN.invoke(app, words, prog_name="eitlens")
    assert done.exit_code == 2
    assert done.stderr.lower().startswith(f"error: {told}".lower())
    assert done.stderr.count("\n") == 1


def test_a_group_without_a_command_shows_its_help():
    assert "table1" in RUN.invoke(app, ["benchmark"]).output


def test_the_table_of_networks_fits_a_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    output = RUN.invoke(app, ["models", "mwo", "unet-attention", "--n", "64", "--no-time"]).output
    assert "9,808,001" in output
    assert "Legendre" in output
    assert "…" not in output


@pytest.mark.parametrize(
    "words",
    [
        ["check", "nowhere"],
        ["evaluate", "nowhere"],
        ["sweep", "nowhere"],
        ["calibrate", "nowhere"],
        ["calibrate", "flagship"],  # a name would write into the installed package
        ["export", "nowhere", "-o", "x.onnx"],
        ["figures", "nonsense"],
        ["generate", "--preset", "nonsense", "--out", "nowhere"],
        ["train", "--preset", "nonsense", "--out", "nowhere"],
        ["models", "nonsense"],
        ["benchmark", "table1", "--root", "nowhere"],
        ["serve", "--model", "nonsense"],
        ["demo", "--model", "nonsense"],
        ["demo", "--n", "32", "--out", "folder"],
        *(["models", "fno", "--device", device] for device in ("abacus", "cuda:99")),
        *(["benchmark", "table2", "fno", "--device", device] for device in ("abacus", "cuda:99")),
        ["benchmark", "table1", "--train", "--device", "abacus"],
    ],
)
def test_a_wrong_word_is_one_line_and_status_2(words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = RUN.invoke(app, words)
    assert done.exit_code == 2, done.output
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
