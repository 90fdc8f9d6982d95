"""Measurement files: read in many formats, told by their content; written in five of them.

See docs/your_tank.md. Nothing is unpickled, no other file is opened, and whatever is wrong is one line.
"""

import glob
import re
from contextlib import closing
from pathlib import Path
from typing import Any

from eitlens.errors import InputError
from eitlens.files import disk_errors, make_folder, read_bytes, write_atomically
from eitlens.measure.base import Measurement
from eitlens.measure.formats import frames_table, hdf5, matlab, npz, table, text
from eitlens.measure.guard import HELP, LIMIT, TEXT_PART
from eitlens.measure.isolation import SafeParser
from eitlens.measure.sequence import Found, compared
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
        found = _found(parser, path)
        return compared(found, told, [] if reference is None else _found(parser, reference))


def write(measurement: Measurement, to: Path | str) -> None:
    """Write .npz, .json, .csv, .h5 or .mat, by the suffix, whole or not at all; folders above it are made.

    Each is read back to the same numbers, to the last bit.
    """
    path = Path(to)
    check_suffix(path)
    content = (
        text.write(measurement.to_dict()) if path.suffix == ".json" else _arrays(measurement, path.suffix)
    )
    most = LIMIT // TEXT_PART if path.suffix in (".json", ".csv") else LIMIT
    if len(content) > most:
        raise InputError(f"{path}: {len(content) >> 20} MiB, too much to be read again: write less, or .npz")
    make_folder(path.parent)
    write_atomically(path, content)


def check_suffix(path: Path) -> None:
    """Refuse a name that does not say in which format a measurement is to be written."""
    if path.suffix not in _SUFFIXES:
        raise InputError(
            f"{path}: measurements are written as {', '.join(_SUFFIXES)}, got {path.suffix or 'no suffix'!r}"
        )


def _arrays(measurement: Measurement, suffix: str) -> bytes:
    values = measurement.to_arrays()
    tables = frames_table if "electrodes" in values else table
    forms: dict[str, Any] = {".npz": npz, ".csv": tables, ".h5": hdf5, ".mat": matlab}
    content: bytes = forms[suffix].write(values)
    return content


def _found(parser: SafeParser, path: Path | str) -> list[Found]:
    """What is in the files of a path."""
    names, chosen = _names(path)
    return [Found(parser.found(*read_bytes(name, LIMIT + 1, HELP), chosen), str(name)) for name in names]


def names(path: Path | str) -> list[str]:
    """The files that a path stands for, in the order of the numbers in their names, each with its part."""
    found, chosen = _names(path)
    return [f"{name}{_PART}{chosen}" if chosen else name for name in found]


def _names(path: Path | str) -> tuple[list[str], str]:
    """The files that a path stands for, in their order, and the name of a recording in them."""
    name, chosen = str(path), ""
    if _PART in name and not Path(name).exists():
        name, _, chosen = name.rpartition(_PART)
    with disk_errors(Path(name)):
        if Path(name).is_dir():
            inside = [str(file) for file in Path(name).iterdir() if not file.name.startswith(".")]
        elif glob.has_magic(name) and not Path(name).exists():
            inside = glob.glob(name)
        else:
            return [name], chosen
        files = [file for file in inside if Path(file).is_file()]
    if not 0 < len(files) <= _MOST_FILES:
        raise InputError(f"{name}: {len(files)} files: expected a frame in each, 1 to {_MOST_FILES} of them")
    return sorted(files, key=_natural), chosen


def _natural(file: str) -> list[tuple[int, str]]:
    """A key by which frame 10 comes after frame 9."""
    parts = re.split(r"(\d+)", Path(file).name)
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]
