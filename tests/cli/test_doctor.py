"""`eitlens doctor`: what it finds when all is well, and when something is broken."""

import json

import pytest
from typer.testing import CliRunner

from eitlens.cli import doctor as cli
from eitlens.cli.main import app

RUN = CliRunner()


@pytest.fixture(scope="module")
def told():
    done = RUN.invoke(app, ["doctor", "--json", "--device", "cpu"])
    assert done.exit_code == 0, done.output
    return json.loads(done.output)


def test_all_is_well_here(told):
    assert told["ok"]
    texts = {finding["name"]: finding["text"] for finding in told["findings"]}
    assert "torch 2." in texts["versions"]
    assert "flagship (1 to 3 currents)" in texts["weights"]
    assert texts["forward solver"] == "right to 1e-12"
    dice = float(texts["self-test"].split("Dice ")[1].split(",")[0])
    assert dice > 0.95


def test_what_is_broken_is_named_and_gives_status_1(monkeypatch, tmp_path):
    def nothing():
        raise ImportError("no module")

    looks = [("first", lambda: "well"), ("second", nothing)]
    monkeypatch.setattr(cli, "_looks", lambda device: iter(looks))
    done = RUN.invoke(app, ["doctor"])
    assert done.exit_code == 1
    assert "ok first: well" in done.output
    assert "broken second: ImportError: no module" in done.output


def test_no_weights_and_a_folder_that_cannot_be_written_are_findings(monkeypatch, tmp_path):
    monkeypatch.setattr("eitlens.weights.SHIPPED", tmp_path / "none")
    found = cli._outcome("weights", cli._weights)
    assert not found.ok
    assert "no trained network is installed" in found.text
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert not cli._outcome("folders", cli._folders).ok


def test_a_wrong_number_is_a_finding(monkeypatch):
    monkeypatch.setattr(cli, "_ENERGY", -0.7)
    assert "wrong by 4.8e-02" in cli._outcome("forward solver", cli._physics).text


def test_a_device_that_is_not_there_is_the_users_mistake():
    done = RUN.invoke(app, ["doctor", "--device", "abacus"])
    assert done.exit_code == 2
    assert done.output.startswith("error: ")
