"""Many measurements at once, one document for JSON, and requests that are refused before the work."""

import csv
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import eitlens as eit
from eitlens.cli.main import app
from eitlens.measure import files

SQUARE = eit.Square(32)


def run(*words: object) -> Any:
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture
def scans(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three measurements in a folder; the working directory is the one above."""
    monkeypatch.chdir(tmp_path)
    for k in (1, 2, 10):
        body = eit.Phantom([eit.circle((0.3, 0.05 * k), 0.2)])
        data = eit.BoundaryIntegralSolver(SQUARE).difference(body, eit.currents.cosine(SQUARE, 3))
        files.write(eit.Measurement.of_difference(data), tmp_path / "scans" / f"s{k}.npz")
    return tmp_path / "scans"


def test_a_folder_of_measurements(scans: Path) -> None:
    words = ("-o", "images/{}.npz", "-o", "images/{}.png", "-o", "table.csv", "-o", "all.json")
    done = run("reconstruct", "scans", "--each", "--method", "dsm", "--n", 32, *words)
    assert done.exit_code == 0, done.output
    assert sorted(path.name for path in Path("images").iterdir()) == sorted(
        f"s{k}.{kind}" for k in (1, 2, 10) for kind in ("npz", "png")
    )
    rows = list(csv.DictReader(Path("table.csv").read_text().splitlines()))
    assert [Path(row["file"]).stem for row in rows] == ["s1", "s2", "s10"]
    told = json.loads(Path("all.json").read_text())["measurements"]
    assert [row["method"] for row in told] == ["dsm"] * 3
    alone = run("reconstruct", "scans/s2.npz", "--method", "dsm", "--n", 32, "-o", "alone.npz")
    assert alone.exit_code == 0
    assert np.array_equal(np.load("alone.npz")["image"], np.load("images/s2.npz")["image"])


def test_one_bad_file_does_not_stop_the_others(scans: Path) -> None:
    (scans / "s3.txt").write_text("nothing")
    done = run("reconstruct", *sorted(scans.iterdir()), "--method", "dsm", "--n", 32, "-o", "t.csv", "--json")
    assert done.exit_code == 2
    told = json.loads(done.stdout)["measurements"]
    assert ["error" in row for row in told] == [False, False, False, True]
    assert list(csv.DictReader(Path("t.csv").read_text().splitlines()))[3]["error"] != ""


@pytest.mark.parametrize("target", ["image.png", "all.npz", "{}.gif", "{}.csv", "{}.bmp"])
def test_targets_that_are_no_place_for_many(scans: Path, target: str) -> None:
    done = run("reconstruct", "scans", "--each", "--method", "dsm", "-o", target)
    assert done.exit_code == 2
    assert target.replace("{}", "") in done.output.replace("\n", "").replace("{}", "")
    assert not list(Path().glob("*.*"))


def test_two_of_one_name_and_frames_of_one(scans: Path) -> None:
    (scans / "s1.json").write_bytes(b"{}")
    assert "two measurements are called s1" in " ".join(
        run("reconstruct", "scans", "--each", "-o", "{}.png").output.split()
    )


def test_the_same_json_and_coordinates(scans: Path) -> None:
    words = ("reconstruct", "scans/s1.npz", "--method", "dsm", "--n", 32)
    done = run(*words, "--json", "-o", "one.json", "-o", "one.npz")
    printed, written, arrays = (
        json.loads(done.stdout),
        json.loads(Path("one.json").read_text()),
        np.load("one.npz"),
    )
    assert printed == written
    assert np.array_equal(printed["image"], arrays["image"])
    assert np.array_equal(arrays["x"], np.linspace(-1, 1, 33))
    assert arrays["image"].shape == (len(arrays["x"]), len(arrays["y"]))


def test_coordinates_are_those_of_the_outline_in_metres() -> None:
    body = eit.bodies.ellipse(0.2, 0.1).at(16)
    found = body.axes()
    assert float(found["x"].max() - found["x"].min()) == pytest.approx(2 * body.scale)
    place = body.nodes()[3, 5] * body.scale + eit.SmoothBody.nodes(body).new_tensor(body.origin)
    assert (float(found["x"][3]), float(found["y"][5])) == pytest.approx(tuple(place.tolist()))


@pytest.mark.parametrize("form", ["csv", "h5", "mat", "json"])
def test_simulated_in_every_format(form: str, tmp_path: Path) -> None:
    path = tmp_path / f"data.{form}"
    done = run("simulate", "--random", 1, "--n", 32, "-o", path)
    assert done.exit_code == 0, done.output
    assert files.read(path).frames == 1


def test_formats_are_refused_before_the_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eitlens.forward.automatic.simulate", None)  # not reached
    done = run("simulate", "--random", 1, "-o", tmp_path / "data.xyz")
    assert done.exit_code == 2
    assert "measurements are written as" in done.output


def test_figures_outside_the_repository_say_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = run("figures", "table1")
    assert done.exit_code == 2
    assert "results is not there" in " ".join(done.output.split())
    assert not (tmp_path / "out").exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no such device here")
def test_a_full_standard_output_is_one_line() -> None:
    words = [sys.executable, "-m", "eitlens", "simulate", "--random", "1", "--n", "32", "-o", "-"]
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("error: standard output: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "words",
    [
        ("--pattern", "opposite"),
        ("--snr", 40),
        ("--height", 0.2),
        ("--electrodes", 16, "--points", 64),
        ("--electrodes", 16, "--currents", 4),
        ("--electrodes", 16, "--current", "nan"),
        ("--electrodes", 16, "--current", "1e300"),
        ("--electrodes", 16, "--references", 10**9),
    ],
)
def test_options_that_would_be_ignored_or_cannot_be_meant(words: tuple[object, ...], tmp_path: Path) -> None:
    done = run("simulate", "--random", 3, "-o", tmp_path / "data.npz", *words)
    assert done.exit_code == 2
    assert "error: " in done.output
    assert not (tmp_path / "data.npz").exists()
