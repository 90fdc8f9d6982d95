"""Measurement files: one module a format, each with `recognises(content)` and `read(content, limit)`.

`read` returns named arrays or raises anything at all: the caller turns whatever a damaged file provokes into one line.
"""

from typing import Any

from eitlens.errors import InputError
from eitlens.measure.formats import hdf5, matlab, npz, table, text
from eitlens.registry import Registry


def _accepted(name: str, thing: Any) -> Any:
    if not all(callable(getattr(thing, part, None)) for part in ("recognises", "read")):
        raise InputError(
            f"format {name!r}: expected recognises(content) and read(content, limit) in {thing!r}"
        )
    return thing


FORMATS: Registry[Any] = Registry(
    "format", {"table": table, "json": text, "hdf5": hdf5, "matlab": matlab, "npz": npz}, _accepted
)
"""The formats: the last is asked first whether it knows a file, so a user's own come before those of the package."""


def recognised(content: bytes) -> Any:
    """The format of a file by its content; None where no format knows it."""
    return next((form for form in reversed(FORMATS.values()) if form.recognises(content)), None)
