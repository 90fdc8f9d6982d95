"""Measurements: what a device knows of a body, its files, and the form a method wants them in.

The names are imported on first use: the process that reads damaged files needs none of them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from eitlens.measure.base import Measurement
    from eitlens.measure.setup import Setup

__all__ = ["Measurement", "Setup"]

_HOMES = {"Measurement": "eitlens.measure.base", "Setup": "eitlens.measure.setup"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
