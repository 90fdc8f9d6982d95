"""MATLAB's .mat, version 5 to 7 (`save -v7`): its numbers and its text, by the names of the variables."""

import io
from typing import Any

import numpy as np

from eitlens.errors import InputError
from eitlens.measure.names import own

_CLASSES = {"double", "single", "logical", "char"} | {
    f"{u}int{b}" for u in ("", "u") for b in (8, 16, 32, 64)
}
"""Of the variables that are read; cells and structures are not."""


def recognises(content: bytes) -> bool:
    """Whether it has MATLAB's header."""
    return content.startswith(b"MATLAB 5.0 MAT-file")


def read(content: bytes, limit: int) -> dict[str, Any]:
    """The variables of a measurement where there are some, as a workspace is full of others; or else all numbers."""
    from scipy.io import loadmat, whosmat

    # The stubs know only paths; both read from streams as well.
    listing = whosmat(io.BytesIO(content))  # type: ignore[arg-type]
    found = {name: shape for name, shape, kind in listing if kind in _CLASSES}
    found = {name: found[name] for name in own(found) or found}
    if sum(8 * int(np.prod(shape, dtype=object)) for shape in found.values()) > limit:
        raise InputError(f"more than {limit >> 20} MiB of arrays")
    values = loadmat(io.BytesIO(content), variable_names=list(found))  # type: ignore[arg-type]
    return {name: _squeezed(name, np.asarray(values[name])) for name in found if name in values}


def write(values: dict[str, Any]) -> bytes:
    """The values as variables."""
    from scipy.io import savemat

    stream = io.BytesIO()
    # savemat makes a row of what has one dimension, and a row of characters of text; its stubs know only paths.
    arrays = {name: np.asarray(value) for name, value in values.items()}
    savemat(stream, arrays, do_compression=True)  # type: ignore[arg-type]
    return stream.getvalue()


def _squeezed(name: str, array: np.ndarray) -> np.ndarray:
    """MATLAB knows only matrices: a mask of one row or column is a plain list."""
    return array.ravel() if name in ("mask", "conductivity") and 1 in array.shape else array
