"""One frame of a tank as the methods that go through the electrode model compare with it: volts and their errors.

A difference measurement is taken as absolute readings of the modelled tank: what the model reads of the empty tank plus
what changed from the reference to the frame. The error that the model makes of the empty tank is not in it.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import torch
from jaxtyping import Float64
from torch import Tensor

from eitlens import checks
from eitlens.classical.tank_model import CELLS, TankModel
from eitlens.electrodes import Electrodes, Pattern
from eitlens.errors import InputError, prefix_errors
from eitlens.measure.readings import ElectrodeMeasurement
from eitlens.measure.tank import TankFit, empty_readings, fit_wide_tank

_PAIRS = 8
"""Fewer pairs of reciprocal readings tell no noise."""
_FELT = 0.03
"""Of an electrode's width over σ: contacts found along with an unknown body begin at this impedance at least."""
_RANK = 1e-12
"""Of the largest squared singular value: combinations of potentials below are not read, such as their mean."""

Readings = Float64[Tensor, "readings"]


@dataclass(frozen=True)
class ReadingErrors:
    """Independent errors of the readings, of the device and of the model.

    The standard deviation of reading v is √((relative · v)² + (floor · rms of all v)² + white²), v the change since
    the reference, or the reading itself where there is none, and `white` in volts.
    """

    relative: float
    floor: float
    white: float = 0.0

    def __post_init__(self) -> None:
        for name in ("relative", "floor", "white"):
            if checks.number(getattr(self, name), f"errors: {name}") < 0:
                raise InputError(f"errors: {name} must not be negative, got {getattr(self, name):g}")
        if self.floor == 0 and self.white == 0:
            raise InputError("errors: give a floor or white noise: a reading of 0 has an error as well")

    def deviation(self, values: Readings) -> Readings:
        """The standard deviation of each value."""
        floor = self.floor * values.square().mean().sqrt()
        return ((self.relative * values).square() + floor.square() + self.white**2).sqrt()


OF_CHANGES = ReadingErrors(relative=0.03, floor=0.01)
"""Of good measured tanks after a fit of the empty one: model errors, mostly; the noise of devices is far below."""
OF_READINGS = ReadingErrors(relative=0.005, floor=0.001)
"""Without a reference the model's errors of the empty tank count as well, and are of this size at best."""


class Reduced(NamedTuple):
    """Numbers of the standard deviation 1, and what they should be from the potentials of a tank."""

    values: Float64[Tensor, "numbers"]
    potentials: Float64[Tensor, "numbers potentials"]


@dataclass(frozen=True, eq=False)
class TankFrame:
    """What the model should read, how surely, and the empty tank to begin with.

    Attributes:
        model: of the tank, with fitted contacts.
        conductivity: σ0 of the empty tank in S/m.
        readings: volts that the model should give.
        empty: volts that it gives without inclusions; zero where there is no reference.
        deviation: their standard deviations.
        difference: whether there was a reference.
        polarity: -1 where the device gives the negative of what the pattern says.
    """

    model: TankModel
    conductivity: float
    readings: Readings
    empty: Readings
    deviation: Readings
    difference: bool
    polarity: int = 1

    @staticmethod
    def of(
        measurement: ElectrodeMeasurement,
        errors: ReadingErrors | None = None,
        fit: TankFit | None = None,
        cells: int = CELLS,
        size: float | None = None,
        device: torch.device | None = None,
    ) -> "TankFrame":
        """The first frame, its tank fitted to the reference, or to the frame itself, where no fit is given."""
        with prefix_errors(measurement.source):
            tank = _tank(measurement.frame(0)) if fit is None else fit
            row = tank.electrodes if measurement.reference is not None else _visible(tank)
            model = TankModel.of(measurement.frame(0), row, cells, size, device)
            if model.count == 0:
                raise InputError("readings: none is there in both the frame and the reference")
        return _compared(measurement, model, tank.conductivity, tank.polarity, errors)

    def following(
        self, measurement: ElectrodeMeasurement, errors: ReadingErrors | None = None
    ) -> "TankFrame":
        """The first frame of another measurement of the same tank: its fit and its elements are those of this one.

        Without a reference each frame has its own tank; so has one with other readings missing.
        """
        model = self.model
        same = model.keep is not None and torch.equal(measurement.present, model.keep.cpu())
        if not (self.difference and same):
            return TankFrame.of(measurement, errors, cells=model.cells, size=model.size, device=model.device)
        return _compared(measurement, model, self.conductivity, self.polarity, errors)

    @property
    def measured(self) -> Readings:
        """The readings, or their changes since the reference."""
        return self.readings - self.empty

    def with_errors(self, errors: ReadingErrors) -> "TankFrame":
        """The same with other standard deviations."""
        return replace(self, deviation=errors.deviation(self.measured))

    @cached_property
    def reduced(self) -> "Reduced":
        """The readings over their standard deviations, as few numbers as say the same of the potentials."""
        rows, values = self.model.reading / self.deviation[:, None], self.readings / self.deviation
        squared, ways = torch.linalg.eigh(rows.mT @ rows)
        told = squared > _RANK * squared[-1]
        size, way = squared[told].sqrt(), ways[:, told]
        return Reduced((values @ rows @ way) / size, size[:, None] * way.mT)

    def relative_misfit(self, readings: Readings) -> float:
        """|modelled - measured| / |measured|, of the changes where there is a reference."""
        return float((self.readings - readings).norm() / self.measured.norm())


def _compared(
    measurement: ElectrodeMeasurement,
    model: TankModel,
    conductivity: float,
    polarity: int,
    errors: ReadingErrors | None,
) -> TankFrame:
    """What a model should read of the first frame, with these errors or with the usual ones."""
    difference = measurement.reference is not None
    values = measurement.difference[0] if difference else measurement.voltages[0]
    found = polarity * model.kept(values)
    if not bool(found.abs().max() > 0):
        raise InputError("readings: the frame is the same as its reference: there is nothing to see")
    known = (OF_CHANGES if difference else OF_READINGS) if errors is None else errors
    if errors is None:
        known = replace(known, white=white_noise(measurement.pattern, values))
    empty = torch.zeros_like(found)
    if difference:
        empty = model.readings(model.uniform(conductivity))
    deviation = known.deviation(found)
    return TankFrame(model, conductivity, empty + found, empty, deviation, difference, polarity)


def white_noise(pattern: Pattern, values: Float64[Tensor, "all"]) -> float:
    """The noise in volts that reciprocal readings tell, which are the same without any; 0 where there are too few."""
    pairs = pattern.reciprocal()
    apart = values[pairs.other] - pairs.factor * values[pairs.one]
    squares = apart.square() / (1 + pairs.factor.square())
    there = squares[squares.isfinite()]
    return float(there.mean().sqrt()) if len(there) >= _PAIRS else 0.0


def _tank(measurement: ElectrodeMeasurement) -> TankFit:
    """The fit to the reference; the tank as it is given where the frames are changes of a known conductivity."""
    try:
        empty_readings(measurement)
    except InputError:
        if measurement.conductivity is None:
            raise
        row = measurement.electrodes
        nothing = torch.zeros(measurement.pattern.count, dtype=torch.float64)
        return TankFit(measurement.conductivity, row, nothing, 0.0, 1, 1.0, "given")
    return fit_wide_tank(measurement)


def _visible(tank: TankFit) -> Electrodes:
    """The electrodes with contacts that readings feel: from better ones no derivative leads anywhere."""
    row = tank.electrodes
    least = _FELT * row.widths * row.body.scale / tank.conductivity
    return Electrodes(row.body, row.places, row.widths, torch.maximum(row.impedance, least))
