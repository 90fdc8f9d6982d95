"""The quality of a measurement, as typed."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from eitlens.cli.main import app
from eitlens.measure import files

PHANTOM = {"shapes": [{"kind": "ellipse", "center": [0.2, -0.1], "semi_axes": [0.15, 0.3], "angle": 0.4}]}


def run(*words: object):
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture
def tank(tmp_path: Path) -> Path:
    """A simulated tank whose readings have the wrong sign."""
    path, phantom = tmp_path / "tank.json", tmp_path / "phantom.json"
    phantom.write_text(json.dumps(PHANTOM))
    tank = ("--electrodes", 16, "--body", "disk", "--scale", 0.1, "--snr", 70)
    made = run("simulate", phantom, "-o", path, *tank)
    assert made.exit_code == 0, made.output
    values = json.loads(path.read_text())
    for name in ("voltages", "reference"):
        values[name] = [[-value for value in row] for row in values[name]]
    path.write_text(json.dumps(values))
    return path


def test_a_fault_is_told_drawn_and_corrected(tank: Path, tmp_path: Path) -> None:
    picture, fixed = tmp_path / "quality.png", tmp_path / "fixed.npz"
    done = run("inspect", tank, "-o", picture, "--fix", fixed)
    assert done.exit_code == 0, done.output
    assert "found: the polarity is reversed" in done.output
    assert "the numbering cannot be checked" in done.output
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "polarity was reversed" in files.read(fixed).notes[0]
    again = run("inspect", fixed)
    assert "nothing was found to be wrong" in again.output


def test_the_report_as_json(tank: Path) -> None:
    told = json.loads(run("inspect", tank, "--json").stdout)
    assert [finding["kind"] for finding in told["findings"]] == ["polarity"]
    assert told["findings"][0]["fixable"] is True
    assert told["tank"]["conductivity"] == pytest.approx(1.0, rel=0.01)
    assert len(told["tank"]["impedance"]) == 16


def test_mistakes_are_one_line(tank: Path, tmp_path: Path) -> None:
    for words in (
        (tank, "-o", tmp_path / "quality.gif"),
        (tank, "--only", "polarity"),
        (tank, "--fix", tmp_path / "a.npz", "--only", "gain"),
        (tmp_path / "none.npz",),
    ):
        done = run("inspect", *words)
        assert done.exit_code == 2
        assert done.output.count("\n") == 1, done.output
