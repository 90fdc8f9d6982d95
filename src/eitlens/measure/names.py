"""The names that our measurement files may hold, in the order of the fields of the two kinds of measurement."""

from collections.abc import Iterable

OF_POINTS = ("points", "currents", "voltages", "reference", "mask", "conductivity", "domain")
"""Those of potentials at points of the boundary."""
OF_ELECTRODES = (
    "electrodes",
    "pattern",
    "voltages",
    "reference",
    "conductivity",
    "height",
    "times",
    "notes",
)
"""Those of readings of electrodes."""
ALL = (*OF_ELECTRODES, *(name for name in OF_POINTS if name not in OF_ELECTRODES))
TEXTS = ("electrodes", "pattern", "notes", "domain")
"""Those that are text, JSON or a name, in formats that know only arrays."""
_TELLING = {*OF_ELECTRODES[:2], *OF_POINTS[:2]}


def own(names: Iterable[str]) -> list[str]:
    """The names of a measurement among those in a file; none if it is none of ours."""
    given = set(names)
    return [name for name in ALL if name in given] if given & _TELLING else []
