"""Claims: a file that one process at a time can hold, so that several share a list of work."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

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
        path: the file, made if need be, and left behind as it is.
        wait: for the one that holds it now; then the answer is always yes.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as stream:
        yield _lock(stream, wait)
