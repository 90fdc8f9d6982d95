"""The threads of torch, as many as there is work and cores for, in the calling thread of Python alone.

Two threads on two cores make an image 1.3 to 1.7 times as fast. Where other processes keep both cores busy, they make
it 4 to 10 times as slow: at each of a thousand small operations one thread waits for the other.

`torch.set_num_threads` would be for the whole process, and not only that: once it has set one thread and then two,
MKL's batched LU (torch 2.13) loses its pivots, and later solves of the user's are wrong without a word.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import torch
from threadpoolctl import ThreadpoolController

from eitlens.device import available_cores

_LOAD, _OURS = Path("/proc/loadavg"), Path("/proc/self/task")


def limit(count: int) -> Any:
    """Let this thread of Python use at most `count` threads, from now on or, in a `with`, until its end."""
    most = min(count, torch.get_num_threads())  # at its first call in a thread torch sets the threads
    return _controller().limit(limits=most, user_api="openmp")


@contextmanager
def free_cores_only() -> Iterator[None]:
    """Use the cores that no other process uses now; also a decorator."""
    if torch.get_num_threads() == 1:
        yield
        return
    with limit(max(1, available_cores() - _others())):
        yield


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


def _others() -> int:
    """Threads of other processes that run or wait for a core, where the system tells (Linux)."""
    try:
        running = int(_LOAD.read_text(encoding="ascii").split()[3].partition("/")[0])
        return max(0, running - sum(map(_runs, _OURS.iterdir())))
    except (OSError, IndexError, ValueError):
        return 0


def _runs(task: Path) -> bool:
    """Whether a thread of this process runs; its state follows its name, which is in brackets."""
    return (task / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "R"
