"""Files that are whole or not there: written under another name, flushed to disk, then renamed."""

import contextlib
import errno
import hashlib
import json
import os
import shutil
import socket
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, TypeVar

from eitlens.errors import InputError, prefix_errors

_PREFIX = ".tmp"
T = TypeVar("T")


@contextlib.contextmanager
def fresh(*paths: Path) -> Iterator[list[Path]]:
    """Names under which files are written; each gets its own when the block ends well and all are on the disk.

    Otherwise nothing is left; of a process that is killed, temporary files that no reader looks at.
    """
    temporary = [_temporary(path) for path in paths]
    with disk_errors(paths[0]):
        try:
            yield temporary
            for file in temporary:
                _flush(file)
            for file, path in zip(temporary, paths, strict=True):
                os.replace(file, path)
        except BaseException:
            for file in temporary:
                file.unlink(missing_ok=True)
            raise
        for folder in {path.parent for path in paths}:
            _flush_folder(folder)


@contextlib.contextmanager
def fresh_folder(folder: Path) -> Iterator[Path]:
    """A folder to fill, which gets its name when the block ends well; the name may be that of an empty one."""
    make_folder(folder.parent)
    remove_leftovers(folder.parent)
    temporary = _temporary(folder)
    with disk_errors(folder):
        temporary.mkdir()
        try:
            yield temporary
            if folder.exists():
                folder.rmdir()
            temporary.replace(folder)
        except BaseException:
            shutil.rmtree(temporary, ignore_errors=True)
            raise
        _flush_folder(folder.parent)


def write_together(contents: Mapping[Path, bytes]) -> None:
    """Write files that belong together: none gets its name before all are whole, the last is the mark of all."""
    with fresh(*contents) as temporary:
        for file, content in zip(temporary, contents.values(), strict=True):
            file.write_bytes(content)


def write_atomically(path: Path, content: bytes) -> None:
    """Write the whole file or leave nothing but a temporary file that no reader looks at."""
    write_together({path: content})


def write_text(path: Path, text: str) -> None:
    """Write a text of UTF-8, whole or not at all."""
    write_atomically(path, text.encode())


def copy_files(files: Iterable[Path], folder: Path) -> None:
    """Copy files into a folder, each whole or not at all; what killed processes left half-written stays behind."""
    make_folder(folder)
    for file in files:
        if not file.name.startswith(_PREFIX):
            write_atomically(folder / file.name, file.read_bytes())


def write_json(path: Path, values: object, indent: int = 2) -> None:
    """Write a JSON file, whole or not at all."""
    write_text(path, json.dumps(values, indent=indent, ensure_ascii=False) + "\n")


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
            shutil.rmtree(file) if file.is_dir() else file.unlink(missing_ok=True)


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


def _temporary(path: Path) -> Path:
    """A name beside it that tells whose it is, for `remove_leftovers`."""
    return path.with_name(f"{_PREFIX}.{_host()}.{os.getpid()}.{threading.get_native_id()}.{path.name}")


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


def _flush(file: Path) -> None:
    """Have the disk take what was written."""
    with file.open("rb+") as stream:
        os.fsync(stream.fileno())


def _flush_folder(folder: Path) -> None:
    """Make the new name itself survive a power cut, where the system can."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
