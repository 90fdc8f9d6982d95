"""Measurement files: read in many formats, told by their content; written in five of them.

See docs/your_tank.md. Nothing is unpickled, no other file is opened, and whatever is wrong is one line.
"""

import glob
import re
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from eitlens.errors import InputError
from eitlens.files import disk_errors, make_folder, read_bytes, write_atomically
from eitlens.measure.base import Measurement
from eitlens.measure.formats import frames_table, hdf5, matlab, npz, table, text
from eitlens.measure.isolation import SafeParser
from eitlens.measure.parsing import HELP, LIMIT, measured
from eitlens.measure.recording import Recording
from eitlens.measure.setup import Setup

_PART = "::"
"""Between a file and the name of a recording in it."""
_MOST_FILES = 100_000  # of a sequence: more than an hour of the fastest devices
_SUFFIXES = (".npz", ".json", ".csv", ".h5", ".mat")


def read(
    path: Path | str, setup: Setup | Path | str | None = None, reference: Path | str | None = None
) -> Measurement:
    """The measurement in a file, or in what comes through the pipe for `-`.

    A folder, or a name with * or ? in it, is a sequence of frames, in the order of the numbers in their names.
    `file.mat::name` is one variable of a file that holds several.

    Args:
        path: the file, the folder, the pattern of names or `-`.
        setup: what the file does not say of the tank, or the JSON file of a setup.
        reference: files of the empty tank, or of an earlier time, that are compared with.
    """
    told = setup if isinstance(setup, Setup) else Setup() if setup is None else Setup.load(setup)
    with closing(SafeParser()) as parser:
        found = _sequence(parser, path, told)
        return found if reference is None else _against(found, _sequence(parser, reference, told), reference)


def write(measurement: Measurement, to: Path | str) -> None:
    """Write .npz, .json, .csv, .h5 or .mat, by the suffix, whole or not at all; folders above it are made.

    Each is read back to the same numbers, to the last bit.
    """
    path = Path(to)
    if path.suffix not in _SUFFIXES:
        raise InputError(
            f"{path}: measurements are written as {', '.join(_SUFFIXES)}, got {path.suffix or 'no suffix'!r}"
        )
    content = (
        text.write(measurement.to_dict()) if path.suffix == ".json" else _arrays(measurement, path.suffix)
    )
    make_folder(path.parent)
    write_atomically(path, content)


def _arrays(measurement: Measurement, suffix: str) -> bytes:
    values = measurement.to_arrays()
    tables = frames_table if "electrodes" in values else table
    forms: dict[str, Any] = {".npz": npz, ".csv": tables, ".h5": hdf5, ".mat": matlab}
    content: bytes = forms[suffix].write(values)
    return content


def _sequence(parser: SafeParser, path: Path | str, setup: Setup) -> Measurement:
    """The measurement of one file, or of several in a row; those that say they are of the empty tank are its reference."""
    names, chosen = _names(path)
    found = [parser.found(*read_bytes(name, LIMIT + 1, HELP), chosen) for name in names]
    frames = [measured(one, setup, str(name)) for one, name in zip(found, names, strict=True)]
    if len(frames) == 1:
        return frames[0]
    empty = [isinstance(one, Recording) and one.empty for one in found]
    target = [frame for frame, water in zip(frames, empty, strict=True) if not water]
    joined = _joined(target or frames, setup)
    water = [frame for frame, is_water in zip(frames, empty, strict=True) if is_water]
    return joined if not target or not water else _against(joined, _joined(water, setup), "")


def _names(path: Path | str) -> tuple[list[Path | str], str]:
    """The files that a path stands for, in their order, and the name of a recording in them."""
    given = str(path)
    name, _, chosen = (
        given.rpartition(_PART) if _PART in given and not Path(given).exists() else (given, "", "")
    )
    if name == "-":
        return [name], chosen
    with disk_errors(Path(name)):
        if Path(name).is_dir():
            inside = [
                file for file in Path(name).iterdir() if file.is_file() and not file.name.startswith(".")
            ]
        elif glob.has_magic(name) and not Path(name).exists():
            inside = [Path(file) for file in glob.glob(name) if Path(file).is_file()]
        else:
            return [name], chosen
    if not 0 < len(inside) <= _MOST_FILES:
        raise InputError(f"{name}: {len(inside)} files: expected a frame in each, 1 to {_MOST_FILES} of them")
    return sorted(inside, key=_natural), chosen


def _natural(file: Path) -> list[tuple[int, str]]:
    """A key by which frame 10 comes after frame 9."""
    parts = re.split(r"(\d+)", file.name)
    return [(int(part), "") if part.isdigit() else (-1, part) for part in parts]


def _joined(frames: list[Any], setup: Setup) -> Any:
    """One measurement of the frames of several."""
    from eitlens.measure.readings import ElectrodeMeasurement, same_setup

    first = frames[0]
    for frame in frames:
        if not isinstance(frame, ElectrodeMeasurement):
            raise InputError(f"{frame.source}: only measurements of electrodes make a sequence")
        if not same_setup(first, frame):
            raise InputError(f"{frame.source}: not the same electrodes and pattern as in {first.source}")
    voltages = torch.cat([frame.voltages for frame in frames])
    rate = setup.rate
    times = None if rate is None else torch.arange(len(voltages), dtype=torch.float64) / float(rate)
    notes = tuple(dict.fromkeys(note for frame in frames for note in frame.notes))
    return replace(first, voltages=voltages, times=times, notes=notes)


def _against(found: Any, reference: Any, path: Path | str) -> Measurement:
    from eitlens.measure.readings import ElectrodeMeasurement

    for one in (found, reference):
        if not isinstance(one, ElectrodeMeasurement):
            raise InputError(f"{one.source}: a reference file goes with measurements of electrodes alone")
    joined: Measurement = found.against(reference)
    return joined
