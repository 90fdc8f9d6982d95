"""MATLAB's .mat, version 5 to 7 (`save -v7`): the names of a measurement as variables."""

import io
from typing import Any

import numpy as np

from eitlens.errors import InputError
from eitlens.measure.readings import ALL_NAMES


def recognises(content: bytes) -> bool:
    """Whether it has MATLAB's header."""
    return content.startswith(b"MATLAB 5.0 MAT-file")


def read(content: bytes, limit: int) -> dict[str, Any]:
    """The variables with the names of a measurement; others are ignored, as a workspace is full of them."""
    from scipy.io import loadmat, whosmat

    # The stubs know only paths; both read from streams as well.
    listing = whosmat(io.BytesIO(content))  # type: ignore[arg-type]
    found = {name: shape for name, shape, _ in listing if name in ALL_NAMES}
    if sum(8 * int(np.prod(shape, dtype=object)) for shape in found.values()) > limit:
        raise InputError(f"more than {limit >> 20} MiB of arrays")
    values = loadmat(io.BytesIO(content), variable_names=list(found))  # type: ignore[arg-type]
    return {name: _squeezed(name, np.asarray(values[name])) for name in found if name in values}


def _squeezed(name: str, array: np.ndarray) -> np.ndarray:
    """MATLAB knows only matrices: a mask of one row or column is a plain list."""
    return array.ravel() if name in ("mask", "conductivity") and 1 in array.shape else array
