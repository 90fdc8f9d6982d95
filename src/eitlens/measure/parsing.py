"""The bytes of a measurement file, in any format told by their content, to a measurement.

In this process: use `eitlens.measure.files.read` for files, which survives those that crash the library they need.
"""

from typing import Any

import numpy as np

from eitlens.errors import InputError
from eitlens.measure.base import Measurement
from eitlens.measure.formats import registry
from eitlens.measure.guard import HELP, LIMIT, guarded
from eitlens.measure.names import own
from eitlens.measure.recording import Recording
from eitlens.measure.setup import Setup


def parse(content: bytes, where: str, setup: Setup | None = None) -> Measurement:
    """The measurement in the bytes of a file; `where` names it in errors."""
    return measured(understood(contents(content, where), where), setup or Setup(), where)


def contents(content: bytes, where: str) -> Any:
    """What the format of a file makes of its bytes: named arrays, or a recording."""
    if not content.strip():
        raise InputError(f"{where}: empty: {HELP}")
    if len(content) > LIMIT:
        raise InputError(f"{where}: more than {LIMIT >> 20} MiB: {HELP}")
    form = registry.recognised(content)
    if form is None:
        raise InputError(f"{where}: of no known format: {HELP}")
    return guarded(lambda: form.read(content, LIMIT), where)


def understood(values: Any, where: str, chosen: str = "") -> "Recording | Measurement":
    """The measurement in named arrays, or the recording; `chosen` names one of several."""
    if isinstance(values, Recording):
        if chosen:
            raise InputError(
                f"{where}: it is one recording, of which no part can be chosen: leave out ::{chosen}"
            )
        return values
    if not isinstance(values, dict) or own(values) or not any(map(_is_table, values.values())):
        return Measurement.from_arrays(values, where)
    arrays = {name: _array(value) for name, value in values.items()}
    found: Recording = guarded(lambda: registry.recording(arrays, chosen), where)
    return found


def measured(found: "Recording | Measurement", setup: Setup, where: str) -> Measurement:
    """The measurement of a recording, with what the setup says; others are as they are."""
    return guarded(lambda: found.measured(setup, where), where) if isinstance(found, Recording) else found


def _is_table(value: Any) -> bool:
    return isinstance(value, np.ndarray | list)


def _array(value: Any) -> Any:
    """Lists of numbers as an array; what is none, as it is."""
    if not isinstance(value, list):
        return value
    try:
        return np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        return value
