"""Reciprocity: electrodes that drive and electrodes that are read may change places, and the reading is the same."""

from jaxtyping import Float64
from torch import Tensor

from eitlens.measure.quality.base import Fault
from eitlens.measure.quality.linearity import readings_of
from eitlens.measure.readings import ElectrodeMeasurement

KIND = "reciprocity"
_LARGEST = 0.05  # of the readings: devices differ by less
_NOISES = 4.0  # two noisy readings differ by 1.4 times their noise


def pairs(measurement: ElectrodeMeasurement) -> Float64[Tensor, "pairs 2"]:
    """Readings, in volts, that should be the same in twos."""
    values, found = readings_of(measurement).nanmean(0), measurement.pattern.reciprocal()
    both = (values[found.one] * found.factor, values[found.other])
    rows = values.new_empty(len(found.one), 2)
    rows[:, 0], rows[:, 1] = both
    return rows[rows.isfinite().all(-1)]


def reciprocity(measurement: ElectrodeMeasurement) -> float | None:
    """The root mean square of their differences over that of the readings; None where no two belong together."""
    rows = pairs(measurement)
    if not len(rows):
        return None
    return float(rows.diff(dim=-1).square().mean().sqrt() / rows.square().mean().sqrt().clamp(min=1e-300))


def irreciprocal(measurement: ElectrodeMeasurement, noise: float | None) -> list[Fault]:
    """Readings that are not reciprocal, more than noise makes them."""
    size = reciprocity(measurement)
    if size is None or size < max(_LARGEST, _NOISES * (noise or 0.0)):
        return []
    text = (
        f"readings in which driven and read electrodes have changed places differ by {size:.1%}: "
        "the pattern, the gains of the channels or the contacts are not what they should be"
    )
    return [Fault(KIND, text, size, "check the pattern and the device")]
