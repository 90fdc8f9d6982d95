"""Measurement files: read in any of five formats, told by their content; written as .npz or .json.

See docs/measurements.md. Nothing is unpickled, no other file is opened, and whatever is wrong is one line.
"""

from contextlib import closing
from pathlib import Path

from eitlens.errors import InputError
from eitlens.files import make_folder, read_bytes, write_atomically
from eitlens.measure.base import Measurement
from eitlens.measure.formats import npz, text
from eitlens.measure.isolation import SafeParser
from eitlens.measure.parsing import HELP, LIMIT
from eitlens.measure.setup import Setup


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
    with closing(SafeParser()) as parser:
        return parser(*read_bytes(path, LIMIT + 1, HELP))


def write(measurement: Measurement, to: Path | str) -> None:
    """Write .npz or .json, by the suffix, whole or not at all; folders above it are made."""
    path = Path(to)
    if path.suffix == ".json":
        content = text.write(measurement.to_dict())
    elif path.suffix == ".npz":
        content = npz.write(measurement.to_arrays())
    else:
        raise InputError(
            f"{path}: measurements are written as .npz or .json, got {path.suffix or 'no suffix'!r}"
        )
    make_folder(path.parent)
    write_atomically(path, content)
