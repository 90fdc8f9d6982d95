"""The demo draws its picture and says true things about it."""

from typer.testing import CliRunner

from eitlens.cli.main import app
from eitlens.electrodes import simulate_readings
from eitlens.figures.demo_tank import tank_dice, tank_scene


def test_demo_saves_a_picture_and_says_where(tmp_path):
    path = tmp_path / "deep" / "demo.png"
    result = CliRunner().invoke(app, ["demo", "--out", str(path), "--n", "64", "--seed", "3"])
    assert result.exit_code == 0, result.output
    assert path.read_bytes().startswith(b"\x89PNG")
    assert "4 ellipses" in result.output
    assert "208 readings" in result.output
    assert "demo.png" in result.output.replace("\n", "")


def test_the_network_sees_the_tank_through_the_errors_of_its_device():
    scene = tank_scene(4, 64)
    sound = simulate_readings(scene.measurement.electrodes, scene.measurement.pattern, scene.phantom, 0.05)
    error = (scene.measurement.voltages[0] - sound).norm() / sound.norm()
    assert 0.005 < error < 0.05
    assert tank_dice(scene.found["network"], scene.phantom) > 0.75
