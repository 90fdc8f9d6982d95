"""The process that reads files whose libraries, written in C, a damaged file can crash; see `isolation.py`.

It needs NumPy, SciPy's reader and h5py, and not torch, so it starts in a fraction of a second and stays small. Once it
has them, it can open no file any more and has only so much memory: the system sees to that.
"""

import sys
from contextlib import suppress
from pathlib import Path
from typing import IO

import numpy as np

from eitlens.errors import InputError
from eitlens.measure.formats import hdf5, matlab, npz
from eitlens.measure.guard import LIMIT, guarded

GOOD, BAD = b"+", b"-"
_LENGTH = 8  # bytes of a number that says how many bytes follow
_MEMORY = (
    768 << 20
)  # bytes for a file of 64 MiB and what becomes of it; with the libraries it stays below 1 GiB


def work() -> None:
    """The name of a file and its bytes come, an .npz or the reason why not goes back."""
    source, target = sys.stdin.buffer, sys.stdout.buffer
    _warm_up()
    _restrict()
    while True:
        try:
            where, content = receive(source), receive(source)
        except EOFError:
            return
        send(target, _converted(content, where.decode("utf-8", "surrogateescape")))


def send(stream: IO[bytes], content: bytes) -> None:
    """Write bytes, and before them how many they are."""
    stream.write(len(content).to_bytes(_LENGTH))
    stream.write(content)
    stream.flush()


def receive(stream: IO[bytes]) -> bytes:
    """What `send` wrote; EOFError where the stream ends."""
    return _exactly(stream, int.from_bytes(_exactly(stream, _LENGTH)))


def _exactly(stream: IO[bytes], count: int) -> bytes:
    content = stream.read(count)
    if len(content) < count:
        raise EOFError
    return content


def _converted(content: bytes, where: str) -> bytes:
    form = matlab if matlab.recognises(content) else hdf5
    try:
        return GOOD + npz.write(guarded(lambda: form.read(content, LIMIT), where))
    except InputError as error:
        return BAD + str(error).encode("utf-8", "backslashreplace")


def _warm_up() -> None:
    """Have every library load what it needs: later it cannot open a file."""
    sample = {"values": np.ones((2, 3)), "name": "text", "complex": np.ones((2, 2)) * 1j}
    for form in (matlab, hdf5):
        with suppress(InputError):  # h5py may not be installed
            _converted(form.write(sample), "")
    _converted(b"MATLAB 5.0 MAT-file" + bytes(300), "")


def _restrict() -> None:
    """Have the system refuse more memory, and every file; where it cannot, as on Windows, go on without."""
    try:
        import resource
    except ImportError:
        return
    with suppress(OSError, ValueError):  # Linux alone says what is taken, and keeps the limit
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        limit = pages * resource.getpagesize() + _MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))  # those that are open stay open
