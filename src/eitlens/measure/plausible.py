"""Whether the units of a measurement can be right: amperes that are milliamperes, volts that are millivolts."""

from torch import Tensor

from eitlens.measure.estimate import uniform_readings
from eitlens.measure.readings import ElectrodeMeasurement

_THOUSAND, _FACTOR = 1e3, 4.0
"""What a wrong unit makes of the conductivity, and how far beside it contacts and heights may lead."""
_APART = 20.0
"""No object makes readings so many times larger or smaller."""
_BEST, _WORST = 20.0, 1e-5
"""S/m: four times sea water, which conducts better than water in any tank; pure water."""


def unit_warning(measurement: ElectrodeMeasurement) -> str | None:
    """What is wrong with the units of current or voltage, in a sentence; None where nothing seems to be.

    The conductivity of a uniform body is fitted to the readings of the reference, or of the first frame. Where the
    conductivity is known, the two are compared: a thousand times too much is what milliamperes that are given as
    amperes make of it, a thousandth what millivolts that are given as volts make. Where it is not known, no water
    conducts better than 20 S/m or worse than 1e-5 S/m.

    >>> electrodes, pattern = eit.TankConfig(electrodes=8, current=1.0).build(eit.Disk(32))
    >>> volts = eit.simulate_readings(electrodes, pattern, eit.Phantom([], outside=0.3)) / 1000
    >>> from eitlens.measure.plausible import unit_warning
    >>> print(unit_warning(eit.Measurement.of_electrodes(electrodes, pattern, volts, volts)))
    currents and readings fit a body of 300 S/m: are the amperes milliamperes?
    """
    ratio = _ratio(measurement)
    if ratio is not None and not 1 / _APART < ratio < _APART:
        return f"the frame is {ratio:.3g} times its reference: are both in the same unit, of the same current and gain?"
    fitted = _conductivity(measurement)
    if fitted is None or fitted <= 0:
        return None
    known = measurement.conductivity
    high, low = (
        (_BEST, _WORST) if known is None else (_THOUSAND / _FACTOR * known, _FACTOR / _THOUSAND * known)
    )
    told = "" if known is None else f", and {known:.3g} S/m is said to be right"
    if fitted > high:
        return f"currents and readings fit a body of {fitted:.3g} S/m{told}: are the amperes milliamperes?"
    if fitted < low:
        return f"currents and readings fit a body of {fitted:.3g} S/m{told}: are the volts millivolts?"
    return None


def _ratio(measurement: ElectrodeMeasurement) -> float | None:
    """The size of the first frame over that of its reference; None where there is none, or where it is zero."""
    if measurement.baseline is None:
        return None
    frame, known = measurement.voltages[0], measurement.baseline
    seen = frame.isfinite() & known.isfinite()
    size = float(known[seen].norm())
    return float(frame[seen].norm()) / size if size > 0 and bool((frame[seen] != 0).any()) else None


def _conductivity(measurement: ElectrodeMeasurement) -> float | None:
    """σ of the uniform body that fits best, in S/m; None where the readings are differences."""
    baseline = measurement.baseline
    known: Tensor = measurement.voltages[0] if baseline is None else baseline
    seen = known.isfinite()
    model = uniform_readings(measurement.electrodes, measurement.pattern)[seen]
    if not bool((known[seen] != 0).any()):
        return None
    return float((model @ model) / (model @ known[seen])) / measurement.height
