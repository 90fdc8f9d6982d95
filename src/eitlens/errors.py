"""The errors a user can cause. A message says what was given, what was expected and the fix, in one line."""

from collections.abc import Iterator
from contextlib import contextmanager


class InputError(ValueError):
    """An input that cannot be used; raised before any work is done.

    >>> eit.circle((0.0, 0.0), radius=-1.0)
    Traceback (most recent call last):
        ...
    eitlens.errors.InputError: Ellipse: semi_axes must be positive, got a smallest value of -1
    """


class ConvergenceError(RuntimeError):
    """An iteration stopped short of its tolerance; the message gives the residual it reached.

    >>> square, phantom = eit.Square(32), eit.Phantom([eit.circle((0.0, 0.0), 0.5)])
    >>> eit.GridSolver(square, max_steps=1).difference(phantom, eit.currents.cosine(square, 1))
    Traceback (most recent call last):
        ...
    eitlens.errors.ConvergenceError: no convergence for 1 of 1 potentials: residual 0.099 after 1 steps, ...
    """


class InputWarning(UserWarning):
    """Data that can be used, with a result that is doubtful; the message says what is doubtful, in one line."""


@contextmanager
def prefix_errors(where: str) -> Iterator[None]:
    """An `InputError` in the block gets the name of what it is about in front; once. An empty one adds nothing."""
    try:
        yield
    except InputError as error:
        named = not where or str(error).startswith(f"{where}: ")
        raise InputError(str(error) if named else f"{where}: {error}") from None
