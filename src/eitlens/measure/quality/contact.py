"""Electrodes that are dead, so that nothing flows through them, or that cannot be relied on."""

import torch
from jaxtyping import Bool, Float64
from torch import Tensor

from eitlens.electrodes import Pattern
from eitlens.measure.quality.base import Explanation, Fault
from eitlens.measure.quality.model import TankModel, drives, mainly_reads, reads
from eitlens.measure.readings import ElectrodeMeasurement

DEAD, UNRELIABLE = "dead electrode", "unreliable electrode"
_MOST_LOST = 0.5  # of the readings: an electrode that is in more of them cannot be judged by what is left


def electrodes(model: TankModel) -> list[Explanation]:
    """Each electrode that is still read, in turn: dead, or just not to be relied on."""
    pattern, seen = model.measurement.pattern, model.readings.isfinite()
    numbers = range(1, pattern.electrodes + 1)
    read = [number for number in numbers if bool((seen & ~without(pattern, number)).any())]
    return [found for number in read for found in (_dead(model, number), *_unreliable(model, number))]


def _dead(model: TankModel, number: int) -> Explanation:
    """No current flows through the electrode, and what is read there is not its potential."""
    pattern = model.measurement.pattern
    drive, stimulation = _open(pattern, number), torch.nonzero(pattern.mask)[:, 0]
    rows = (drive @ model.body.resistances)[:, stimulation]
    weights = reads(pattern).clone()
    weights[:, number - 1] = 0  # its wire is at 0 V
    keep = ~mainly_reads(pattern)[:, number - 1]
    expected = (rows * weights).sum(-1)
    contacts = drive[stimulation] * weights
    residual = float(model.unexplained(expected, pattern, keep=keep, contacts=contacts).min())
    text = f"electrode {number} is dead: no current flows through it, and its potential is not read"
    return Explanation(_finding(DEAD, text, number), residual)


def _open(pattern: Pattern, number: int) -> Float64[Tensor, "stimulations electrodes"]:
    """The currents when one electrode is cut off: the others that drive share what it does not take."""
    drive = pattern.stimulation.clone()
    drive[:, number - 1] = 0
    others = (drive != 0).to(drive)
    return drive - others * (drive.sum(-1) / others.sum(-1).clamp(min=1))[:, None]


def _unreliable(model: TankModel, number: int) -> list[Explanation]:
    """All readings that have to do with the electrode are left out."""
    pattern = model.measurement.pattern
    keep = without(pattern, number)
    if float(keep.to(torch.float64).mean()) < 1 - _MOST_LOST:
        return []
    residual = model.residual(pattern, keep=keep)
    text = f"electrode {number} is unreliable: the readings that it has no part in fit the tank, the others do not"
    return [Explanation(_finding(UNRELIABLE, text, number), residual, changes=2)]


def without(pattern: Pattern, number: int) -> Bool[Tensor, "readings"]:
    """True for the readings in which an electrode neither drives nor is read."""
    return (drives(pattern)[:, number - 1] == 0) & ~mainly_reads(pattern)[:, number - 1]


def _finding(kind: str, text: str, number: int) -> Fault:
    def fix(measurement: ElectrodeMeasurement) -> ElectrodeMeasurement:
        keep = without(measurement.pattern, number)
        return measurement.masked(keep, f"electrode {number} is {kind.split()[0]}: its readings are left out")

    return Fault(kind, text, 1.0, "leave out its readings", (number,), fix=fix)
