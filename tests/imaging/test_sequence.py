"""From a measurement to an image a frame: order, laziness, own methods, the table, and the files of a sequence."""

import csv
import io
import json
import math

import numpy as np
import pytest
import torch
from PIL import Image
from typer.testing import CliRunner

import eitlens as eit
from eitlens.cli.main import app
from eitlens.errors import InputError
from eitlens.imaging import Batched, Options, images
from eitlens.imaging.table import as_csv, row
from eitlens.measure import files

TANK = eit.Disk(32, scale=0.1)
ELECTRODES = eit.Electrodes.even(TANK, 16, first=math.pi / 2, clockwise=True)
PATTERN = eit.Pattern.named("adjacent", 16, current=5e-3)
TURN = [k * math.pi / 3 for k in range(6)]
PLACES = [(0.5 * math.cos(angle), 0.5 * math.sin(angle)) for angle in TURN]


@pytest.fixture(scope="module")
def data() -> eit.Measurement:
    """An insulating rod of a fifth of the radius that moves in a circle: two empty frames, then two at each place."""
    bodies = [eit.Phantom([eit.circle(place, 0.2)], 0.004, 0.04) for place in PLACES]
    volts = eit.simulate_readings(ELECTRODES, PATTERN, [eit.Phantom([], outside=0.04), *bodies], height=0.1)
    frames = volts.repeat_interleave(2, 0)
    return eit.Measurement.of_electrodes(ELECTRODES, PATTERN, frames, times=torch.arange(14) / 4, height=0.1)


def eitlens(*words: object, status: int = 0) -> str:
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exit_code == status, done.output
    return done.output


def still(measurement: eit.Measurement, options: Options) -> eit.Reconstruction:
    """A method that shows the first reading everywhere."""
    image = torch.full(TANK.shape, float(measurement.voltages[0, 0]), dtype=torch.float64)
    return eit.Reconstruction(image, None, TANK, None, None, (), "still", "", 0.0, quantity="change")


def test_every_frame_in_order(data):
    found = [float(one.image.max()) for one in images(data, still)]
    assert found == data.voltages[:, 0].tolist()


def test_an_image_is_made_when_it_is_asked_for(data):
    calls = []
    frames = images(data, lambda measurement, options: calls.append(options.n) or still(measurement, options))
    assert calls == []
    next(frames)
    assert calls == [None]


def test_a_method_of_all_frames_is_called_once(data):
    calls = []

    def every(measurement, options):
        calls.append(measurement.frames)
        return (still(measurement.frame(k), options) for k in range(measurement.frames))

    method = Batched(every)
    assert len([*images(data, method)]) == data.frames
    assert float(method(data, Options()).image.max()) == float(data.voltages[0, 0])
    assert calls == [14, 1]


def test_what_is_no_measurement_is_refused():
    with pytest.raises(InputError, match="expected a Measurement, got a Tensor"):
        images(torch.zeros(2, 208))


def test_the_table_follows_the_rod(data):
    found = images(data.against([0, 1]).selected([*range(2, 14, 2)]), "dsm", Options(n=64))
    table = [row(k, None, one) for k, one in enumerate(found)]
    for one, (x, y) in zip(table, PLACES, strict=True):
        assert math.dist((one.x, one.y), (0.1 * x, 0.1 * y)) < 0.01  # a tenth of the radius
    values = [*csv.DictReader(io.StringIO(as_csv(table).decode()))]
    assert [int(line["frame"]) for line in values] == [*range(6)]
    assert {line["time"] for line in values} == {""}
    assert float(values[2]["x"]) == pytest.approx(table[2].x, rel=1e-5)


def test_size_and_value_of_the_strongest_change():
    image = torch.where(eit.indicator(TANK, eit.Phantom([eit.circle((0.0, 0.5), 0.3)])), -2.0, 0.0).double()
    image[16, 24] = -3.0
    one = row(1, 0.5, eit.Reconstruction(image, None, TANK, None, None, (), "", "", 0.0, quantity="change"))
    assert (one.x, one.y, one.value) == pytest.approx((0.0, 0.05, -3.0))
    assert one.size == pytest.approx(math.pi * 0.03**2, rel=0.06)  # on 32 cells


def test_a_sequence_on_the_command_line(data, tmp_path):
    source = tmp_path / "rod.npz"
    files.write(data, source)
    targets = [tmp_path / f"out/rod.{suffix}" for suffix in ("npz", "gif", "csv", "png", "json")]
    words = ["--reference-frames", "1-2", "--frames", "3-", "--average", 2, "--method", "dsm", "--n", 32]
    said = eitlens("reconstruct", source, *words, *(word for one in targets for word in ("-o", one)))
    assert said.startswith("dsm, 6 frames")
    arrays = np.load(targets[0])
    assert arrays["images"].shape == (6, 33, 33)
    assert arrays["frames"].tolist() == [3, 5, 7, 9, 11, 13]
    assert arrays["times"].tolist() == pytest.approx([0.625 + k / 2 for k in range(6)])
    moving = Image.open(targets[1])
    assert (moving.n_frames, moving.info["duration"]) == (6, 500)
    table = [*csv.DictReader(targets[2].open())]
    assert [float(line["time"]) for line in table] == arrays["times"].tolist()
    assert targets[3].read_bytes().startswith(b"\x89PNG")
    told = json.loads(targets[4].read_text())["frames"]
    assert [one["frame"] for one in told] == [3, 5, 7, 9, 11, 13]
    assert json.loads(eitlens("reconstruct", source, *words, "--json"))["frames"][0]["method"] == "dsm"


def test_one_frame_of_a_sequence_is_an_image_as_ever(data, tmp_path):
    source, target = tmp_path / "rod.npz", tmp_path / "image.npz"
    files.write(data, source)
    words = ("--reference-frames", "1", "--frames", 5, "--method", "dsm", "--n", 32)
    said = eitlens("reconstruct", source, *words, "-o", target, "-o", tmp_path / "row.csv")
    assert "frames" not in said
    assert np.load(target)["image"].shape == (33, 33)
    assert len((tmp_path / "row.csv").read_text().splitlines()) == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--frames", "3-99"), "frames: there are no frames 3-99: the measurement has frames 1 to 14"),
        (("--frames", "first"), "frames: expected frames such as 1-20"),
        (("--reference-frames", 15), "reference frames: there are no frames 15"),
        (("--average", 15), "cannot average 15 frames of 14"),
        (("--reference", "a.npz", "--reference-frames", 1), "two references: give one of them"),
    ],
)
def test_frames_that_cannot_be(data, tmp_path, words, said):
    files.write(data, tmp_path / "rod.npz")
    output = eitlens("reconstruct", tmp_path / "rod.npz", "--method", "dsm", *words, status=2)
    assert said in output.replace("\n", " ")
    assert len(output.strip().splitlines()) == 1


def test_more_images_than_fit_in_memory_are_refused(data, tmp_path, monkeypatch):
    monkeypatch.setattr("eitlens.cli.sequence_files._MOST_BYTES", 1000)
    files.write(data.against(0), tmp_path / "rod.npz")
    output = eitlens("reconstruct", tmp_path / "rod.npz", "--method", "dsm", "--n", 32, status=2)
    assert "14 images of 33 × 33 nodes take" in output.replace("\n", " ")
