"""HDF5, and MATLAB's .mat of version 7.3, which is HDF5 with its axes reversed: the names as data sets at the top."""

import io
import math
from typing import Any

import numpy as np

from eitlens.errors import InputError
from eitlens.measure.names import TEXTS, own

_COMPLEX = ("real", "imag")
_MAGIC = b"\x89HDF\r\n\x1a\n"


def recognises(content: bytes) -> bool:
    """Whether it has the signature, at the start or behind MATLAB's header."""
    return content.startswith(_MAGIC) or _matlab(content)


def read(content: bytes, limit: int) -> dict[str, Any]:
    """The data sets of a measurement where there are some, or else all. Links to other files are not followed."""
    h5py = _library()
    with h5py.File(io.BytesIO(content), "r") as file:
        # Asking `name in file` would follow a link to another file.
        names = own(file.keys()) or [name for name in file if _is_plain(h5py, file, name)]
        found = {name: _data_set(h5py, file, name) for name in names}
        if sum(_memory(data) for data in found.values()) > limit:
            raise InputError(f"more than {limit >> 20} MiB of arrays")
        words = {name: _text(found.pop(name)[()]) for name in TEXTS if name in found}
        arrays = {name: _numbers(data[()]) for name, data in found.items()}
    if _matlab(content):
        arrays = {name: _turned(name, array) for name, array in arrays.items()}
    return arrays | words


def write(values: dict[str, Any]) -> bytes:
    """The values as data sets, text as text."""
    h5py = _library()
    stream = io.BytesIO()
    with h5py.File(stream, "w") as file:
        for name, value in values.items():
            file[name] = value if isinstance(value, str) else np.asarray(value)
    return stream.getvalue()


def _library() -> Any:
    try:
        import h5py
    except ImportError:
        raise InputError("HDF5 files need h5py: pip install 'eitlens[io]'") from None
    return h5py


def _is_plain(h5py: Any, file: Any, name: str) -> bool:
    """Whether it is an array of numbers in this file."""
    hard = isinstance(file.get(name, getlink=True), h5py.HardLink)
    return hard and isinstance(file[name], h5py.Dataset) and _is_number(file[name].dtype)


def _is_number(kind: Any) -> bool:
    return kind.kind in "bifu" or kind.names == _COMPLEX


def _data_set(h5py: Any, file: Any, name: str) -> Any:
    if not isinstance(file.get(name, getlink=True), h5py.HardLink) or not isinstance(
        file[name], h5py.Dataset
    ):
        raise InputError(f"{name} is not a data set of this file")
    data = file[name]
    if data.is_virtual or data.external:
        raise InputError(f"{name} is kept in another file: copy it into this one")
    if not _is_number(data.dtype) and name not in TEXTS:
        raise InputError(f"{name}: expected numbers, got {data.dtype}")
    return data


def _memory(data: Any) -> int:
    """Bytes to read it with: of its numbers, or letters, and of the piece that is unpacked at once."""
    letters = max(8, data.dtype.itemsize)
    return int(letters * (data.size + math.prod(data.chunks or (0,))))


def _numbers(values: Any) -> np.ndarray:
    """An array; the pairs that MATLAB makes of complex numbers are put together."""
    array = np.asarray(values)
    return array["real"] + 1j * array["imag"] if array.dtype.names == _COMPLEX else array


def _matlab(content: bytes) -> bool:
    return content.startswith(b"MATLAB 7.3") and content[512:520] == _MAGIC


def _text(value: Any) -> str:
    """Text: bytes, or as MATLAB keeps it, a row of the codes of its letters."""
    return value.decode() if isinstance(value, bytes) else "".join(map(chr, np.ravel(value)))


def _turned(name: str, array: np.ndarray) -> np.ndarray:
    return array.ravel() if name in ("mask", "conductivity") and 1 in array.shape else array.T
