"""Units: every number in eitlens is in amperes, volts, metres, seconds and siemens a metre; others are turned here.

>>> from eitlens.measure.units import si
>>> si("5 mA", "A"), si("30cm", "m"), si(0.3, "S/m")
(0.005, 0.3, 0.3)
"""

import re

from eitlens import checks
from eitlens.errors import InputError

_PREFIXES = {"": 1.0, "k": 1e3, "c": 1e-2, "m": 1e-3, "u": 1e-6, "µ": 1e-6, "μ": 1e-6, "n": 1e-9}
_QUANTITY = re.compile(r"\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*(\S*)\s*$")
"""A number with a unit behind it."""


def factor(unit: str, base: str) -> float:
    """How many of the SI unit `base` one `unit` is: 0.001 for mV and V."""
    for prefix, size in _PREFIXES.items():
        if unit == prefix + base:
            return size
    known = ", ".join(prefix + base for prefix in ("", "m", "u"))
    raise InputError(f"{checks.shown(unit)} is no unit of this kind: give {known}")


def si(given: object, base: str) -> float:
    """A number in the SI unit `base`: as it is, or from text such as "5 mA"."""
    if not isinstance(given, str):
        return checks.number(given, f"value in {base}")
    found = _QUANTITY.match(given)
    if not found:
        raise InputError(
            f"expected a number with or without a unit, such as 5m{base}, got {checks.shown(given)}"
        )
    return float(found[1]) * factor(found[2] or base, base)
