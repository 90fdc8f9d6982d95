"""The errors of the device behind a measurement, fitted to the readings of the empty tank, and readings freed of them.

`fit_tank` says what an ideal device would read. What is left tells of the device (`Instrument`): a common mode c and a
gain g of each channel, an error a of each source. The readings are linear in each of them, so a few rounds of least
squares find all. Errors that the data do not tell apart, as one gain of all channels and σ, stay zero.
"""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float64
from torch import Tensor

from eitlens.electrodes import Instrument, Pattern
from eitlens.errors import InputError
from eitlens.measure.readings import ElectrodeMeasurement
from eitlens.measure.tank import TankFit, empty_readings, fit_tank

_ROUNDS = 4  # after three the residual of a measured tank stands still
_WEAK = 1e-3  # of the mean column: directions that change readings by less are left at zero


@dataclass(frozen=True, eq=False)
class InstrumentFit:
    """A device as the empty tank shows it.

    Attributes:
        instrument: common mode, gains and errors of the sources.
        tank: the empty tank; its conductivity is that of the readings without these errors.
        residual: relative, of the readings of the empty tank.
    """

    instrument: Instrument
    tank: TankFit
    residual: float


def fit_instrument(
    measurement: ElectrodeMeasurement, fit: TankFit | None = None, gains: bool = True
) -> InstrumentFit:
    """Fit the device to the reference, or to the mean frame if there is none.

    The same channels must be read for all stimulations, as common mode and gain are theirs. What a channel's gain does,
    electrodes of another width do nearly as well; without `gains` none is taken for the other.
    """
    pattern = measurement.pattern
    if pattern.reading.ndim != 2:
        raise InputError(
            "the instrument is fitted to channels that are the same for all stimulations: these rotate"
        )
    tank = fit or fit_tank(measurement)
    water = pattern.spread(empty_readings(measurement)[0])
    there = water.isfinite()
    device = Instrument(pattern.reading)
    potentials = _potentials(measurement, tank)
    scale = torch.ones((), dtype=torch.float64)
    size = water[there].norm()
    gap = water
    for _ in range(_ROUNDS):
        model = device.readings(potentials * _strength(device, pattern), pattern.stimulation)
        scale = (model[there] @ water[there]) / model[there].square().sum()
        gap = (water / scale - model)[there]
        step, gap = _step(pattern, potentials, model, there, gap, gains)
        channels = len(device.gain)
        common, gain, source = torch.split(step, [channels, channels, pattern.electrodes])
        device = Instrument(
            pattern.reading, device.gain + gain, device.common + common, device.source + source
        )
    conductivity = tank.conductivity / abs(float(scale))
    fitted = replace(tank, conductivity=conductivity, readings=tank.readings * abs(float(scale)))
    return InstrumentFit(device, fitted, float(gap.norm() * scale.abs() / size))


def freed(measurement: ElectrodeMeasurement, found: InstrumentFit) -> ElectrodeMeasurement:
    """The measurement as a device without these errors would have read it, with a note."""
    pattern = measurement.pattern

    def corrected(rows: Float64[Tensor, "frames readings"]) -> Float64[Tensor, "frames readings"]:
        tables = [found.instrument.freed(pattern.spread(row), pattern.stimulation) for row in rows]
        return torch.stack(tables)[:, pattern.mask]

    note = "corrected: common mode, gains and sources as the empty tank shows them"
    reference = None if measurement.reference is None else corrected(measurement.reference)
    return replace(
        measurement,
        voltages=corrected(measurement.voltages),
        reference=reference,
        notes=(*measurement.notes, note),
    )


def _potentials(
    measurement: ElectrodeMeasurement, tank: TankFit
) -> Float64[Tensor, "stimulations electrodes"]:
    """U of the empty tank, above that of the sinks."""
    from eitlens.measure.tank import resistance_model

    contacts = tank.electrodes.relative_impedance * tank.conductivity
    found = measurement.pattern.stimulation @ resistance_model(tank.electrodes)(contacts, 1.0)
    out = (-measurement.pattern.stimulation).clamp(min=0)
    share = out / out.sum(-1, keepdim=True)
    found = found - (found * share).sum(-1, keepdim=True)
    return tank.polarity * found / (tank.conductivity * measurement.height)


def _strength(device: Instrument, pattern: Pattern) -> Float64[Tensor, "stimulations 1"]:
    """What the errors of the sources make of each stimulation."""
    return 1 + (_sources(pattern) @ device.source)[:, None]


def _sources(pattern: Pattern) -> Float64[Tensor, "stimulations electrodes"]:
    """The share of each source in a stimulation."""
    into = pattern.stimulation.clamp(min=0)
    return into / into.sum(-1, keepdim=True)


def _step(
    pattern: Pattern,
    potentials: Tensor,
    model: Float64[Tensor, "stimulations channels"],
    there: Bool[Tensor, "stimulations channels"],
    gap: Float64[Tensor, "present"],
    gains: bool,
) -> tuple[Float64[Tensor, "errors"], Float64[Tensor, "present"]]:
    """Changes of c, g and a that explain the gap, and what is left of it."""
    weight = pattern.reading.abs() / pattern.reading.abs().sum(-1, keepdim=True)
    plain, common = potentials @ pattern.reading.mT, potentials @ weight.mT
    number, place = torch.nonzero(there).T
    line, channels = torch.arange(len(gap)), len(pattern.reading)
    rows = gap.new_zeros(len(gap), 2 * channels + pattern.electrodes)
    rows[line, place] = common[number, place]
    rows[line, channels + place] = plain[number, place] * gains
    rows[:, 2 * channels :] = _sources(pattern)[number] * model[there][:, None]
    weak = _WEAK * rows.norm() / rows.shape[1] ** 0.5
    ridge = weak * torch.eye(rows.shape[1], dtype=rows.dtype)
    right = torch.cat([gap, gap.new_zeros(len(ridge))])
    step = torch.linalg.lstsq(torch.cat([rows, ridge]), right).solution
    return step, gap - rows @ step
