"""What the commands say arrives as it is: in a pipe, and with whatever names users give their files."""

import io
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from eitlens.cli.main import app
from eitlens.cli.show import progress_bar, say

LONG = Path("/somewhere/" + "a-long-name/" * 12 + "data.npz")


def said(*words, **options) -> str:
    stream = io.StringIO()
    say(Console(file=stream, width=80), *words, **options)
    return stream.getvalue()


@pytest.mark.parametrize("path", [LONG, Path("run[a]/data.npz"), Path("run[/a]"), Path(":smile:[bold]")])
def test_a_path_is_one_line_and_no_markup(path):
    assert said("data: ", path) == f"data: {path}\n"
    assert said(f"{path}: whole", style="yellow") == f"{path}: whole\n"


def test_no_bar_in_a_pipe():
    stream = io.StringIO()
    with progress_bar(Console(file=stream)) as bar:
        bar.update(bar.add_task("checking", total=3), completed=2)
    assert stream.getvalue() == ""


def test_brackets_in_a_name(tmp_path):
    """A path with [/a] in it ended in a traceback of rich, when the file had been written."""
    path = tmp_path / "x[" / "a]y.npz"
    done = CliRunner().invoke(app, ["simulate", "--random", "3", "--n", "32", "-o", str(path)])
    assert done.exit_code == 0, done.output
    assert done.output.endswith(f"boundary-integral solver: {path}\n")
