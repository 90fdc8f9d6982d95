"""Files of devices: what each says of its tank, and how its numbers are put into the pattern."""

import importlib.util
import struct
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from eitlens.domain import Disk
from eitlens.electrodes import Electrodes, Pattern, simulate_readings
from eitlens.errors import InputError
from eitlens.measure import Setup, files
from eitlens.measure.formats import act3, frames256, ktc2023, manchester, matlab, uef2017
from eitlens.measure.formats.registry import recognised, recording
from eitlens.measure.parsing import parse
from eitlens.phantom import Phantom

WATER = Phantom([])


def water(setup: Setup, **more: object) -> torch.Tensor:
    full = Setup(**more).over(setup)
    return simulate_readings(full.placed(), full.stimulated(), WATER)


def numbers(values: object) -> str:
    return "\n".join(map(repr, np.asarray(values).flatten().tolist()))


def test_ktc2023():
    ring = np.eye(32) - np.roll(np.eye(32), 1, 1)
    values = {"Inj": 2 * ring[::2].T, "Mpat": ring[:31].T, "Uel": np.arange(16 * 31.0)[:, None]}
    values["Uel"][5] = np.nan
    found = recording(values).measured(Setup(), "ktc")
    assert torch.equal(found.pattern.stimulation, torch.from_numpy(0.002 * ring[::2]))
    assert torch.equal(found.voltages.nan_to_num(5.0)[0], torch.arange(496, dtype=torch.float64))
    assert (found.domain.scale, found.electrodes.count) == (0.115, 32)
    assert float(found.electrodes.widths[0]) == pytest.approx(np.radians(5.625))
    assert torch.allclose(
        found.electrodes.points()[8], torch.tensor([-1.0, 0.0], dtype=torch.float64), atol=1e-9
    )
    both = recording(values | {"Uelref": values["Uel"] + 1}).measured(Setup(), "ktc")
    assert torch.equal(both.difference.nan_to_num(-1.0), -torch.ones(1, 496, dtype=torch.float64))
    assert recording({name: values[name] for name in ("Inj", "Mpat")} | {"Uelref": values["Uel"]}).empty
    with pytest.raises(InputError, match="expected Inj"):
        recording({"Mpat": values["Mpat"], "Uel": values["Uel"]})
    assert ktc2023.TANK.first == 90.0


def test_the_reference_of_ktc2023_is_found_in_its_folder(tmp_path):
    ring = np.eye(32) - np.roll(np.eye(32), 1, 1)
    for name, values in (
        ("data1", {"Uel": np.ones(62)}),
        ("data2", {"Uel": np.ones(62) * 3}),
        ("ref", {"Uelref": np.zeros(62)}),
    ):
        content = matlab.write(values | {"Inj": ring[:2].T, "Mpat": ring[:31].T})
        (tmp_path / f"{name}.mat").write_bytes(content)
    found = files.read(tmp_path)
    assert found.voltages[:, 0].tolist() == [1.0, 3.0]
    assert torch.equal(found.reference, torch.zeros(1, 62, dtype=torch.float64))
    alone = files.read(tmp_path / "ref.mat")
    assert (alone.frames, alone.reference) == (1, None)


def test_uef2017():
    ring = np.eye(16) - np.roll(np.eye(16), 1, 1)
    table = np.arange(32.0).reshape(16, 2)
    found = recording({"Uel": table, "CurrentPattern": ring[:2].T, "MeasPattern": ring.T}).measured(
        Setup(), "uef"
    )
    assert torch.equal(found.voltages[0], torch.from_numpy(table.T.flatten()))
    assert torch.equal(found.pattern.stimulation, torch.from_numpy(1e-3 * ring[:2]))
    assert float(found.electrodes.widths[0] * found.domain.scale) == pytest.approx(0.025, rel=0.02)
    assert float(found.electrodes.points()[4, 0]) == pytest.approx(1.0)  # clockwise from the top
    assert uef2017.TANK.height == 0.07


def test_act3():
    expected = water(act3._known(0.2))
    potentials = (
        expected.reshape(31, 32) * 1e3 + torch.arange(31.0)[:, None]
    )  # mV, with a constant of each current
    content = ("0.2\n" + numbers(potentials)).encode()
    assert recognised(content) is act3
    found = parse(content, "act3")
    assert torch.allclose(found.voltages[0], expected, atol=1e-12)
    angle = 2 * torch.pi / 32
    sines = 2e-4 * torch.sin(angle * torch.arange(1, 33, dtype=torch.float64))
    assert torch.allclose(found.pattern.stimulation[16], sines, atol=1e-16)
    assert torch.allclose(found.electrodes.points()[31], torch.tensor([1.0, 0.0], dtype=torch.float64))
    both = {
        "ACT2006_homog": potentials.numpy().flatten(),
        "ACT2000_phant": 2j + potentials.numpy().flatten()[:, None],
    }
    made = recording(both).measured(Setup(), "act3")
    assert torch.allclose(made.voltages, made.reference)
    assert made.notes == ("the real parts of complex values are used",)


def sciospec(header: int, drive: list[tuple[int, int]], volts: np.ndarray, frequencies: int = 1) -> bytes:
    """A file with so many lines of header; the imaginary parts are nonsense, as are other frequencies."""
    name = {9: ["setup"], 11: ["1", "setup"], 18: ["2", "setup"]}[header]
    lines = [
        str(header),
        *name,
        "2025.02.12. 13:19:58.5",
        "1e4",
        "1e5",
        "1",
        str(frequencies),
        "0.005",
        "20.0",
    ]
    lines += ["0"] * (header - len(lines))
    if header == 18:
        lines[-2:] = [
            "MeasurementChannels: 1,2,3,4,5,6,7,8",
            "MeasurementChannelsIndependentFromInjectionPattern: 1",
        ]
    for (one, other), row in zip(drive, volts, strict=True):
        lines.append(f"{one} {other}")
        for k in range(frequencies):
            lines.append("\t".join(f"{v + k!r}\t7.5" for v in row.tolist()))
    return "\n".join([*lines, ""]).encode()


@pytest.mark.parametrize(("header", "frequencies"), [(9, 1), (11, 1), (18, 1), (18, 3)])
def test_sciospec(header, frequencies):
    drive = [(k + 1, (k + 3) % 8 + 1) for k in range(8)]
    potentials = torch.randn(8, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    found = parse(sciospec(header, drive, potentials, frequencies), "frame")
    expected = Pattern.named("skip-2", 8, current=0.005)
    assert torch.equal(found.pattern.stimulation, expected.stimulation)
    assert torch.allclose(found.voltages[0], expected.read(potentials), rtol=1e-12)
    assert found.times.tolist() == [13 * 3600 + 19 * 60 + 58.5]
    mean = parse(sciospec(header, drive, potentials), "frame", Setup(readings="mean", driven=True)).voltages
    assert torch.allclose(mean.reshape(8, 8), potentials - potentials.mean(1, keepdim=True))


def test_frames_of_sciospec_keep_their_time(tmp_path):
    drive, volts = [(1, 2), (3, 4)], np.ones((2, 8))
    for number, seconds in ((1, "58.5"), (2, "58.75"), (10, "59.5")):
        content = sciospec(18, drive, number * volts).replace(b":58.5", f":{seconds}".encode())
        (tmp_path / f"setup_{number:05d}.eit").write_bytes(content)
    found = files.read(tmp_path)
    assert found.times.tolist() == [0.0, 0.25, 1.0]
    assert files.read(tmp_path / "setup_00010.eit").times.tolist() == [0.0]


def draeger(kind: int, length: int, frames: int, extra: bytes = b"") -> tuple[bytes, np.ndarray]:
    """A recording in the currents' phase of 0.3, and its readings in that phase."""
    draw = np.random.default_rng(3)
    real = draw.random((frames, 208)) + 1
    sent = 8.8 * np.exp(0.3j) * np.ones(16)
    body = b""
    for k in range(frames):
        table = np.zeros(length // 8)
        table[0], table[1:209] = 0.9 + 0.05 * k / 86400, real[k] * np.cos(0.3)
        if kind == 51:
            table[225:241], table[547:563], table[323:531] = sent.real, sent.imag, real[k] * np.sin(0.3)
        body += table.tobytes() + bytes(length % 8)
    header = b"---Draeger EIT-Software\r\nFramerate [Hz]: 20\r\nAmplitude [uA]: 8800\r\n**\r\n\r\n\r\n"
    start = struct.pack("<3i", kind, 12 + len(header) - 8, 7) + header
    return start + body + extra, real if kind == 51 else real * np.cos(0.3)


@pytest.mark.parametrize(("kind", "length"), [(51, 5495), (31, 4112), (32, 3200), (31, 4358), (51, 5503)])
@pytest.mark.parametrize("frames", [1, 2, 7])
def test_draeger_has_all_frames_whatever_their_length(kind, length, frames):
    if frames == 1 and length not in (5495, 4112, 3200):
        pytest.skip("one frame does not tell its length")
    content, real = draeger(kind, length, frames, b"cut")
    found = parse(content, "recording")
    assert np.allclose(found.voltages.numpy(), 1e-3 * real)
    assert np.allclose(found.times.numpy(), 0.05 * np.arange(frames), atol=1e-6)
    assert float(found.pattern.stimulation.max()) == pytest.approx(0.0088)


def test_draeger_reads_the_pairs_behind_the_one_that_drives():
    found = parse(draeger(51, 5495, 1)[0], "recording")
    table = found.pattern.spread(found.voltages)[0]
    first = found.pattern.channels[5][int(torch.nonzero(table[5].isfinite())[0])]
    assert torch.nonzero(found.pattern.stimulation[5]).flatten().tolist() == [5, 6]
    assert torch.nonzero(first).flatten().tolist() == [7, 8]
    assert bool((water(Setup(), electrodes=16, pattern="adjacent", rotating=True, flipped=True) > 0).all())


def test_raw_frames_of_256():
    frames = np.arange(1, 513, dtype="<f4").reshape(2, 256)
    assert recognised(frames.tobytes()) is frames256
    found = parse(frames.tobytes(), "frames.get", Setup(scale=0.1))
    assert found.voltages.shape == (2, 208)
    assert float(found.voltages[0, 0]) == 3.0  # the pair 3–4, while 1–2 drive
    assert float(found.pattern.stimulation.max()) == 0.005
    assert recognised(frames.tobytes()[:-4]) is not frames256


def test_manchester():
    known = Setup(electrodes=16, pattern="adjacent", flipped=True, current=6e-4)
    expected = water(known)
    header = "#MEAS\n#Length, 208\n#Electrodes, 16\n#Strategy, Adjacent , Partial Model\n#Start\n"
    rows = [f"{value!r} -0.1 0.0006" for value in [*expected.tolist(), float(expected[-1])]]
    found = parse((header + "\n".join(rows)).encode(), "water")
    assert torch.allclose(found.voltages[0], expected / 2)  # at half the current
    assert float(found.pattern.stimulation.max()) == manchester._CURRENT
    for change in (("Adjacent", "Opposite"), ("#Length, 208", "#Length, 300"), (" -0.1", "")):
        with pytest.raises(InputError, match="water: "):
            parse((header + "\n".join(rows)).replace(*change).encode(), "water")


def test_well_known_arrays_bring_their_tanks():
    frames = np.ones((256, 4))
    assert recording({"zc_demo3": frames}).known.calibrated
    known = recording({"v_reference": frames[:, 0], "v_rotate": frames}).known
    assert (known.scale, known.height) == (0.1, 0.06)
    angle = np.linspace(0, 2 * np.pi, 17)[:16]
    places = (np.cos(angle) + 2j * np.sin(angle))[:, None] * np.ones(9)
    values = {"phantomdata_20": frames[:, :1], "phantomdata_true_electrode_positions": places}
    found = recording(values).measured(Setup(), "ottawa")
    assert found.domain.name == "ottawa"
    points = found.electrodes.points().numpy() @ [1, 1j]
    assert np.allclose(points, places[:, 0] / 2, atol=1e-3)


def test_electrodes_and_pattern_of_a_setup_are_those_of_the_library():
    setup = Setup(electrodes=16, pattern="skip-2", first=45.0, coverage=0.4, scale=0.1, current=0.01)
    even = Electrodes.even(Disk(200, scale=0.1), 16, 0.4, first=np.pi / 4)
    assert torch.equal(setup.placed().places, even.places)
    assert torch.equal(setup.stimulated().stimulation, Pattern.named("skip-2", 16, 0.01).stimulation)


SHARED = Path(__file__).parents[3] / "shared"


def measured_sets():
    folder = Path(__file__).parents[2] / "validation"
    sys.path.insert(0, str(folder))
    specification = importlib.util.spec_from_file_location("measured_sets", folder / "measured_sets.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    sys.path.remove(str(folder))
    return module


STUDY = measured_sets()


@pytest.mark.parametrize("name", STUDY.SETS)
def test_every_measured_set_is_read(name):
    """From outside the package; see `validation/measured_sets.py`, which fits their tanks too."""
    chosen = STUDY.SETS[name]
    if not (SHARED / Path(chosen.path.partition("::")[0])).parent.exists():
        pytest.skip("the measured sets are not part of the package")
    found = STUDY.read(chosen, SHARED)
    assert STUDY.shape(found) == chosen.shape
    assert chosen.reference is None or found.reference is not None
    # The readings of water and of the model agree in their signs, and to most of their size.
    baseline = found.voltages.nanmean(0) if found.baseline is None else found.baseline
    model = simulate_readings(found.electrodes, found.pattern, WATER)
    seen = baseline.isfinite()
    assert float((model[seen] * baseline[seen] > 0).double().mean()) > 0.9
    if chosen.bar is not None:
        assert float(torch.corrcoef(torch.stack([model[seen], baseline[seen]]))[0, 1]) > 0.9


def test_the_currents_of_act3_are_those_of_its_file():
    path = SHARED / "real/eidors/rpi/ssout1.dat"
    if not path.exists():
        pytest.skip("the measured sets are not part of the package")
    drive = act3._known(1000.0).pattern.stimulation
    assert np.allclose(drive.numpy().flatten(), np.loadtxt(path), atol=1e-7)
