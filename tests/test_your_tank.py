"""docs/your_tank.md: every command and every line of Python on the page runs."""

import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat
from typer.testing import CliRunner

from eitlens.cli.main import app
from eitlens.measure import Setup, files

PAGE = (Path(__file__).parent.parent / "docs" / "your_tank.md").read_text()
COMMANDS = re.findall(r"^    (eitlens .*)$", PAGE, re.M)
MADE, READ = re.findall(r"```python\n(.*?)```", PAGE, re.S)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """What a reader has after the first lines of the page, and a recording as EIDORS keeps it."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("tank")
        patch.chdir(folder)
        exec(MADE, {})
        (folder / "tank.json").write_text(re.findall(r"```json\n(.*?)```", PAGE, re.S)[0])
        frames, water = np.loadtxt("frame.txt"), np.loadtxt("water.txt")
        savemat("recording.mat", {"vh": -water[:, None], "vi": -frames[:, None]})
        exec(READ, {})
    return folder


def test_the_page_has_commands():
    assert len(COMMANDS) >= 7


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[8:40])
def test_every_command_runs(folder, monkeypatch, command):
    monkeypatch.chdir(folder)
    words = shlex.split(command)[1:]
    small = ["--n", "48"] if words[0] == "reconstruct" else []
    done = CliRunner().invoke(app, [*words, *small])
    assert done.exit_code == 0, done.output
    for name in re.findall(r"-o (\S+)", command):
        assert (folder / name).stat().st_size > 0


def test_python_writes_what_the_commands_read(folder):
    written = files.read(folder / "tank.npz")
    told = files.read(folder / "frames", Setup.load(folder / "tank.json"), folder / "water.txt")
    assert np.array_equal(written.voltages, told.voltages)
    assert np.array_equal(written.reference, told.reference)
    assert float(written.pattern.stimulation.max()) == 0.005


def test_every_option_of_a_setup_is_one_of_the_command_line():
    shown = CliRunner().invoke(app, ["reconstruct", "--help"], env={"COLUMNS": "200"}).output
    for option in set(re.findall(r"`(--[a-z-]+)", PAGE)) - {"--fix"}:
        assert option in shown, option
