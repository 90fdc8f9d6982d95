"""The formats of measurement files: which there are, and which of them a file is."""

from typing import Any

from eitlens.errors import InputError
from eitlens.measure.formats import (
    act3,
    draeger,
    eidors,
    frames256,
    frames_table,
    hdf5,
    ktc2023,
    manchester,
    matlab,
    npz,
    plain,
    sciospec,
    table,
    text,
    uef2017,
)
from eitlens.measure.recording import Recording
from eitlens.registry import Registry


def _accepted(name: str, thing: Any) -> Any:
    if not all(callable(getattr(thing, part, None)) for part in ("recognises", "read")):
        raise InputError(
            f"format {name!r}: expected recognises(content) and read(content, limit) in {thing!r}"
        )
    return thing


FORMATS: Registry[Any] = Registry(
    "format",
    {
        "table": table,
        "raw frames": frames256,
        "plain": plain,
        "tank table": frames_table,
        "json": text,
        "act3": act3,
        "manchester": manchester,
        "sciospec": sciospec,
        "draeger": draeger,
        "hdf5": hdf5,
        "matlab": matlab,
        "npz": npz,
    },
    _accepted,
)
"""The formats: the last is asked first whether it knows a file, so a user's own come before those of the package."""

ISOLATED = (matlab, hdf5)
"""Formats whose libraries a damaged file can crash."""

_NAMED = (ktc2023, uef2017, act3)
"""Those told by the names of their arrays."""


def recognised(content: bytes) -> Any:
    """The format of a file by its content; None where no format knows it."""
    return next((form for form in reversed(FORMATS.values()) if form.recognises(content)), None)


def recording(values: dict[str, Any], chosen: str = "") -> Recording:
    """The recording in named arrays that are no measurement of ours; `chosen` names one of several."""
    known = next((form for form in _NAMED if form.knows(values)), None)
    if known is None:
        return eidors.recording(values, chosen)
    if chosen:
        raise InputError(f"{chosen}: this file is one recording, of which no part can be chosen")
    found: Recording = known.recording(values)
    return found
