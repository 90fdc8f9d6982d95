"""From the numbers of a file and a setup to a measurement: places, units, signs, gains, sequences."""

import json
import math

import numpy as np
import pytest
import torch

from eitlens.domain import Disk
from eitlens.electrodes import Electrodes, Pattern, simulate_readings
from eitlens.errors import InputError
from eitlens.measure import Setup, files
from eitlens.measure.parsing import parse
from eitlens.measure.recording import Recording, calibrated
from eitlens.phantom import Phantom, circle

ADJACENT = Setup(electrodes=16, pattern="adjacent")


def text(rows: np.ndarray) -> bytes:
    return "\n".join(" ".join(map(repr, row)) for row in np.atleast_2d(rows).tolist()).encode()


@pytest.fixture(scope="module")
def volts() -> torch.Tensor:
    """Two frames of a tank with an inclusion, and one of water."""
    tank = Disk(32, scale=0.1)
    electrodes, pattern = Electrodes.even(tank, 16), Pattern.named("adjacent", 16)
    bodies = [Phantom([circle((0.3, y), 0.2)], [5.0]) for y in (0.2, -0.4)]
    return simulate_readings(electrodes, pattern, [*bodies, Phantom([])])


@pytest.mark.parametrize("shape", [(1, 208), (208, 1), (16, 13), (13, 16)])
def test_one_frame_may_have_any_shape(volts, shape):
    found = parse(text(volts[0].reshape(shape).numpy()), "frame", ADJACENT)
    assert torch.equal(found.voltages, volts[:1])


@pytest.mark.parametrize("turned", [False, True])
def test_frames_are_rows_or_columns(volts, turned):
    rows = volts.numpy().T if turned else volts.numpy()
    assert torch.equal(parse(text(rows), "frames", ADJACENT).voltages, volts)


def test_text_may_be_wrapped_anywhere(volts):
    words = [repr(value) for value in volts[0].tolist()]
    lines = [" ".join(words[k : k + 10]) for k in range(0, 208, 10)]
    assert torch.equal(parse("\n".join(lines).encode(), "frame", ADJACENT).voltages, volts[:1])


@pytest.mark.parametrize(("mark", "comma"), [(",", "."), (";", "."), (";", ","), ("\t", ","), ("  ", ".")])
def test_numbers_are_separated_as_programs_do(volts, mark, comma):
    lines = [mark.join(repr(value).replace(".", comma) for value in row) for row in volts.tolist()]
    content = "\n".join(["# a comment", "% another", *lines]).encode("utf-8-sig")
    assert torch.equal(parse(content, "frames", ADJACENT).voltages, volts)


def test_a_frame_may_be_one_long_line():
    values = np.random.default_rng(1).normal(size=64 * 61)
    assert len(text(values)) > 1 << 16
    found = parse(text(values), "frame", Setup(electrodes=64, pattern="adjacent"))
    assert np.array_equal(found.voltages.numpy()[0], values)


def test_a_missing_number_was_not_measured(volts):
    lines = [",".join(["", *map(repr, row[1:])]) for row in volts.tolist()]
    found = parse("\n".join(lines).encode(), "frames", ADJACENT)
    assert bool(found.voltages[:, 0].isnan().all())
    assert torch.equal(found.voltages[:, 1:], volts[:, 1:])


def test_values_at_electrodes_that_drive_are_left_out_or_used(volts):
    table = ADJACENT.stimulated().spread(volts).nan_to_num(7.0).flatten(1)
    found = parse(text(table.numpy()), "frames", ADJACENT)
    assert torch.equal(found.voltages, volts)
    assert found.notes == ("48 of 256 values are at electrodes that drive and left out",)
    used = parse(text(table.numpy()), "frames", Setup(driven=True).over(ADJACENT))
    assert torch.equal(used.voltages, table)


def test_arrays_of_numpy_are_frames(volts, tmp_path):
    np.save(tmp_path / "frames.npy", volts.numpy())
    assert torch.equal(files.read(tmp_path / "frames.npy", ADJACENT).voltages, volts)
    np.savez(tmp_path / "both.npz", frames=volts[:2].numpy(), reference=volts[2].numpy())
    found = files.read(tmp_path / "both.npz", ADJACENT)
    assert torch.equal(found.voltages, volts[:2])
    assert torch.equal(found.reference, volts[2:])
    (tmp_path / "both.json").write_text(json.dumps({"frames": volts[:2].tolist(), "vh": volts[2].tolist()}))
    assert torch.equal(files.read(tmp_path / "both.json", ADJACENT).reference, volts[2:])


def test_one_of_several_recordings_is_named(volts, tmp_path):
    path = tmp_path / "several.npz"
    np.savez(path, one=volts[0].numpy(), two=volts[1].numpy(), three=volts[2].numpy())
    with pytest.raises(InputError, match=r"3 arrays of frames \(one, two, three\): name one behind the file"):
        files.read(path, ADJACENT)
    found = files.read(f"{path}::two", ADJACENT, f"{path}::three")
    assert torch.equal(found.voltages, volts[1:2])
    assert torch.equal(found.reference, volts[2:])
    with pytest.raises(InputError, match="there is no array 'four'"):
        files.read(f"{path}::four", ADJACENT)


def test_units_are_turned_to_si(volts):
    setup = Setup(unit="mV", current="5 mA", scale="10 cm", height="50mm", conductivity="2 mS/m").over(
        ADJACENT
    )
    found = parse(text(1000 * volts.numpy()), "frames", setup)
    assert torch.allclose(found.voltages, volts, rtol=1e-15)
    assert float(found.pattern.stimulation.max()) == 0.005
    assert (found.domain.scale, found.height, found.conductivity) == (0.1, 0.05, 0.002)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"current": "5 mV"}, "current: 'mV' is no unit of this kind: give A, mA, uA"),
        ({"scale": "wide"}, "scale: expected a number with or without a unit"),
        ({"unit": "mA"}, "'mA' is no unit of this kind: give V"),
        ({"pattern": "neighbours"}, "neighbours"),
        ({"electrodes": 15}, "do not go with a pattern of 15 stimulations and 180 or 225 readings a frame"),
        ({"coverage": 1.5}, "coverage"),
        ({"body": "pear"}, "pear"),
        ({"clockwise": "no"}, "clockwise: expected true or false, got 'no'"),
        ({"first": "top"}, "first: "),
    ],
)
def test_a_mistake_in_a_setup_is_one_line(volts, given, message):
    with pytest.raises(InputError, match=message) as told:
        parse(text(volts.numpy()), "frames", Setup(**given).over(ADJACENT))
    assert "\n" not in str(told.value)


def test_without_a_setup_the_error_says_what_to_give(volts):
    with pytest.raises(InputError, match=r"frames: the first line, .* --electrodes 16 --pattern adjacent"):
        parse(text(volts.numpy()), "frames")


def test_the_electrodes_sit_where_the_setup_says(volts):
    setup = Setup(first=90.0, clockwise=True, coverage=0.25, scale=0.1).over(ADJACENT)
    found = parse(text(volts.numpy()), "frames", setup).electrodes
    middle = found.points()
    assert torch.allclose(middle[0], torch.tensor([0.0, 1.0], dtype=torch.float64), atol=1e-12)
    assert float(middle[4, 0]) == pytest.approx(
        1.0
    )  # a quarter of a turn clockwise from the top is on the right
    assert float(found.widths.sum()) == pytest.approx(0.25 * 2 * math.pi)


def test_readings_may_begin_at_the_electrode_that_drives(volts):
    """The same numbers, from that at the driving pair on."""
    table = ADJACENT.stimulated().spread(volts)
    turned = torch.stack([torch.stack([row[k].roll(-k) for k in range(16)]) for row in table])
    setup = Setup(rotating=True).over(ADJACENT)
    found = parse(text(turned[..., 2:15].flatten(1).numpy()), "frames", setup)
    assert torch.equal(found.pattern.spread(found.voltages)[..., 2:15], turned[..., 2:15])
    electrodes = Electrodes.even(Disk(32, scale=0.1), 16)
    assert torch.allclose(
        simulate_readings(electrodes, found.pattern, Phantom([])), found.voltages[2], rtol=1e-9
    )


def test_flipped_readings_have_the_other_sign(volts):
    found = parse(text(-volts.numpy()), "frames", Setup(flipped=True).over(ADJACENT))
    electrodes = Electrodes.even(Disk(32, scale=0.1), 16)
    assert torch.allclose(simulate_readings(electrodes, found.pattern, Phantom([])), -volts[2], rtol=1e-9)


def test_gains_and_signs_that_were_lost_come_back_from_the_reference(volts, tmp_path):
    gain = torch.rand(208, generator=torch.Generator().manual_seed(1), dtype=torch.float64) + 0.5
    for name, rows in (("frames", volts[:2]), ("water", volts[2:])):
        (tmp_path / f"{name}.txt").write_bytes(text((rows * gain).abs().numpy()))
    setup = Setup(calibrated=True, scale=0.1).over(ADJACENT)
    found = files.read(tmp_path / "frames.txt", setup, tmp_path / "water.txt")
    assert torch.allclose(found.voltages, volts[:2], rtol=1e-9)
    assert torch.allclose(found.reference, volts[2:], rtol=1e-9)
    assert "gain" in found.notes[-1]
    alone = files.read(tmp_path / "water.txt", setup)
    assert torch.equal(alone.voltages.sign(), volts[2:].sign())


def test_calibration_drops_readings_whose_reference_is_zero(volts):
    measurement = parse(text(volts.numpy()), "frames", ADJACENT).against(slice(2, 3))
    measurement.reference[0, 5] = 0.0
    assert bool(calibrated(measurement).voltages[:, 5].isnan().all())


def test_a_folder_is_a_sequence_in_the_order_of_its_numbers(volts, tmp_path):
    for number, value in ((1, 0.0), (2, 1.0), (10, 2.0)):
        (tmp_path / f"frame_{number}.txt").write_bytes(text(volts[:1].numpy() + value))
    (tmp_path / ".hidden").write_text("no frame")
    found = files.read(tmp_path, Setup(rate=2.0).over(ADJACENT))
    assert torch.equal(found.voltages, torch.cat([volts[:1] + value for value in (0.0, 1.0, 2.0)]))
    assert found.times.tolist() == [0.0, 0.5, 1.0]
    some = files.read(f"{tmp_path}/frame_?.txt", ADJACENT, tmp_path / "frame_10.txt")
    assert some.frames == 2
    assert torch.equal(some.reference, volts[:1] + 2.0)
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="0 files: expected a frame in each"):
        files.read(tmp_path / "empty", ADJACENT)


def test_a_pattern_that_the_file_contradicts_is_refused(volts):
    known = Setup(electrodes=16, pattern=Pattern.named("skip-2", 16, current=0.01))
    recording = Recording(np.ones((1, 16, 16)), known, potentials=True)
    with pytest.raises(InputError, match="the file itself says which electrodes drive"):
        recording.measured(Setup(pattern="adjacent"), "frame")
    assert recording.measured(Setup(pattern="skip-2"), "frame").pattern.count == 192
    scaled = recording.measured(Setup(current="5 mA", flipped=True), "frame").pattern
    assert float(scaled.stimulation.max()) == 0.005
    assert torch.equal(scaled.reading, -known.pattern.reading)


def test_a_whole_pattern_says_how_it_is_read(volts):
    own = Setup(pattern=Pattern.named("adjacent", 16))
    known = Setup(electrodes=16, pattern="adjacent", rotating=True, flipped=True)
    assert torch.equal(own.over(known).stimulated().reading, own.pattern.reading)


def test_a_setup_may_be_a_file(volts, tmp_path):
    (tmp_path / "tank.json").write_text(
        '{"electrodes": 16, "pattern": "adjacent", "current": "5 mA", "scale": 0.1}'
    )
    (tmp_path / "frame.txt").write_bytes(text(volts.numpy()))
    found = files.read(tmp_path / "frame.txt", tmp_path / "tank.json")
    assert float(found.pattern.stimulation.max()) == 0.005
    (tmp_path / "tank.json").write_text('{"electrode": 16}')
    with pytest.raises(InputError, match=r"tank\.json: setup: unknown key 'electrode'"):
        files.read(tmp_path / "frame.txt", tmp_path / "tank.json")


def test_a_setup_may_hold_a_body_electrodes_and_a_pattern(volts):
    electrodes, pattern = Electrodes.even(Disk(200, scale=0.1), 16), Pattern.named("adjacent", 16)
    values = {"electrodes": electrodes.to_dict(), "pattern": pattern.to_dict()}
    found = parse(text(volts.numpy()), "frames", Setup.from_dict(json.loads(json.dumps(values))))
    assert torch.equal(found.electrodes.places, electrodes.places)
    assert torch.equal(found.pattern.mask, pattern.mask)
    body = Setup.from_dict({"body": {"name": "oval", "ellipse": [0.2, 0.1]}})
    assert body.over(ADJACENT).placed().body.scale == 0.2
