"""Computations that can be stopped: long loops ask at each turn whether their result is still wanted."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Check = Callable[[], None]
"""A function that raises an error of its own once a computation is to stop."""
_CHECK: ContextVar[Check | None] = ContextVar("check", default=None)


@contextmanager
def stoppable(check: Check) -> Iterator[None]:
    """Have the loops that this thread runs in the block call `check` at each turn."""
    outer = _CHECK.set(check)
    try:
        yield
    finally:
        _CHECK.reset(outer)


def check_wanted() -> None:
    """Raise what the check of the block raises, from a loop that may take seconds; outside a block do nothing."""
    check = _CHECK.get()
    if check is not None:
        check()
