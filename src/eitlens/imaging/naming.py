"""Whose error it is: what is wrong in a file is said with the name of the file."""

from collections.abc import Iterator
from contextlib import contextmanager

from eitlens.errors import InputError


@contextmanager
def naming(where: str) -> Iterator[None]:
    """An `InputError` in the block gets the name of what it is about in front; an empty name adds nothing."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{where}: {error}" if where else str(error)) from None
