"""Measurement files: five formats in and out, and whatever is wrong is one line."""

import io
import json
import pickle
import random
import zipfile
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.io import savemat

from eitlens.domain import Disk, Square
from eitlens.errors import InputError
from eitlens.forward import currents
from eitlens.measure import Measurement, files
from eitlens.measure.isolation import SafeParser
from eitlens.measure.parsing import parse


class Pear(Disk):
    """A body that no file can name."""

    name = "pear"


@pytest.fixture
def measurement(square, difference):
    g = currents.cosine(square, 3)
    mask = torch.ones(256, dtype=torch.bool)
    mask[7] = False
    f0 = square.trace(square.extend(g))
    return Measurement.of_points(square.boundary(), g, f0 + difference, f0, mask, conductivity=1.0)


def same(a: Measurement, b: Measurement) -> bool:
    pairs = [
        (getattr(a, name), getattr(b, name))
        for name in ("points", "currents", "voltages", "reference", "mask")
    ]
    plain = (a.conductivity, a.domain.name) == (b.conductivity, b.domain.name)
    return all(torch.equal(x, y) for x, y in pairs) and plain


def arrays(measurement: Measurement) -> dict[str, np.ndarray]:
    return {k: np.array(v) for k, v in measurement.to_dict().items()}


def as_csv(measurement: Measurement) -> bytes:
    table = arrays(measurement)
    heads, columns = ["x", "y"], [*table["points"].T]
    for name, many in (("current", "currents"), ("voltage", "voltages"), ("reference", "reference")):
        heads += [f"{name}_{k + 1}" for k in range(3)]
        columns += [*table[many]]
    rows = [",".join([*heads, "mask"])] + [
        ",".join([*(repr(float(v)) for v in row), str(int(m))])
        for row, m in zip(np.stack(columns, 1), table["mask"], strict=True)
    ]
    told = ["# conductivity: 1.0", *(f"# {key}: {table[key]}" for key in ("domain",) if key in table)]
    return "\n".join([*told, *rows]).encode()


def as_mat(measurement: Measurement) -> bytes:
    stream = io.BytesIO()
    savemat(stream, arrays(measurement) | {"unrelated": np.ones(3)}, do_compression=True)
    return stream.getvalue()


def as_h5(measurement: Measurement) -> bytes:
    h5py = pytest.importorskip("h5py")
    stream = io.BytesIO()
    with h5py.File(stream, "w") as file:
        for name, value in arrays(measurement).items():
            file[name] = str(value) if name == "domain" else value
    return stream.getvalue()


def as_npz(measurement: Measurement) -> bytes:
    stream = io.BytesIO()
    np.savez(stream, **arrays(measurement))
    return stream.getvalue()


def as_json(measurement: Measurement) -> bytes:
    return json.dumps(measurement.to_dict()).encode()


SUFFIXES = [".npz", ".json", ".csv", ".h5", ".mat"]
FORMATS = [as_csv, as_mat, as_h5, as_npz, as_json]


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_is_told_by_its_content_and_read_exactly(measurement, form):
    assert same(parse(form(measurement), "data"), measurement)


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_names_the_body_unless_it_is_the_square(measurement, form):
    disk = replace(measurement, domain=Disk(64))
    assert same(parse(form(disk), "data"), disk)
    assert "domain" not in measurement.to_dict()
    with pytest.raises(InputError, match=r"domain: body must be one of square, disk, thorax, got .pear."):
        parse(form(replace(measurement, domain=Pear(64))), "data")


def test_matlab_keeps_a_name_as_the_codes_of_its_letters(measurement):
    h5py = pytest.importorskip("h5py")
    stream = io.BytesIO(as_h5(measurement))
    with h5py.File(stream, "a") as file:
        file["domain"] = np.array([[ord(letter)] for letter in "disk"], dtype=np.uint16)
    assert parse(stream.getvalue(), "data").domain.name == "disk"


@pytest.mark.parametrize("separator", [";", "\t"])
@pytest.mark.parametrize("comma", [".", ","])
def test_a_spreadsheet_may_write_other_separators_and_decimal_commas(measurement, separator, comma):
    rows = [row.split(",") for row in as_csv(measurement).decode().splitlines()[1:]]
    rows.append([""] * len(rows[0]))  # what is left of rows that were deleted
    lines = [separator.join(cell.replace(".", comma) for cell in row) for row in rows]
    content = "\r\n".join(lines).encode("utf-8-sig")
    assert same(parse(content, "data"), measurement)


def test_a_cell_that_is_no_number_is_named(measurement):
    first, head, row, *rest = as_csv(measurement).decode().splitlines()
    content = "\n".join([first, head, row, "n/a" + rest[0][rest[0].index(",") :], *rest[1:]]).encode()
    with pytest.raises(InputError, match="row 2, column 'x': expected a number, got 'n/a'"):
        parse(content, "data")


@pytest.mark.parametrize("separator", [",", ";", "\t", " "])
def test_a_table_without_names_of_columns_is_told_so(measurement, separator):
    rows = as_csv(measurement).decode().splitlines()[2:]
    cells, comma = (row.split(",") for row in rows), "," if separator == ";" else "."
    content = "\n".join(separator.join(row).replace(".", comma) for row in cells).encode()
    for given in (content, content.splitlines()[0]):
        with pytest.raises(
            InputError, match=r"^data: the first line, .*, holds numbers instead of the names of"
        ):
            parse(given, "data")


def test_a_list_in_json_is_not_taken_for_a_table(measurement):
    for given in (measurement.points.tolist(), [measurement.to_dict()], []):
        with pytest.raises(
            InputError, match=r"^data: expected an object with the keys points, .*, got a list$"
        ):
            parse(json.dumps(given).encode(), "data")


@pytest.mark.parametrize("form", FORMATS)
def test_a_measurement_knows_its_file_and_keeps_it_out_of_others(measurement, form, safe):
    found = safe(form(measurement), "scan")
    assert found.source == "scan"
    assert "source" not in found.to_dict()
    assert measurement.source == ""
    with pytest.raises(InputError, match="unknown key 'source'"):
        Measurement.from_arrays(found.to_dict() | {"source": "scan"})


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("domain", [Square(64), Disk(64)])
def test_what_is_written_is_read_again(measurement, tmp_path, suffix, domain):
    path, given = tmp_path / "new" / f"data{suffix}", replace(measurement, domain=domain)
    files.write(given, path)
    assert same(files.read(path), given)


def test_other_suffixes_are_refused(measurement, tmp_path):
    with pytest.raises(InputError, match=r"written as \.npz, \.json, \.csv, \.h5, \.mat, got '\.txt'"):
        files.write(measurement, tmp_path / "data.txt")


@pytest.fixture(scope="module")
def safe() -> Iterator[SafeParser]:
    """A damaged file may crash its library, and the tests with it."""
    parser = SafeParser()
    yield parser
    parser.close()


def complaint(safe: SafeParser, content: bytes) -> str | None:
    try:
        safe(content, "data")
    except InputError as error:
        return str(error)
    return None


@pytest.mark.parametrize("form", FORMATS)
def test_damaged_files_are_one_line(measurement, form, safe):
    """Cut short, bytes changed, pieces repeated: an InputError of one line, or a measurement all the same."""
    content, draw, said = form(measurement), random.Random(1), []
    for _ in range(60):
        damaged = bytearray(content)
        for _ in range(draw.choice([1, 4, 64])):
            end = min(len(damaged), draw.choice([64, 600, len(damaged)]))
            damaged[draw.randrange(end)] = draw.randrange(256)
        if draw.random() < 0.4:
            damaged = damaged[: draw.randrange(len(damaged))]
        said.append(complaint(safe, bytes(damaged)))
    refused = [text for text in said if text is not None]
    assert len(refused) > 20
    assert all(text.startswith("data: ") and "\n" not in text for text in refused)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"points": [[0, 0]] * 256}, None),
        ({"points": [[0, 0]] * 3}, "expected 8 to 20000 boundary points, got 3"),
        ({"voltages": None}, "'voltages' is missing"),
        ({"voltages": [1.0]}, r"voltages: expected \(3, 256\) values"),
        ({"voltages": [[1.0] * 3] * 256}, r"got an array of shape \(256, 3\): transpose it"),
        ({"voltages": [[1.0], [1.0, 2.0]]}, "of different lengths"),
        ({"voltages": "high"}, "expected real numbers"),
        ({"extra": 1}, "unknown key 'extra'"),
        ({"mask": [True]}, "mask: expected 256 values"),
        ({"conductivity": -1}, "conductivity must be positive"),
        ({"conductivity": 1e308}, "1e.308 is out of range: is the unit right"),
        ({"conductivity": 1e-308}, "1e-308 is out of range"),
        ({"conductivity": [1, 2]}, "expected one number"),
        ({"currents": [[float("nan")] * 256] * 3}, "768 of 768 values are NaN or infinite"),
        ({"currents": [[1e30] * 256] * 3}, "is the unit right"),
    ],
)
def test_wrong_values_are_named(measurement, change, message):
    content = json.dumps(measurement.to_dict() | change).encode()
    if message is None:
        parse(content, "data")  # where the points are is asked later
        return
    with pytest.raises(InputError, match=message):
        parse(content, "data")


@pytest.mark.parametrize("kind", [np.asarray, torch.Tensor.tolist, lambda v: v.clone().requires_grad_()])
def test_arrays_and_lists_make_a_measurement(measurement, kind):
    names = ("points", "currents", "voltages", "reference")
    values = [kind(getattr(measurement, name)) for name in names]
    assert same(
        Measurement.of_points(*values, measurement.mask.int().numpy(), conductivity=np.float32(1)),
        measurement,
    )
    plain = Measurement.of_difference(kind(measurement.voltages))
    assert torch.equal(plain.voltages, measurement.voltages)
    assert not plain.voltages.requires_grad


def test_float32_makes_a_float64_measurement(measurement):
    single = Measurement.of_points(
        measurement.points.float(), measurement.currents.float(), measurement.voltages.float()
    )
    assert single.points.dtype == single.currents.dtype == single.voltages.dtype == torch.float64


@pytest.mark.parametrize("name", ["points", "currents", "voltages", "reference", "mask", "conductivity"])
def test_what_is_no_number_makes_no_measurement(measurement, name):
    for bad in ("high", [[1.0], [1.0, 2.0]], np.ones(3) * 1j):
        with pytest.raises(InputError, match=f"^{name}: "):
            replace(measurement, **{name: bad})


@pytest.mark.parametrize("name", ["scan.npz", "scan.json"])
def test_a_path_may_be_text(measurement, tmp_path, name):
    files.write(measurement, str(tmp_path / name))
    assert same(files.read(str(tmp_path / name)), measurement)


def test_a_voltage_that_was_not_measured_may_be_nan(measurement):
    values = measurement.voltages.clone()
    values[:, 7] = torch.nan
    assert parse(json.dumps(measurement.to_dict() | {"voltages": values.tolist()}).encode(), "data")


def test_nothing_is_unpickled_and_nothing_claimed_is_allocated(tmp_path):
    class Evil:
        def __reduce__(self):
            return (exec, (f"open({str(tmp_path / 'harmed')!r}, 'w')",))

    stream = io.BytesIO()
    np.savez(stream, points=np.array([Evil()], dtype=object))
    for content in (stream.getvalue(), pickle.dumps(Evil())):
        with pytest.raises(InputError):
            parse(content, "data")
    assert not (tmp_path / "harmed").exists()
    huge = io.BytesIO()
    with zipfile.ZipFile(huge, "w") as archive:
        header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000, 1000000), }"
        header += b" " * (118 - len(header) - 1) + b"\n"
        archive.writestr("points.npy", b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)
    with pytest.raises(InputError, match="does not fit in the file"):
        parse(huge.getvalue(), "data")


def test_links_to_other_files_are_not_followed(tmp_path, measurement):
    h5py = pytest.importorskip("h5py")
    secret = tmp_path / "secret.h5"
    secret.write_bytes(as_h5(measurement))
    stream = io.BytesIO()
    with h5py.File(stream, "w") as file:
        file["points"] = h5py.ExternalLink(str(secret), "points")
    with pytest.raises(InputError, match="points is not a data set of this file"):
        parse(stream.getvalue(), "data")


@pytest.mark.parametrize("content", [b"", b"   \n", b"\x00\x01\x02", b"[1, 2]", b"x,y\n", b"{" * 100_000])
def test_nonsense(content):
    with pytest.raises(InputError, match=r"^data: "):
        parse(content, "data")
