"""Reading files whose libraries, written in C, a damaged file can crash: in a process of its own, begun when needed.

Fuzzing found .mat files that bring down the whole process in scipy's reader. The child turns a file into .npz, which is
read here without such a library; when the child dies or takes too long, the file is refused and the next one gets a
new child. It is a plain new interpreter rather than one of `multiprocessing`, which would run the user's script again.
"""

import subprocess
import sys
from dataclasses import dataclass, field
from threading import Lock, Timer
from typing import IO

from eitlens.errors import InputError
from eitlens.measure.base import Measurement
from eitlens.measure.formats import hdf5, matlab, npz, recognised
from eitlens.measure.parsing import parse

_GOOD, _BAD = b"+", b"-"
_PATIENCE = 30.0  # seconds: longer than a sound file takes; a child that hangs is ended
_LENGTH = 8  # bytes of a number that says how many bytes follow
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

    def __call__(self, content: bytes, where: str) -> Measurement:
        """The measurement in a file of any format; `where` names it in errors."""
        if recognised(content) not in (matlab, hdf5):
            return parse(content, where)
        with self._lock:
            answer = self._ask(content, where)
        if answer.startswith(_BAD):
            raise InputError(answer[1:].decode())
        return parse(answer[1:], where)

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
    while True:
        try:
            where, content = _receive(source), _receive(source)
        except EOFError:
            return
        _send(target, _converted(content, where.decode("utf-8", "surrogateescape")))


def _converted(content: bytes, where: str) -> bytes:
    try:
        values = parse(content, where).to_arrays()
    except InputError as error:
        return _BAD + str(error).encode("utf-8", "backslashreplace")
    return _GOOD + npz.write(values)


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
