"""A frame of numbers, a setup in words, an image: the commands that a new user types."""

import json
import math

import numpy as np
import pytest
from typer.testing import CliRunner

import eitlens as eit
from eitlens.cli.main import app

PLACES = [(0.0, 0.0)] + [
    (r * math.cos(angle), r * math.sin(angle))
    for r in (0.3, 0.5, 0.7)
    for angle in (math.pi * (k / 4 + 0.03) for k in range(8))
]
RADIUS = 0.15
WITHIN = 0.07
"""Of the tank's radius: half of the object's, two pixels."""


@pytest.fixture(scope="module")
def volts() -> np.ndarray:
    """A frame for each place of an object in a tank of 16 electrodes; the last is of water alone."""
    electrodes = eit.Electrodes.even(eit.Disk(32), 16, first=math.pi / 2, clockwise=True)
    objects = [eit.Phantom([eit.circle(place, RADIUS)], [0.1]) for place in PLACES]
    pattern = eit.Pattern.named("adjacent", 16)
    return eit.simulate_readings(electrodes, pattern, [*objects, eit.Phantom([])]).numpy()


def run(*words: object):
    return CliRunner().invoke(app, [str(word) for word in words])


SETUP = ("--electrodes", 16, "--pattern", "adjacent", "--first", 90, "--clockwise")


def brightest(image: np.ndarray) -> np.ndarray:
    """The place of the largest value of an image on the box around the disk."""
    return 2 * np.array(np.unravel_index(image.argmax(), image.shape)) / (len(image) - 1) - 1


def test_every_place_of_an_object_is_found_with_one_command(volts, tmp_path):
    np.savetxt(tmp_path / "frames.txt", volts[:-1])
    np.savetxt(tmp_path / "water.txt", volts[-1:])
    out = ("--reference", tmp_path / "water.txt", "--method", "dsm", "--n", 64, "-o", tmp_path / "images.npz")
    done = run("reconstruct", tmp_path / "frames.txt", *SETUP, *out)
    assert done.exit_code == 0, done.output
    images = np.load(tmp_path / "images.npz")["images"]
    away = [np.linalg.norm(brightest(image) - place) for image, place in zip(images, PLACES, strict=True)]
    assert max(away) < WITHIN


def test_one_frame_needs_no_reference(volts, tmp_path):
    np.savetxt(tmp_path / "frame.txt", volts[4].reshape(16, 13), fmt="%.9g", delimiter=",")
    out = ("--method", "dsm", "--n", 64, "-o", tmp_path / "image.npz")
    done = run("reconstruct", tmp_path / "frame.txt", *SETUP, *out)
    assert done.exit_code == 0, done.output
    away = np.linalg.norm(brightest(np.load(tmp_path / "image.npz")["image"]) - PLACES[4])
    assert away < WITHIN


def test_a_setup_in_a_file_says_the_same(volts, tmp_path):
    np.savetxt(tmp_path / "frame.txt", volts[4:5] * 1e3)
    told = {"electrodes": 16, "pattern": "adjacent", "first": 0, "clockwise": True, "unit": "mV"}
    (tmp_path / "tank.json").write_text(json.dumps(told))
    words = (
        "--setup",
        tmp_path / "tank.json",
        "--first",
        90,
        "--method",
        "dsm",
        "--n",
        64,
        "-o",
        tmp_path / "i.npz",
    )
    done = run("reconstruct", tmp_path / "frame.txt", *words)
    assert done.exit_code == 0, done.output
    assert np.linalg.norm(brightest(np.load(tmp_path / "i.npz")["image"]) - PLACES[4]) < WITHIN


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "frame.txt: the first line, '"),
        (("--electrodes", 16), "the first line, '"),
        (("--electrodes", 16, "--pattern", "sideways"), "sideways"),
        (
            ("--electrodes", 16, "--pattern", "skip-3"),
            "do not go with a pattern of 16 stimulations and 192 or 256",
        ),
        (
            ("--electrodes", 16, "--pattern", "adjacent", "--current", "5 volts"),
            "current: 'volts' is no unit",
        ),
        (("--setup", "nowhere.json"), "nowhere.json: No such file"),
    ],
)
def test_a_mistake_in_the_setup_is_one_line_and_status_2(volts, tmp_path, words, message):
    np.savetxt(tmp_path / "frame.txt", volts[:1])
    done = run("reconstruct", tmp_path / "frame.txt", "--method", "dsm", *words)
    assert done.exit_code == 2
    assert message in done.output.replace("\n", "")
