"""Claims: a file that one process at a time can hold, so that several share a list of work."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from eitlens.files import disk_errors, make_folder

if sys.platform == "win32":  # pragma: no cover

    def _lock(stream: IO[str], wait: bool) -> bool:
        """Without this kind of lock a process must be alone."""
        return True

else:
    import fcntl

    def _lock(stream: IO[str], wait: bool) -> bool:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            return False
        return True


@contextmanager
def claim(path: Path, wait: bool = False) -> Iterator[bool]:
    """Whether this process holds the file; however it ends, the claim ends with it.

    Args:
        path: the file, made if need be and taken away at the end; one that a killed process left is no claim.
        wait: for the one that holds it now; then the answer is always yes.
    """
    stream = _held(path, wait)
    if stream is None:
        yield False
        return
    with stream:
        try:
            yield True
        finally:
            with suppress(OSError):
                path.unlink()  # while it is still held, or it might be another's by now


def _held(path: Path, wait: bool) -> IO[str] | None:
    """The file, locked; None where another process holds it."""
    make_folder(path.parent)
    with disk_errors(path):
        while True:
            stream = path.open("a", encoding="utf-8")
            if not _lock(stream, wait):
                stream.close()
                return None
            if _is_there(stream, path):
                return stream
            stream.close()  # its last holder has taken it away since it was opened: a lock on nothing


def _is_there(stream: IO[str], path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(stream.fileno()), path.stat())
    except FileNotFoundError:
        return False
