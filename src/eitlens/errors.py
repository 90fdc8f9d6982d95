"""The errors a user can cause. A message says what was given, what was expected and the fix, in one line."""

from collections.abc import Iterator
from contextlib import contextmanager


class InputError(ValueError):
    """Something the user gave cannot be used; raised before any work is done."""


class ConvergenceError(RuntimeError):
    """An iteration stopped short of its tolerance; the message gives the residual it reached."""


@contextmanager
def naming(where: str) -> Iterator[None]:
    """An `InputError` in the block gets the name of what it is about in front; an empty name adds nothing."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{where}: {error}" if where else str(error)) from None
