"""The demo draws its picture and says true things about it."""

from typer.testing import CliRunner

from eitlens.cli.main import app


def test_demo_saves_a_picture_and_says_where(tmp_path):
    path = tmp_path / "deep" / "demo.png"
    result = CliRunner().invoke(app, ["demo", "--out", str(path), "--n", "64", "--seed", "3"])
    assert result.exit_code == 0, result.output
    assert path.read_bytes().startswith(b"\x89PNG")
    assert "4 ellipses" in result.output
    assert "demo.png" in result.output.replace("\n", "")
