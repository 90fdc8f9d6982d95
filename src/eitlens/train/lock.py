"""A lock file that one process at a time can hold, so that several processes share a list of work."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from eitlens.files import disk_errors, make_folder


@contextmanager
def lock_file(path: Path, wait: bool = False) -> Iterator[bool]:
    """Hold a lock file, and say whether this process does; however the process ends, the lock ends with it.

    Args:
        path: the file, made if need be and removed at the end. A file that a killed process left is not locked.
        wait: for the process that holds it now; then the answer is always yes.
    """
    make_folder(path.parent)
    lock = FileLock(path)
    with disk_errors(path), suppress(Timeout):
        lock.acquire(blocking=wait)
    try:
        yield lock.is_locked
    finally:
        if lock.is_locked:
            with suppress(OSError):
                path.unlink()  # while it is still held: later it might be another process's
            lock.release()
