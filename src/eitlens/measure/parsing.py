"""The bytes of a measurement file, in any of five formats told by their content, to a measurement.

In this process: use `eitlens.measure.files.read` for files, which survives those that crash the library they need.
"""

from eitlens.errors import InputError, prefix_errors
from eitlens.measure.base import Measurement
from eitlens.measure.formats import recognised

LIMIT = 64 << 20  # bytes: 64 currents at 800 points take 4 MB as text
_LONGEST = 200  # letters of a library's own words in an error
HELP = "expected a measurement as .npz, .json, .csv, .mat or .h5 (docs/measurements.md)"


def parse(content: bytes, where: str) -> Measurement:
    """The measurement in the bytes of a file; `where` names it in errors."""
    if not content.strip():
        raise InputError(f"{where}: empty: {HELP}")
    if len(content) > LIMIT:
        raise InputError(f"{where}: more than {LIMIT >> 20} MiB: {HELP}")
    form = recognised(content)
    if form is None:
        raise InputError(f"{where}: of no known format: {HELP}")
    try:
        with prefix_errors(where):
            values: object = form.read(content, LIMIT)
    except InputError:
        raise
    except (Exception, MemoryError) as error:  # a damaged file may provoke anything in its library
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:_LONGEST]
        raise InputError(f"{where}: cannot be read ({reason}): {HELP}") from None
    return Measurement.from_arrays(values, where)
