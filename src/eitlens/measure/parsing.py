"""The bytes of a measurement file, in any of five formats told by their content, to a measurement.

In this process: use `eitlens.measure.files.read` for files, which survives those that crash the library they need.
"""

from typing import Any

from eitlens.errors import InputError, naming
from eitlens.measure.formats import recognised
from eitlens.measure.measurement import Measurement

LIMIT = 64 << 20
HELP = "expected a measurement as .npz, .json, .csv, .mat or .h5 (docs/measurements.md)"


def parse(content: bytes, where: str) -> Measurement:
    """The measurement in the bytes of a file; `where` names it in errors."""
    if not content.strip():
        raise InputError(f"{where}: empty: {HELP}")
    check_size(content, where)
    form = recognised(content)
    if form is None:
        raise InputError(f"{where}: of no known format: {HELP}")
    with naming(where):
        values = _values(form, content)
    return Measurement.from_arrays(values, where)


def _values(form: Any, content: bytes) -> object:
    """What the format reads, or why it cannot, in one line."""
    try:
        values: object = form.read(content, LIMIT)
    except InputError:
        raise
    except (Exception, MemoryError) as error:  # a damaged file may provoke anything in its library
        raise InputError(f"cannot be read ({_line(error)}): {HELP}") from None
    return values


def check_size(content: bytes, where: str) -> None:
    """An error for more than 64 MiB."""
    if len(content) > LIMIT:
        raise InputError(f"{where}: more than {LIMIT >> 20} MiB: {HELP}")


def _line(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:200]
