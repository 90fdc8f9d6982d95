"""`eitlens simulate` with electrodes and with bodies from files."""

import json
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner

import eitlens as eit
from eitlens.cli.main import app
from eitlens.electrodes import Electrodes, Pattern, simulate_readings
from eitlens.measure import files

PHANTOM = {
    "outside": 0.3,
    "shapes": [{"kind": "circle", "center": [0.3, 0.1], "radius": 0.2, "conductivity": 3}],
}
WORDS = ("--electrodes", 16, "--pattern", "skip-3", "--current", 2e-3, "--scale", 0.1, "--height", 0.05)


@pytest.fixture(autouse=True)
def phantom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("phantom.json").write_text(json.dumps(PHANTOM))
    Path("tank.json").write_text(json.dumps({"name": "my-tank", "ellipse": [0.2, 0.15]}))
    yield
    eit.registered("body").pop("my-tank", None)


def eitlens(*words: object, status: int = 0) -> str:
    done = CliRunner().invoke(app, ["simulate", "phantom.json", *map(str, words)])
    assert done.exit_code == status, done.output
    return done.output


def test_readings_of_a_tank() -> None:
    eitlens("--body", "disk", *WORDS, "--first", 90, "--clockwise", "-o", "a.json")
    values = json.loads(Path("a.json").read_text())
    row, pattern = Electrodes.from_dict(values["electrodes"]), Pattern.from_dict(values["pattern"])
    torch.testing.assert_close(row.points()[0], torch.tensor([0.0, 1.0], dtype=torch.float64))
    assert (row.body.scale, float(pattern.stimulation.max())) == (0.1, 2e-3)
    body = eit.Phantom([eit.circle((0.3, 0.1), 0.2)], 3.0, 0.3)
    for name, one in (("voltages", body), ("reference", eit.Phantom([], outside=0.3))):
        expected = simulate_readings(row, pattern, one, 0.05)
        torch.testing.assert_close(torch.tensor(values[name][0], dtype=torch.float64), expected)


def test_noise_has_the_size_that_was_asked_for() -> None:
    def noise(seed: int) -> torch.Tensor:
        clean, noisy = (
            torch.tensor(json.loads(eitlens("--body", "disk", *WORDS, *more, "-o", "-"))["voltages"])
            for more in ((), ("--snr", 40, "--seed", seed))
        )
        return (noisy - clean) / clean.square().mean().sqrt()

    assert float(noise(1).square().mean().sqrt()) == pytest.approx(0.01, rel=0.2)
    assert not torch.equal(noise(1), noise(2))


def test_a_body_from_a_file_travels_with_the_measurement() -> None:
    for out in ("a.json", "a.npz"):
        eitlens("--body", "tank.json", "--n", 32, "-o", out)
        eit.registered("body").pop("my-tank")
        body = files.read(Path(out)).domain
        assert (body.name, body.scale) == ("my-tank", pytest.approx(0.2))


def test_a_body_as_a_plug_in() -> None:
    done = CliRunner().invoke(
        app, ["--plugin", "tank.json", "simulate", "phantom.json", "--body", "my-tank", "-o", "a.npz"]
    )
    assert done.exit_code == 0, done.output


def test_any_body() -> None:
    eitlens("--body", "thorax", "--scale", 0.15, "--electrodes", 16, "-o", "chest.json")
    assert len(json.loads(Path("chest.json").read_text())["voltages"][0]) == 208


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--pattern", "sideways"), "pattern must be one of"),
        (("--pattern", "trigonometric"), "--driven"),
        (("--coverage", 1), "coverage"),
        (("--body", "moon"), "body must be one of"),
        (("--body", "none.json"), "No such file"),
        (("--snr", "nan"), "snr"),
        (("--height", 0), "height must be positive"),
    ],
)
def test_what_cannot_be(words: tuple[object, ...], said: str) -> None:
    output = eitlens("--body", "disk", "--electrodes", 16, *words, "-o", "a.json", status=2)
    assert said in output
    assert len(output.strip().splitlines()) == 1
    assert not Path("a.json").exists()
