"""Files that are whole or not there: written under another name, flushed to disk, then renamed."""

import contextlib
import errno
import hashlib
import json
import os
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, TypeVar

from eitlens.errors import InputError, prefix_errors

_PREFIX = ".tmp"
T = TypeVar("T")


def write_atomically(path: Path, content: bytes) -> None:
    """Write the whole file or leave nothing but a temporary file that no reader looks at."""
    temporary = path.with_name(f"{_PREFIX}.{_host()}.{os.getpid()}.{path.name}")
    with disk_errors(path):
        try:
            with temporary.open("wb") as stream:
                stream.write(content)
                stream.flush()
                os.fsync(stream.fileno())
            os.replace(temporary, path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        _flush_folder(path.parent)


def write_json(path: Path, values: object, indent: int = 2) -> None:
    """Write a JSON file, whole or not at all."""
    write_atomically(path, (json.dumps(values, indent=indent, ensure_ascii=False) + "\n").encode())


def read_bytes(path: Path | str, most: int, remedy: str) -> tuple[bytes, str]:
    """The first bytes of a file, or of what comes through the pipe for `-`, and its name for errors."""
    where = "standard input" if str(path) == "-" else str(path)
    try:
        with (
            contextlib.nullcontext(sys.stdin.buffer) if str(path) == "-" else Path(path).open("rb") as stream
        ):
            return stream.read(most), where
    except (OSError, ValueError) as error:  # a ValueError for a name with a zero byte
        raise InputError(f"{where}: {getattr(error, 'strerror', None) or error}: {remedy}") from None


def read_json(path: Path, build: Callable[[Any], T], remedy: str) -> T:
    """Build a thing from the values of a JSON file by `build`; every error names the file."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}: {remedy}") from None
    except (RecursionError, ValueError) as error:
        raise InputError(f"{path}: not a JSON file ({error}): {remedy}") from None
    try:
        with prefix_errors(str(path)):
            return build(values)
    except InputError:
        raise
    except (AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise InputError(f"{path}: not as eitlens writes it ({error!r}): {remedy}") from None


def make_folder(folder: Path) -> None:
    """Create the folder and those above it."""
    with disk_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)


def check_writable(path: Path, source: Path | None = None) -> None:
    """Refuse a file that could not be written, or that would replace its own `source`, before any work is done.

    Nothing is made yet: where folders are missing, the nearest one above that is there must let them be made.
    """
    with disk_errors(path):
        if path.is_dir():
            raise InputError(f"{path}: is a folder: give the name of a file")
        if source is not None and path.exists() and source.exists() and path.samefile(source):
            raise InputError(f"{path}: is the file that is read: give the output another name")
        with TemporaryFile(dir=next(folder for folder in path.parents if folder.exists())):
            pass


def remove_leftovers(folder: Path) -> None:
    """Remove what processes killed on this machine left half-written; those still alive keep theirs."""
    for file in folder.glob(f"{_PREFIX}.{_host()}.*"):
        pid = file.name.removeprefix(f"{_PREFIX}.{_host()}.").split(".")[0]
        if pid.isdecimal() and not _alive(int(pid)):
            file.unlink(missing_ok=True)


def sha256(path: Path) -> str:
    """The checksum of a file."""
    with disk_errors(path), path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


@contextlib.contextmanager
def disk_errors(path: Path) -> Iterator[None]:
    """Turn errors of the disk into one line that names the file and the remedy."""
    try:
        yield
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        remedy = (
            "free some space and run the same command again: it goes on where it stopped"
            if full
            else "check the path and its permissions"
        )
        raise InputError(f"{path}: {error.strerror or error}: {remedy}") from error


def _host() -> str:
    # A dot would be taken for the end of the name.
    return socket.gethostname().replace(".", "-") or "host"


def _alive(pid: int) -> bool:
    """Whether there is such a process; when in doubt (or where asking would kill it, as on Windows), yes."""
    if os.name != "posix":
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _flush_folder(folder: Path) -> None:
    """Make the new name itself survive a power cut, where the system can."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
