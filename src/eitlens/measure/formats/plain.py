"""Numbers alone, as text or as NumPy's .npy: a row a frame, or a column a frame, or one frame in any shape.

Numbers are separated by blanks, commas, semicolons or tabs; beside the last two, commas may be decimal. Lines that
begin with # or % are comments. What the numbers are, a setup has to say.
"""

import io
import re

import numpy as np
from numpy.lib import format as npy

from eitlens.errors import InputError
from eitlens.measure.formats.npz import header
from eitlens.measure.guard import lines_of
from eitlens.measure.recording import Recording
from eitlens.measure.setup import HELP, Setup

_MAGIC = b"\x93NUMPY"
_LOOKED_AT = 64 << 10  # bytes in which the first line of numbers begins
_COMMENTS = ("#", "%")


def recognises(content: bytes) -> bool:
    """Whether it is an .npy, or text whose first line, but for comments, is numbers."""
    if content.startswith(_MAGIC):
        return True
    if b"\x00" in content[:4096]:
        return False
    lines = content[:_LOOKED_AT].decode("utf-8-sig", "replace").splitlines()
    first = next((line for line in lines if line.strip() and not line.startswith(_COMMENTS)), "")
    cells = re.split(r"[,;\s]+", first.strip())
    whole = len(content) <= _LOOKED_AT or first != lines[-1]
    return bool(first) and all(_is_number(cell) for cell in (cells if whole else cells[:-1]))


def read(content: bytes, limit: int) -> Recording:
    """The frames."""
    if content.startswith(_MAGIC):
        return Recording(_array(content, limit), Setup(), unknown=f"an array of numbers alone: {HELP}")
    told = [line for line in lines_of(content, limit) if not line.startswith(_COMMENTS)]
    rows = [_numbers(line) for line in told]
    even = len({len(row) for row in rows}) == 1
    unknown = (
        f"the first line, {told[0][:40]!r}, holds numbers instead of the names of the columns: put x, y, current_1, …, "
        f"voltage_1, … above it, with commas, semicolons or tabs between; or, for readings of electrodes, {HELP}"
    )
    return Recording(np.stack(rows) if even else np.concatenate(rows)[None], Setup(), unknown=unknown)


def _is_number(cell: str) -> bool:
    """Whether it is one, or empty; half of a number with a decimal comma is."""
    try:
        float(cell.strip('"') or 0)
    except ValueError:
        return False
    return True


def _numbers(line: str) -> np.ndarray:
    """The numbers of a line, nan where there is none between two separators."""
    mark = next((mark for mark in ";\t," if mark in line.strip()), None)
    cells = line.split() if mark is None else line.strip().rstrip(mark).split(mark)
    point = "." if mark in (",", None) else ","
    try:
        return np.array([float(cell.replace(point, ".").strip(' "') or "nan") for cell in cells])
    except ValueError:
        raise InputError(f"expected numbers in every line, got {line.strip()[:40]!r}") from None


def _array(content: bytes, limit: int) -> np.ndarray:
    """The array of an .npy, which is never unpickled."""
    shape, kind = header(io.BytesIO(content))
    size = int(np.prod(shape, dtype=object)) * kind.itemsize
    if kind.kind not in "biufc" or size > min(len(content), limit):
        raise InputError(f"an array of {kind} of shape {shape} is no array of numbers of this file")
    found = npy.read_array(io.BytesIO(content), allow_pickle=False)
    if found.ndim > 2:
        raise InputError(f"expected (frames, readings) numbers, got shape {shape}")
    return np.atleast_2d(found)
