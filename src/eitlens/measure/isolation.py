"""Reading files whose libraries, written in C, a damaged file can crash: in a process of its own, begun when needed.

Fuzzing found .mat files that bring down the whole process in scipy's reader. The child turns a file into .npz, which is
read here without such a library; when the child dies or takes too long, the file is refused and the next one gets a
new child. It is a plain new interpreter rather than one of `multiprocessing`, which would run the user's script again.
"""

import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock, Timer

from eitlens.errors import InputError
from eitlens.measure.base import Measurement
from eitlens.measure.child import BAD, receive, send
from eitlens.measure.formats import npz
from eitlens.measure.formats.registry import ISOLATED, recognised
from eitlens.measure.guard import LIMIT
from eitlens.measure.parsing import contents, measured, understood
from eitlens.measure.recording import Recording
from eitlens.measure.setup import Setup

_MOST = 4  # bytes of an .npz for one of a file: text takes four bytes a letter
_HOME = str(Path(__file__).resolve().parents[2])
_CODE = (  # the same package, though this process may have changed its folder since it found it
    f"import sys; home = {_HOME!r}; home in sys.path or sys.path.insert(0, home); "
    "from eitlens.measure.child import work; work()"
)


@dataclass(frozen=True)
class _Child:
    process: subprocess.Popen[bytes]

    @staticmethod
    def begin() -> "_Child":
        # -P: a module in the current folder must not take the place of an installed one.
        command = [sys.executable, "-P", "-c", _CODE]
        pipe, quiet = subprocess.PIPE, subprocess.DEVNULL
        return _Child(subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=quiet))

    def convert(self, content: bytes, where: str, patience: float) -> bytes:
        """The answer to a file; OSError or EOFError when there is none."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        timeout = Timer(patience, self.process.kill)
        timeout.start()
        try:
            send(self.process.stdin, where.encode("utf-8", "surrogateescape"))
            send(self.process.stdin, content)
            return receive(self.process.stdout)
        finally:
            timeout.cancel()

    def end(self) -> None:
        self.process.kill()
        self.process.communicate()  # closes the pipes, too


@dataclass
class SafeParser:
    """Measurements from the bytes of files, whatever is in them. It keeps its child for the next file."""

    patience: float = 30.0
    """Seconds, longer than a sound file takes; a child that takes more is ended."""
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
        if answer.startswith(BAD):
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
            return self._child.convert(content, where, self.patience)
        except (OSError, EOFError):  # it crashed, or was killed because it hung
            self.close()
            told = f"{where}: damaged beyond reading, or too slow to read: save it again, or as .npz or .json"
            raise InputError(told) from None
