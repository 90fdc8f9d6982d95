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


@pytest.mark.parametrize("out", ["a.json", "a.npz"])
def test_a_file_says_all_of_the_tank(out: str) -> None:
    eitlens("--body", "disk", *WORDS, "-o", out)
    found = files.read(Path(out))
    assert (found.conductivity, found.height, found.frames) == (0.3, 0.05, 1)
    assert found.electrodes.body.scale == 0.1
    body = eit.Phantom([eit.circle((0.3, 0.1), 0.2)], 3.0, 0.3)
    expected = simulate_readings(found.electrodes, found.pattern, body, 0.05)
    torch.testing.assert_close(found.voltages[0], expected)


def test_shapes_that_move_in_metres() -> None:
    """Two seconds at 1 cm/s on a disk of 10 cm: from 0.3 to 0.5 of the radius."""
    moving = {
        "outside": 0.3,
        "units": "metres",
        "shapes": [
            {
                "kind": "circle",
                "center": [0.03, 0.01],
                "radius": 0.02,
                "conductivity": 3,
                "velocity": [0.01, 0],
            }
        ],
    }
    Path("phantom.json").write_text(json.dumps(moving))
    eitlens("--body", "disk", *WORDS, "--frames", 5, "--rate", 2, "--references", 3, "-o", "a.npz")
    found = files.read(Path("a.npz"))
    assert found.voltages.shape[0] == 5
    assert found.reference.shape[0] == 3
    assert found.times.tolist() == [0.0, 0.5, 1.0, 1.5, 2.0]
    last = eit.Phantom([eit.circle((0.5, 0.1), 0.2)], 3.0, 0.3)
    expected = simulate_readings(found.electrodes, found.pattern, last, 0.05)
    torch.testing.assert_close(found.voltages[-1], expected)


def test_frames_one_by_one() -> None:
    other = PHANTOM | {"shapes": []}
    Path("phantom.json").write_text(json.dumps({"frames": [PHANTOM, other]}))
    eitlens("--body", "disk", *WORDS, "--references", 0, "-o", "a.json")
    found = files.read(Path("a.json"))
    assert found.reference is None
    expected = simulate_readings(found.electrodes, found.pattern, eit.Phantom([], outside=0.3), 0.05)
    torch.testing.assert_close(found.voltages[1], expected)


def test_the_noise_of_the_paper_is_of_the_change() -> None:
    clean, noisy = (
        json.loads(eitlens("--body", "disk", *WORDS, *more, "-o", "-")) for more in ((), ("--tau", 0.1))
    )
    assert noisy["reference"] == clean["reference"]
    change = torch.tensor(clean["voltages"]) - torch.tensor(clean["reference"])
    spread = (torch.tensor(noisy["voltages"]) - torch.tensor(clean["voltages"])) / change
    assert float(spread.std()) == pytest.approx(0.1, rel=0.2)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"units": "feet"}, "units: expected body or metres"),
        ({"shapes": [{"kind": "star", "radius": 0.1, "velocity": [1]}]}, "velocity: expected two numbers"),
        ({"shapes": [{"kind": "circle", "center": [2, 0], "radius": 0.1}]}, "beyond the boundary"),
        (
            {"shapes": [{"kind": "circle", "center": [0, 0], "radius": 0.1, "conductivity": -1}]},
            "must be positive",
        ),
        ({"outside": 0}, "must be positive"),
    ],
)
def test_phantoms_that_cannot_be(values: dict[str, object], said: str) -> None:
    Path("phantom.json").write_text(json.dumps(PHANTOM | values))
    output = eitlens("--body", "disk", *WORDS, "-o", "a.json", status=2)
    assert said in output
    assert len(output.strip().splitlines()) == 1


def test_frames_are_for_electrodes() -> None:
    assert "--frames needs --electrodes" in eitlens("--frames", 2, "-o", "a.npz", status=2)


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
        (("--rate", 0), "positive rate"),
        (("--tau", "nan"), "tau"),
        (("--readings", "all-against-17"), "numbered 1 to 16"),
    ],
)
def test_what_cannot_be(words: tuple[object, ...], said: str) -> None:
    output = eitlens("--body", "disk", "--electrodes", 16, *words, "-o", "a.json", status=2)
    assert said in output
    assert len(output.strip().splitlines()) == 1
    assert not Path("a.json").exists()
