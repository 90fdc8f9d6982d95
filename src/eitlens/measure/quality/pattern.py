"""The pattern and the order of the readings.

A wrong skip, channels that turn with the electrodes that drive or do not, a table that was written by columns.
"""

from collections.abc import Iterator
from typing import NamedTuple

import torch
from jaxtyping import Int64
from torch import Tensor

from eitlens.electrodes import Pattern
from eitlens.errors import InputError
from eitlens.measure.quality.base import Explanation, Fault, noted
from eitlens.measure.quality.model import TankModel
from eitlens.measure.readings import ElectrodeMeasurement

KIND, ORDER = "pattern", "order of readings"
_CLOSE = 1e-6  # currents that are given in few digits are the same


class Words(NamedTuple):
    """A pattern as `Pattern.named` spells it."""

    name: str
    readings: str
    driven: bool
    rotating: bool

    def pattern(self, electrodes: int) -> Pattern | None:
        """The pattern of one ampere; None where there is none of that name."""
        try:
            return Pattern.named(self.name, electrodes, 1.0, self.readings, self.driven, self.rotating)
        except InputError:
            return None

    def differences(self, other: "Words") -> int:
        """In how many words they differ; driving and reading by the same wrong pairs is one mistake."""
        both = (self.name, self.readings) != (other.name, other.readings)
        same = self.name == self.readings and other.name == other.readings
        pairs = int(both) if same else (self.name != other.name) + (self.readings != other.readings)
        return pairs + (self.rotating != other.rotating)


def patterns(model: TankModel) -> list[Explanation]:
    """All patterns of a name that have as many readings as there are, of both polarities, and the order by columns."""
    return [*_others(model), *_by_columns(model)]


def spelled(pattern: Pattern) -> Words | None:
    """The words for a pattern; None if it has no name."""
    count = pattern.electrodes
    for name in (*names(count), "trigonometric"):
        drive = Pattern.named(name, count, driven=True).stimulation
        if _proportional(pattern.stimulation, drive):
            return _read(pattern, name)
    return None


def names(electrodes: int) -> list[str]:
    """The pairs that devices drive and read."""
    skips = [f"skip-{k}" for k in range(1, electrodes // 2 - 1)]
    return ["adjacent", *skips, "opposite", "all-against-1", f"all-against-{electrodes}"]


def _read(pattern: Pattern, name: str) -> Words | None:
    for readings in (*names(pattern.electrodes), "mean"):
        for rotating in (False, True):
            for driven in (False, True):
                words = Words(name, readings, driven, rotating)
                made = words.pattern(pattern.electrodes)
                if made is not None and _same_channels(made, pattern):
                    return words
    return None


def _same_channels(one: Pattern, other: Pattern) -> bool:
    if one.mask.shape != other.mask.shape or not torch.equal(one.mask, other.mask):
        return False
    return torch.allclose(one.channels, other.channels, atol=_CLOSE)


def _proportional(one: Tensor, other: Tensor) -> bool:
    if one.shape != other.shape:
        return False
    scale = (one * other).sum() / other.square().sum()
    return bool(scale > 0) and torch.allclose(one, scale * other, atol=_CLOSE * float(one.abs().max()))


def _candidates(words: Words, electrodes: int) -> Iterator[Words]:
    """One mistake or two: other pairs that drive, other pairs that are read, channels that turn or not."""
    known = names(electrodes)
    pairs = [(name, words.readings) for name in known] + [(words.name, name) for name in known]
    pairs += [(name, name) for name in known] if words.name == words.readings else []
    for name, readings in dict.fromkeys([(words.name, words.readings), *pairs]):
        for rotating in (words.rotating, not words.rotating):
            if rotating and name == "trigonometric":
                continue
            yield Words(name, readings, words.driven, rotating)


def _others(model: TankModel) -> list[Explanation]:
    pattern = model.measurement.pattern
    words = spelled(pattern)
    if words is None:
        return []
    amperes, found = float(pattern.stimulation.abs().max()), []
    for other in _candidates(words, pattern.electrodes):
        made = None if other == words else other.pattern(pattern.electrodes)
        if made is None or made.count != pattern.count:
            continue
        made = Pattern(made.stimulation * amperes, made.reading, made.mask)
        for sign in (1, -1):
            residual = model.residual(made, sign * model.readings)
            changes = other.differences(words) + (sign < 0)
            found.append(Explanation(_finding(words, other, made, sign), residual, changes))
    return found


def _finding(words: Words, other: Words, made: Pattern, sign: int) -> Fault:
    differ = []
    if other.name != words.name:
        differ.append(f"it drives {other.name} and not {words.name}")
    if other.readings != words.readings:
        differ.append(f"it reads {other.readings} and not {words.readings}")
    if other.rotating != words.rotating:
        turn = "turn with the electrodes that drive" if other.rotating else "are fixed"
        differ.append(f"its channels {turn} (rotating={other.rotating})")
    if sign < 0:
        differ.append("its polarity is reversed")
    kind = KIND if (other.name, other.readings) != (words.name, words.readings) else ORDER
    text = f"the pattern is another one: {', '.join(differ)}"

    def fix(measurement: ElectrodeMeasurement) -> ElectrodeMeasurement:
        reference = None if measurement.reference is None else sign * measurement.reference
        note = f"the pattern is corrected: {', '.join(differ)}"
        return noted(
            measurement, note, pattern=made, voltages=sign * measurement.voltages, reference=reference
        )

    return Fault(kind, text, 1.0, "take that pattern", fix=fix)


def _by_columns(model: TankModel) -> list[Explanation]:
    """The readings are listed channel by channel and not stimulation by stimulation."""
    pattern = model.measurement.pattern
    index = _columns(pattern)
    text = "the readings are in another order: channel by channel, and not stimulation by stimulation"

    def fix(measurement: ElectrodeMeasurement) -> ElectrodeMeasurement:
        reference = None if measurement.reference is None else measurement.reference[:, index]
        note = "the readings were listed channel by channel: they are put in the order of the pattern"
        return noted(measurement, note, voltages=measurement.voltages[:, index], reference=reference)

    finding = Fault(ORDER, text, 1.0, "put them in order", fix=fix)
    return [Explanation(finding, model.residual(pattern, model.readings[index]))]


def _columns(pattern: Pattern) -> Int64[Tensor, "readings"]:
    """Where each reading of the pattern is in a list by channels."""
    place = torch.nonzero(pattern.mask)
    by_channel = torch.argsort(place[:, 1] * len(pattern.stimulation) + place[:, 0])
    return torch.argsort(by_channel)
