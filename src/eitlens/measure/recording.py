"""A recording: the numbers of a device's file, with what the file or its format knows of the tank.

A reader returns one. Together with the setup of the user it becomes a measurement: the numbers find their places in the
pattern, lose what was not measured, and get their unit and their signs.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Float64
from torch import Tensor

from eitlens.electrodes import Electrodes, Pattern
from eitlens.errors import InputError
from eitlens.measure.base import Frames
from eitlens.measure.readings import ElectrodeMeasurement
from eitlens.measure.setup import HELP, Setup
from eitlens.measure.units import factor

_SEVERAL = 8  # names of variables that an error lists


@dataclass(frozen=True)
class Recording:
    """Frames as a file has them.

    Attributes:
        values: (F, V), a row a frame: the readings of the pattern, or a value for each stimulation and channel, those
            at electrodes that drive among them; a column a frame and one frame in any shape are understood as well.
        known: what the file or its format says of the tank.
        reference: frames of the empty tank, in the same way.
        times: (F,), seconds.
        notes: what the reader did to the values.
        empty: whether the file says that its frames are of the empty tank.
        unknown: the error where neither the file nor the setup names a pattern.
        potentials: whether the values are (F, L, E), the potential of each electrode, of which channels are made.
    """

    values: np.ndarray
    known: Setup
    reference: np.ndarray | None = None
    times: np.ndarray | None = None
    notes: tuple[str, ...] = ()
    empty: bool = False
    unknown: str = ""
    potentials: bool = False

    def measured(self, setup: Setup, where: str) -> ElectrodeMeasurement:
        """The measurement on the tank of the setup; what the setup leaves out, the file says."""
        full = setup.over(self.known)
        if full.pattern is None and self.unknown:
            raise InputError(self.unknown)
        electrodes, pattern = full.placed(), full.stimulated()
        notes = list(self.notes)
        parts = [
            None if part is None else self._placed(part, pattern, notes)
            for part in (self.values, self.reference)
        ]
        size = factor(full.unit or "V", "V")
        voltages, reference = (None if part is None else part * size for part in parts)
        assert voltages is not None
        times = self.times
        if times is None and full.rate is not None:
            times = np.arange(len(voltages)) / float(full.rate)
        found = ElectrodeMeasurement(
            electrodes,
            pattern,
            voltages,
            reference,
            None if full.conductivity is None else float(full.conductivity),
            1.0 if full.height is None else float(full.height),
            None if times is None else torch.from_numpy(np.array(times, dtype=np.float64)),
            tuple(notes),
            where,
        )
        return signed(found) if full.unsigned else found

    def _placed(self, values: np.ndarray, pattern: Pattern, notes: list[str]) -> Frames:
        """The values as readings of the pattern."""
        if np.iscomplexobj(values):
            values = values.real
            notes.append("the real parts of complex values are used")
        table = torch.from_numpy(np.array(values, dtype=np.float64))
        if self.potentials:
            return pattern.read(table)
        for count, pick in ((pattern.count, None), (pattern.mask.numel(), pattern.mask.flatten())):
            rows = _rows(table, count)
            if rows is not None and pick is not None:
                notes.append(
                    f"{count - pattern.count} of {count} values are at electrodes that drive and left out"
                )
                rows = rows[:, pick]
            if rows is not None:
                return rows
        expected = (
            f"{pattern.count} or {pattern.mask.numel()}" if not bool(pattern.mask.all()) else pattern.count
        )
        raise InputError(
            f"values of shape {tuple(table.shape)} do not go with a pattern of {len(pattern.stimulation)} stimulations "
            f"and {expected} readings a frame: {HELP}"
        )


def _rows(table: Tensor, count: int) -> Frames | None:
    """The table with a row of `count` values a frame, if it can be understood so."""
    if table.ndim == 2 and table.shape[1] == count:
        return table
    if table.ndim == 2 and table.shape[0] == count:
        return table.mT
    return table.reshape(1, -1) if table.numel() == count else None


def signed(measurement: ElectrodeMeasurement) -> ElectrodeMeasurement:
    """The measurement with the signs that the readings of its empty tank have."""
    from eitlens.electrodes import simulate_readings
    from eitlens.phantom import Phantom

    sign = simulate_readings(measurement.electrodes, measurement.pattern, Phantom([])).sign()
    reference = None if measurement.reference is None else measurement.reference.abs() * sign
    note = "the readings have no signs: they got those of the empty tank"
    voltages = measurement.voltages.abs() * sign
    return replace(measurement, voltages=voltages, reference=reference, notes=(*measurement.notes, note))
