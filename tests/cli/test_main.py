"""The command line as a user meets it."""

import subprocess
import sys

import pytest
from typer.testing import CliRunner

from eitlens import __version__
from eitlens.cli.main import app
from eitlens.errors import InputError

RUN = CliRunner()


def test_version():
    assert RUN.invoke(app, ["--version"]).output.strip() == f"eitlens {__version__}"


def test_help_names_every_command_with_a_line():
    output = RUN.invoke(app, ["--help"]).output
    assert "demo" in output
    assert "models" in output


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
