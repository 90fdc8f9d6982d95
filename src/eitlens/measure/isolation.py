"""Reading files whose libraries, written in C, a damaged file can crash: in a process of its own, begun when needed.

Fuzzing found .mat files that bring down the whole process in scipy's reader. The child turns a file into .npz, which is
read here without such a library; when the child dies or takes too long, the file is refused and the next one gets a
new child. It is a plain new interpreter rather than one of `multiprocessing`, which would run the user's script again.
Once it has its libraries, it can open no file any more and has only so much memory, as the system sees to.
"""

import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock, Timer
from typing import IO

import numpy as np

from eitlens.errors import InputError
from eitlens.measure.base import Measurement
from eitlens.measure.formats import ISOLATED, npz, recognised
from eitlens.measure.parsing import LIMIT, contents, measured, understood
from eitlens.measure.recording import Recording
from eitlens.measure.setup import Setup

_GOOD, _BAD = b"+", b"-"
_PATIENCE = 30.0  # seconds: longer than a sound file takes; a child that hangs is ended
_LENGTH = 8  # bytes of a number that says how many bytes follow
_MEMORY = (
    512 << 20
)  # bytes for a file of 64 MiB and what becomes of it; with the libraries it stays below 1 GiB
_MOST = 4  # bytes of an .npz for one of a file: text takes four bytes a letter
_CODE = f"from {__name__} import work; work()"


@dataclass(frozen=True)
class _Child:
    process: subprocess.Popen[bytes]

    @staticmethod
    def begin() -> "_Child":
        # -P: a module in the current folder must not take the place of an installed one.
        command = [sys.executable, "-P", "-c", _CODE]
        pipe, quiet = subprocess.PIPE, subprocess.DEVNULL
        return _Child(subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=quiet))

    def convert(self, content: bytes, where: str) -> bytes:
        """The answer to a file; OSError or EOFError when there is none."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        timeout = Timer(_PATIENCE, self.process.kill)
        timeout.start()
        try:
            _send(self.process.stdin, where.encode("utf-8", "surrogateescape"))
            _send(self.process.stdin, content)
            return _receive(self.process.stdout)
        finally:
            timeout.cancel()

    def end(self) -> None:
        self.process.kill()
        self.process.communicate()  # closes the pipes, too


@dataclass
class SafeParser:
    """Measurements from the bytes of files, whatever is in them. It keeps its child for the next file."""

    _child: _Child | None = None
    _lock: Lock = field(default_factory=Lock)

    def __call__(self, content: bytes, where: str, setup: Setup | None = None) -> Measurement:
        """The measurement in a file of any format; `where` names it in errors."""
        return measured(self.found(content, where), setup or Setup(), where)

    def found(self, content: bytes, where: str, chosen: str = "") -> Recording | Measurement:
        """What is in the file before a setup is asked; `chosen` names one of several recordings."""
        if recognised(content) not in ISOLATED:
            return understood(contents(content, where), where, chosen)
        with self._lock:
            answer = self._ask(content, where)
        if answer.startswith(_BAD):
            raise InputError(answer[1:].decode())
        return understood(npz.read(answer[1:], _MOST * LIMIT), where, chosen)

    def close(self) -> None:
        """End the child, if there is one."""
        if self._child is not None:
            self._child.end()
            self._child = None

    def _ask(self, content: bytes, where: str) -> bytes:
        self._child = self._child or _Child.begin()
        try:
            return self._child.convert(content, where)
        except (OSError, EOFError):  # it crashed, or was killed because it hung
            self.close()
            raise InputError(f"{where}: damaged beyond reading: save it again, or as .npz or .json") from None


def work() -> None:
    """In the child: the name of a file and its bytes come, an .npz or the reason why not goes back."""
    source, target = sys.stdin.buffer, sys.stdout.buffer
    _warm_up()
    _restrict()
    while True:
        try:
            where, content = _receive(source), _receive(source)
        except EOFError:
            return
        _send(target, _converted(content, where.decode("utf-8", "surrogateescape")))


def _converted(content: bytes, where: str) -> bytes:
    try:
        return _GOOD + npz.write(contents(content, where))
    except InputError as error:
        return _BAD + str(error).encode("utf-8", "backslashreplace")


def _warm_up() -> None:
    """Have every library load what it needs: later it cannot open a file."""
    for form in ISOLATED:
        with suppress(InputError):  # h5py may not be installed
            _converted(
                form.write({"values": np.ones((2, 3)), "name": "text", "complex": np.ones(2) * 1j}), ""
            )
    _converted(b"MATLAB 5.0 MAT-file" + bytes(300), "")


def _restrict() -> None:
    """Have the system refuse more memory, and every file; where it cannot, as on Windows, go on without."""
    try:
        import resource
    except ImportError:
        return
    with suppress(OSError, ValueError):  # Linux alone says what is taken, and keeps the limit
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        limit = pages * resource.getpagesize() + _MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))  # those that are open stay open


def _send(stream: IO[bytes], content: bytes) -> None:
    stream.write(len(content).to_bytes(_LENGTH))
    stream.write(content)
    stream.flush()


def _receive(stream: IO[bytes]) -> bytes:
    return _exactly(stream, int.from_bytes(_exactly(stream, _LENGTH)))


def _exactly(stream: IO[bytes], count: int) -> bytes:
    content = stream.read(count)
    if len(content) < count:
        raise EOFError
    return content
