"""Measurements of tanks in our own formats: what is written is read again, to the bit."""

from dataclasses import fields, replace

import pytest
import torch

from eitlens.domain import Disk, bodies
from eitlens.electrodes import Electrodes, Pattern
from eitlens.electrodes.base import simulated
from eitlens.errors import InputError
from eitlens.measure import Measurement, files, names
from eitlens.measure.points import PointMeasurement
from eitlens.measure.readings import ElectrodeMeasurement, same_setup
from eitlens.phantom import Phantom, circle

SUFFIXES = [".npz", ".json", ".csv", ".h5", ".mat"]
PHANTOM = Phantom([circle((0.3, 0.1), 0.2)], [2.0], outside=0.3)


def measurement(body, **pattern) -> Measurement:
    electrodes = Electrodes.even(body, 8, impedance=[1e-4 * (k + 1) for k in range(8)], first=0.3)
    values = simulated(electrodes, Pattern.named(electrodes=8, **pattern), PHANTOM, height=0.07, snr=40.0)
    return Measurement.from_arrays(values, "")


def identical(one: Measurement, other: Measurement) -> bool:
    pairs = [(getattr(one, name), getattr(other, name)) for name in ("voltages", "reference", "times")]
    tables = all(a is b is None or (a is not None and b is not None and same(a, b)) for a, b in pairs)
    plain = [(m.conductivity, m.height, m.notes, m.domain.scale, m.domain.name) for m in (one, other)]
    return tables and plain[0] == plain[1] and same_setup(one, other)


def same(a: torch.Tensor, b: torch.Tensor) -> bool:
    """The same bits, and nan in the same places."""
    return (
        a.shape == b.shape
        and torch.equal(a.isnan(), b.isnan())
        and torch.equal(a.nan_to_num(), b.nan_to_num())
    )


CASES = [
    (Disk(200, scale=0.1), {"name": "adjacent"}),
    (Disk(200, scale=0.1), {"name": "trigonometric", "readings": "mean", "driven": True}),
    (bodies.ellipse(0.15, 0.1, "tank"), {"name": "skip-2", "rotating": True, "current": 1e-3}),
]


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize(("body", "pattern"), CASES, ids=["adjacent", "trigonometric", "skip-2"])
def test_simulate_write_read_gives_the_same_bits(tmp_path, suffix, body, pattern):
    if suffix == ".h5":
        pytest.importorskip("h5py")
    made = measurement(body, **pattern)
    files.write(made, tmp_path / f"tank{suffix}")
    assert identical(files.read(tmp_path / f"tank{suffix}"), made)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_all_that_a_measurement_knows_is_kept(tmp_path, suffix):
    if suffix == ".h5":
        pytest.importorskip("h5py")
    made = measurement(Disk(200, scale=0.1), name="adjacent")
    frames = torch.cat([made.voltages * factor for factor in (1.0, 1.1, 1.2)])
    frames[:, 3], frames[1, 7] = torch.nan, 1 / 3
    times, notes = (
        torch.tensor([0.0, 0.05, 0.1 + 1e-17], dtype=torch.float64),
        ("electrode 2 is dead", "a µ note, “quoted”"),
    )
    full = replace(made, voltages=frames, times=times, notes=notes, conductivity=1 / 3)
    files.write(full, tmp_path / f"tank{suffix}")
    assert identical(files.read(tmp_path / f"tank{suffix}"), full)
    alone = replace(full, reference=None, times=None, notes=(), conductivity=None)
    files.write(alone, tmp_path / f"alone{suffix}")
    assert identical(files.read(tmp_path / f"alone{suffix}"), alone)


def test_what_could_not_be_read_again_is_not_written(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "LIMIT", 1000)
    with pytest.raises(InputError, match=r"too much to be read again: write less, or \.npz"):
        files.write(measurement(Disk(200, scale=0.1), name="adjacent"), tmp_path / "tank.json")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("frame,", "number,"), "expected the columns frame, time if wanted, and reading_1"),
        (("reading_1,", "reading_2,"), "expected the columns frame"),
        (("\n1,", "\nreference,"), "there is no frame but of the empty tank"),
        (("# pattern", "# nothing"), "expected a line `# pattern: …`"),
        (("# electrodes: {", "# electrodes: ["), "electrodes: expected JSON"),
        (("# height: 0.07", "# height: deep"), "expected numbers in the comments"),
        (("\n1,", "\n1,5,"), "values in each line, as many as columns"),
        (("\n1,", "\n1,x"), "expected numbers behind the first column"),
    ],
)
def test_a_mistake_in_a_table_is_named(tmp_path, change, message):
    files.write(measurement(Disk(200, scale=0.1), name="adjacent"), tmp_path / "tank.csv")
    (tmp_path / "tank.csv").write_text((tmp_path / "tank.csv").read_text().replace(*change))
    with pytest.raises(InputError, match=message):
        files.read(tmp_path / "tank.csv")


def test_files_have_the_names_of_the_fields():
    for kind, known in ((ElectrodeMeasurement, names.OF_ELECTRODES), (PointMeasurement, names.OF_POINTS)):
        assert {field.name for field in fields(kind)} - {"source"} == set(known)
