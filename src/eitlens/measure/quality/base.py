"""What an inspection finds: a finding, and an explanation of the empty tank's readings by one."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from eitlens.measure.readings import ElectrodeMeasurement

BETTER = 0.7
"""An explanation leaves no more than this part of what was left without it."""
Fix = Callable[[ElectrodeMeasurement], ElectrodeMeasurement]
Numbers = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Fault:
    """One thing that is wrong with a measurement, and what can be done about it.

    Electrodes, channels and stimulations are numbered from 1.

    Attributes:
        kind: what it is, in a word or two: the same for all findings of a check.
        text: what is wrong, as a sentence.
        size: how large it is, relative to what it is measured by.
        remedy: what `fix` does, or what the user should do.
        electrodes: which ones it is about.
        channels: which channels.
        stimulations: which stimulations.
        fix: the measurement with the fault masked or corrected, and a note of it; None where nothing can be done.
    """

    kind: str
    text: str
    size: float
    remedy: str = ""
    electrodes: Numbers = ()
    channels: Numbers = ()
    stimulations: Numbers = ()
    fix: Fix | None = None

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        names = ("kind", "text", "size", "remedy", "electrodes", "channels", "stimulations")
        return {name: getattr(self, name) for name in names} | {"fixable": self.fix is not None}


@dataclass(frozen=True, eq=False)
class Explanation:
    """A finding that would make the readings those of an empty tank, and how well it does.

    Attributes:
        finding: what would be wrong.
        residual: what is left of the readings then: root mean square, over that of the readings that are kept.
        changes: how many things would be wrong at once. The simpler of two that are nearly as good is believed.
    """

    finding: Fault
    residual: float
    changes: int = 1


def noted(measurement: ElectrodeMeasurement, note: str, **changes: Any) -> ElectrodeMeasurement:
    """The measurement with some values changed and a note that says so."""
    return replace(measurement, notes=(*measurement.notes, note), **changes)


def listed(numbers: Numbers) -> str:
    """Numbers as a person says them: 1, 2 and 5."""
    words = [str(number) for number in numbers]
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else "".join(words)
