"""NumPy's .npz: a zip of arrays. Never unpickles, and allocates nothing a file only claims to hold."""

import io
import zipfile
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy

from eitlens.errors import InputError


def recognises(content: bytes) -> bool:
    """Whether it is a zip file."""
    return content.startswith(b"PK")


def read(content: bytes, limit: int) -> dict[str, Any]:
    """The arrays by name, `limit` bytes of them at most."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = archive.infolist()
        if sum(member.file_size for member in members) > limit:
            raise InputError(f"more than {limit >> 20} MiB of arrays")
        return {member.filename.removesuffix(".npy"): _array(archive, member) for member in members}


def write(values: dict[str, Any]) -> bytes:
    """The arrays as a compressed .npz."""
    stream = io.BytesIO()
    np.savez_compressed(
        stream, **{key: np.asarray(value) for key, value in values.items()}, allow_pickle=False
    )
    return stream.getvalue()


def _array(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> np.ndarray:
    with archive.open(member) as stream:
        shape, kind = header(stream)
    if kind.hasobject or int(np.prod(shape, dtype=object)) * kind.itemsize > member.file_size:
        raise InputError(f"{member.filename}: an array of {kind} of shape {shape} does not fit in the file")
    with archive.open(member) as stream:
        found: np.ndarray = npy.read_array(stream, allow_pickle=False)
    return found


def header(stream: IO[bytes]) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """What the array of an .npy is said to be."""
    version = npy.read_magic(stream)
    reader = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, _, kind = reader(stream)
    return shape, kind
