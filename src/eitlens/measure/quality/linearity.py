"""Linearity: stimulations are combinations of few, so the readings of each channel are combinations of as few.

What a channel misses by is wrong, whatever is in the tank and whatever its shape. An electrode that is unreliable while
it drives is told by what leaving out its readings (it drives, and the channel reads it) takes off the inconsistency.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float64
from torch import Tensor

from eitlens.electrodes import Pattern
from eitlens.measure.quality.base import Fault
from eitlens.measure.quality.model import drives, reads
from eitlens.measure.readings import ElectrodeMeasurement

KIND = "unreliable electrode"
_RANK = (
    1e-8  # of the largest singular value: below, stimulations are combinations of the others but for rounding
)
_REDUNDANT = 2  # conditions for each electrode, or the readings tell too little
_STRONGER = 8.0  # the misfit of a bad electrode's readings, squared, over that of the others
_AHEAD = 2.0  # how much worse than any other electrode it is


@dataclass(frozen=True)
class Inconsistency:
    """The sum of the squares that the readings miss by, and how many conditions there were."""

    squares: float
    conditions: int


def inconsistency(tables: Float64[Tensor, "frames stimulations channels"], pattern: Pattern) -> Inconsistency:
    """By how much the readings of each channel are no combination of as few as the stimulations are."""
    squares, conditions = 0.0, 0
    for number in range(tables.shape[-1] if pattern.reading.ndim == 2 else 0):
        seen = tables[:, :, number].isfinite().all(0)
        if not bool(seen.any()):
            continue
        left, size, _ = torch.linalg.svd(pattern.stimulation[seen], full_matrices=False)
        basis = left[:, size > _RANK * size[0]]
        rows = tables[:, seen, number]
        squares += float((rows - (rows @ basis) @ basis.mT).square().sum())
        conditions += (len(basis) - basis.shape[1]) * len(tables)
    return Inconsistency(squares, conditions)


def linearity(measurement: ElectrodeMeasurement) -> float | None:
    """The part of the readings that is no combination of as few as the stimulations are; None where nothing tells."""
    values = readings_of(measurement)
    found = inconsistency(measurement.pattern.spread(values), measurement.pattern)
    there = values.isfinite()
    size = values[there].square().mean()
    return float((found.squares / found.conditions / size) ** 0.5) if found.conditions else None


def nonlinear(measurement: ElectrodeMeasurement) -> list[Fault]:
    """The electrode that makes readings inconsistent while it drives, in the readings or in what changed in them."""
    values = [readings_of(measurement)]
    values += [] if measurement.reference is None else [measurement.difference]
    found = [_worst(measurement.pattern, rows) for rows in values]
    number, strength = max(found, key=lambda one: one[1])
    return [_finding(number, strength)] if strength >= _STRONGER else []


def readings_of(measurement: ElectrodeMeasurement) -> Float64[Tensor, "frames readings"]:
    """The mean reference; or the frames where there is none, or where they are differences."""
    known = measurement.baseline
    if known is None or not bool((known.nan_to_num() != 0).any()):
        return measurement.voltages
    return known[None]


def _worst(pattern: Pattern, rows: Float64[Tensor, "frames readings"]) -> tuple[int, float]:
    """The electrode whose readings miss most, and how much more than the others'; 0 where it is not alone."""
    tables = pattern.spread(rows)
    all_of_them = inconsistency(tables, pattern)
    if all_of_them.conditions < _REDUNDANT * pattern.electrodes * len(rows) or not all_of_them.squares:
        return 0, 0.0
    strength = [
        _strength(all_of_them, inconsistency(_left_out(tables, pattern, number), pattern))
        for number in range(1, pattern.electrodes + 1)
    ]
    order = torch.tensor(strength).argsort(descending=True).tolist()
    alone = strength[order[0]] >= _AHEAD * strength[order[1]]
    return order[0] + 1, strength[order[0]] if alone else 0.0


def _strength(before: Inconsistency, after: Inconsistency) -> float:
    """The mean square of what was left out, over that of what is left."""
    lost = before.conditions - after.conditions
    if not lost or not after.conditions:
        return 0.0
    return (before.squares - after.squares) / lost / max(after.squares / after.conditions, 1e-300)


def _left_out(tables: Tensor, pattern: Pattern, number: int) -> Tensor:
    bad = (pattern.stimulation[:, number - 1] != 0)[:, None] & (pattern.channels[..., number - 1] != 0)
    return torch.where(bad, torch.nan, tables)


def _used(pattern: Pattern, number: int) -> Bool[Tensor, "readings"]:
    """True for readings in which an electrode drives and is read."""
    return (drives(pattern)[:, number - 1] != 0) & (reads(pattern)[:, number - 1] != 0)


def _finding(number: int, strength: float) -> Fault:
    text = (
        f"electrode {number} is unreliable while it drives: its readings are no combinations of the others', "
        f"{strength**0.5:.1f} times as far off as the rest"
    )

    def fix(measurement: ElectrodeMeasurement) -> ElectrodeMeasurement:
        note = f"electrode {number} is unreliable while it drives: its readings are left out then"
        return measurement.masked(~_used(measurement.pattern, number), note)

    return Fault(
        KIND, text, strength**0.5, "leave out what is read at it while it drives", (number,), fix=fix
    )
