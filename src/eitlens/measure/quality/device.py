"""Errors of the device that the empty tank shows: a common mode of its channels, and sources that drive too much.

They are told from the tank only where many more stimulations are read than are independent. Gains of channels are left
to the electrodes' widths, which do nearly the same.
"""

from eitlens.errors import InputError
from eitlens.measure.instrument import InstrumentFit, fit_instrument, freed
from eitlens.measure.quality.base import Fault
from eitlens.measure.readings import ElectrodeMeasurement
from eitlens.measure.tank import fit_tank

KIND = "device"
_REDUNDANT = 2  # stimulations for each independent one, or the tank takes the device's errors for its own
_LEFT = 0.5  # of the misfit: where more is left, the device is not the reason
_LEAST = 0.03  # of the readings: what explains less is no fault
_KNOWN = 0.05  # of the readings: where more is left, it is not the device alone


def device(measurement: ElectrodeMeasurement) -> list[Fault]:
    """The errors of the device, if they explain most of what an empty tank leaves of the reference."""
    pattern = measurement.pattern
    independent = len(pattern.basis().stimulations)
    if pattern.reading.ndim != 2 or len(pattern.stimulation) < _REDUNDANT * independent:
        return []
    try:
        tank = fit_tank(measurement, width=True)
        found = fit_instrument(measurement, tank, gains=False)
        # The contacts are found again without the device's errors.
        found = fit_instrument(measurement, fit_tank(freed(measurement, found), width=True), gains=False)
    except InputError:
        return []
    explained = max(tank.residual**2 - found.residual**2, 0.0) ** 0.5
    if found.residual > min(_LEFT * tank.residual, _KNOWN) or explained < _LEAST:
        return []
    return [_fault(found, tank.residual)]


def _fault(found: InstrumentFit, before: float) -> Fault:
    common, source = (
        float(part.square().mean().sqrt()) for part in (found.instrument.common, found.instrument.source)
    )
    text = (
        f"the device has a common mode of {common:.1%} and errors of {source:.1%} in its currents: with them the empty "
        f"tank leaves {found.residual:.1%} of the reference, without them {before:.1%}"
    )

    def fix(measurement: ElectrodeMeasurement) -> ElectrodeMeasurement:
        return freed(measurement, found)

    return Fault(KIND, text, common, "take them off all readings", fix=fix)
