"""The threads of torch, as many as there is work and cores for, in the calling thread of Python alone.

Two threads on two cores make an image 1.3 to 1.7 times as fast. Where other processes keep both cores busy, they make
it 4 to 10 times as slow: at each of a thousand small operations one thread waits for the other.

`torch.set_num_threads` would be for the whole process, and not only that: once it has set one thread and then two,
MKL's batched LU (torch 2.13) loses its pivots, and later solves of the user's are wrong without a word.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ctypes import CDLL
from functools import cache
from pathlib import Path
from typing import cast

import torch
from threadpoolctl import ThreadpoolController

from eitlens.device import available_cores

_TORCH = Path(torch.__file__).parent / "lib" / "libtorch_cpu.so"
_LOOKS, _PAUSE = 3, 4e-3  # seconds: a process that only woke up for a moment is gone by then
_LOAD, _OURS = Path("/proc/loadavg"), Path("/proc/self/task")


class Limit:
    """Let this thread of Python use at most `count` threads, from now on or, in a `with`, until its end."""

    def __init__(self, count: int) -> None:
        most = min(count, torch.get_num_threads())  # at its first call in a thread torch sets the threads
        self._openmp = _controller().limit(limits=most, user_api="openmp")
        self._mkl = _set_mkl(1) if most == 1 else None  # set to more, it loses pivots

    def __enter__(self) -> None: ...

    def __exit__(self, *error: object) -> None:
        self._openmp.restore_original_limits()
        if self._mkl is not None:
            _set_mkl(self._mkl)


@contextmanager
def free_cores_only() -> Iterator[None]:
    """Use the cores that no other process uses now; also a decorator."""
    if torch.get_num_threads() == 1:
        yield
        return
    with Limit(max(1, available_cores() - _others())):
        yield


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


def _set_mkl(count: int) -> int:
    """Set the threads of MKL in this thread, 0 for those of the process; returns what they were."""
    local = _mkl()
    return local(count) if local else 0


@cache
def _mkl() -> Callable[[int], int] | None:
    """MKL's own setting, inside torch's library on Linux: it goes before OpenMP's once a user has set threads."""
    try:
        return cast(Callable[[int], int], CDLL(str(_TORCH)).MKL_Set_Num_Threads_Local)
    except (OSError, AttributeError):
        return None


def _others() -> int:
    """Threads of other processes that keep running, where the system tells: the least of a few looks."""
    least = _running()
    for _ in range(_LOOKS - 1):
        if least == 0:
            break
        time.sleep(_PAUSE)
        least = min(least, _running())
    return least


def _running() -> int:
    """Threads of other processes that run or wait for a core now (Linux)."""
    try:
        running = int(_LOAD.read_text(encoding="ascii").split()[3].partition("/")[0])
        return max(0, running - sum(map(_runs, _OURS.iterdir())))
    except (OSError, IndexError, ValueError):
        return 0


def _runs(task: Path) -> bool:
    """Whether a thread of this process runs; its state follows its name, which is in brackets."""
    return (task / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "R"
