"""The polarity of the readings: all of them may be the negative of what the pattern says."""

from eitlens.measure.quality.base import Explanation, Finding, noted
from eitlens.measure.quality.model import TankModel
from eitlens.measure.readings import ElectrodeMeasurement

KIND = "polarity"


def polarity(model: TankModel) -> list[Explanation]:
    """The same pattern with all readings of the other sign."""
    residual = model.residual(model.measurement.pattern, -model.readings)
    text = "the polarity is reversed: all readings have the opposite sign of what the pattern says"
    finding = Finding(KIND, text, 2.0, "change the sign of all readings", fix=reversed_sign)
    return [Explanation(finding, residual)]


def reversed_sign(measurement: ElectrodeMeasurement) -> ElectrodeMeasurement:
    """The measurement with all readings of the other sign."""
    reference = None if measurement.reference is None else -measurement.reference
    note = "polarity was reversed: the sign of all readings is changed"
    return noted(measurement, note, voltages=-measurement.voltages, reference=reference)
