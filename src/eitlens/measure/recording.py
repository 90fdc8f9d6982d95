"""A recording: the numbers of a device's file, with what the file or its format knows of the tank.

A reader returns one. Together with the setup of the user it becomes a measurement: the numbers find their places in the
pattern, lose what was not measured, and get their unit and their signs.
"""

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from eitlens.electrodes import Pattern, simulate_readings
from eitlens.errors import InputError
from eitlens.measure.base import Frames
from eitlens.measure.readings import ElectrodeMeasurement
from eitlens.measure.setup import HELP, Setup
from eitlens.measure.units import factor
from eitlens.phantom import Phantom


@dataclass(frozen=True, eq=False)
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
        if setup.pattern is not None and not _same_drive(pattern, self.known.pattern):
            raise InputError(
                "the file itself says which electrodes drive, and not in this pattern: leave it out"
            )
        notes = list(self.notes)
        parts = [
            None if part is None else self._placed(part, pattern, notes)
            for part in (self.values, self.reference)
        ]
        size = factor(full.unit or "V", "V")
        voltages, reference = (None if part is None else part * size for part in parts)
        assert voltages is not None
        times = self.times if full.rate is None else np.arange(len(voltages)) / float(full.rate)
        return ElectrodeMeasurement(
            electrodes,
            pattern,
            voltages,
            reference,
            None if full.conductivity is None else float(full.conductivity),
            1.0 if full.height is None else float(full.height),
            None if times is None else torch.from_numpy(np.array(times, dtype=np.float64)),
            tuple(dict.fromkeys(notes)),
            where,
        )

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


def _same_drive(pattern: Pattern, known: Pattern | str | None) -> bool:
    """Whether a pattern drives as the file says, where it says so, with whatever current."""
    if not isinstance(known, Pattern):
        return True
    one, other = (part.stimulation / part.stimulation.abs().max() for part in (pattern, known))
    return one.shape == other.shape and bool(torch.allclose(one, other))


def _rows(table: Tensor, count: int) -> Frames | None:
    """The table with a row of `count` values a frame, if it can be understood so."""
    if table.ndim == 2 and table.shape[1] == count:
        return table
    if table.ndim == 2 and table.shape[0] == count:
        return table.mT
    return table.reshape(1, -1) if table.numel() == count else None


def calibrated(measurement: ElectrodeMeasurement) -> ElectrodeMeasurement:
    """The measurement with the gains by which its reference is what the empty tank reads, for 1 S/m if nobody says.

    Without a reference the gains are not known, and only the signs are those of the empty tank.
    """
    empty = Phantom([], outside=measurement.conductivity or 1.0)
    model = simulate_readings(measurement.electrodes, measurement.pattern, empty, measurement.height)
    if measurement.baseline is None:
        note = "the readings have the signs of the empty tank's"
        return replace(
            measurement, voltages=measurement.voltages.abs() * model.sign(), notes=(*measurement.notes, note)
        )
    gain = torch.where(measurement.baseline != 0, model / measurement.baseline, torch.nan)
    assert measurement.reference is not None
    return replace(
        measurement,
        voltages=measurement.voltages * gain,
        reference=measurement.reference * gain,
        conductivity=empty.outside,
        notes=(
            *measurement.notes,
            "each reading has the gain by which the reference is that of the empty tank",
        ),
    )
