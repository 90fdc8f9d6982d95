"""`eitlens generate` and `eitlens check` as a user meets them."""

import json

import pytest
import typer
from typer.testing import CliRunner

from eitlens.cli.check import check
from eitlens.cli.generate import generate
from eitlens.cli.main import _Commands

RUN = CliRunner()
APP = typer.Typer(cls=_Commands, pretty_exceptions_enable=False)
APP.command()(generate)
APP.command()(check)

TINY = {
    "name": "tiny",
    "n": 32,
    "train": 4,
    "validation": 2,
    "test": 2,
    "shard": 3,
    "sampler": {"count": 2, "disjoint": True, "gap": 0.1},
    "solver": {"name": "boundary-integral", "tolerance": 1e-5},
}


@pytest.fixture
def recipe(tmp_path):
    path = tmp_path / "tiny.json"
    path.write_text(json.dumps(TINY))
    return str(path)


def run(*arguments: str):
    return RUN.invoke(APP, list(arguments), env={"COLUMNS": "200"})


def test_generate_then_check(recipe, tmp_path):
    out = str(tmp_path / "data")
    made = run("generate", "--config", recipe, "--out", out)
    assert made.exit_code == 0
    assert "8 samples made, 0 were there" in made.output
    assert f"data set: {out}" in made.output
    again = run("generate", "--config", recipe, "--out", out)
    assert "0 samples made, 8 were there" in again.output
    found = run("check", out)
    assert found.exit_code == 0
    assert "sound. 8 samples of 3 currents at 32 cells a side, 3 shards" in found.output


def test_in_two_parts(recipe, tmp_path):
    out = str(tmp_path / "data")
    first = run("generate", "--config", recipe, "--out", out, "--shard", "2/2")
    assert "the manifest is written when all parts are" in first.output
    second = run("generate", "--config", recipe, "--out", out, "--shard", "1/2")
    assert f"data set: {out}" in second.output


def test_damage_is_repaired_and_said(recipe, tmp_path):
    out = tmp_path / "data"
    run("generate", "--config", recipe, "--out", str(out))
    (out / "shard-00001.safetensors").write_bytes(b"half")
    broken = run("check", str(out))
    assert broken.exit_code == 2
    assert "shard-00001.safetensors" in broken.output
    repaired = run("generate", "--config", recipe, "--out", str(out))
    assert "was damaged and has been made again" in repaired.output
    assert run("check", str(out)).exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["generate", "--preset", "papper", "--out", "x"], "must be one of paper, paper-disjoint, smoke"),
        (["generate", "--preset", "smoke", "--out", "x", "--shard", "3/2"], "expected i/N"),
        (["generate", "--preset", "smoke", "--out", "x", "--device", "gpu"], "choose auto, cpu, cuda"),
        (
            ["generate", "--config", "none.json", "--out", "x"],
            "none.json: No such file or directory: see docs",
        ),
        (["check", "nowhere"], "manifest.json: no such file"),
    ],
)
def test_mistakes_are_one_line_and_status_2(arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run(*arguments)
    assert result.exit_code == 2
    assert message in result.output
    assert "Traceback" not in result.output
    assert len([line for line in result.output.splitlines() if line.startswith("error:")]) == 1


@pytest.mark.parametrize("n", [15, 1001, 1_000_000])
def test_a_grid_too_coarse_or_too_fine(n, tmp_path):
    path = tmp_path / "odd.json"
    path.write_text(json.dumps(TINY | {"n": n}))
    result = run("generate", "--config", str(path), "--out", str(tmp_path / "data"))
    assert result.exit_code == 2
    assert "odd.json: n must be at" in result.output
    assert not (tmp_path / "data").exists()


def test_a_key_nobody_knows(tmp_path):
    path = tmp_path / "odd.json"
    path.write_text(json.dumps(TINY | {"colour": "red"}))
    result = run("generate", "--config", str(path), "--out", str(tmp_path / "data"))
    assert result.exit_code == 2
    assert "odd.json: data configuration: unknown key 'colour'" in result.output
