"""Wires: two electrodes whose wires have changed places, and a device whose two poles have."""

import torch

from eitlens.measure.quality.base import Explanation, Fault, listed, noted
from eitlens.measure.quality.model import TankModel
from eitlens.measure.readings import ElectrodeMeasurement

POLARITY, SWAPPED = "polarity", "swapped electrodes"
_MOST = 4_000_000  # readings of all swaps at once: 32 MB a contact


def polarity(model: TankModel) -> list[Explanation]:
    """The same pattern with all readings of the other sign."""
    residual = model.residual(model.measurement.pattern, -model.readings)
    text = "the polarity is reversed: all readings have the opposite sign of what the pattern says"
    finding = Fault(POLARITY, text, 2.0, "change the sign of all readings", fix=reversed_sign)
    return [Explanation(finding, residual)]


def reversed_sign(measurement: ElectrodeMeasurement) -> ElectrodeMeasurement:
    """The measurement with all readings of the other sign."""
    reference = None if measurement.reference is None else -measurement.reference
    note = "polarity was reversed: the sign of all readings is changed"
    return noted(measurement, note, voltages=-measurement.voltages, reference=reference)


def swapped(model: TankModel) -> list[Explanation]:
    """The best of all swaps of two electrodes."""
    pattern = model.measurement.pattern
    first, second = torch.triu_indices(pattern.electrodes, pattern.electrodes, offset=1)
    orders = torch.arange(pattern.electrodes).repeat(len(first), 1)
    orders[torch.arange(len(first)), first], orders[torch.arange(len(first)), second] = second, first
    size = max(1, _MOST // pattern.count)
    parts = [orders[start : start + size] for start in range(0, len(orders), size)]
    residuals = torch.cat([model.unexplained(model.renumbered(part), pattern).amin(0) for part in parts])
    best = int(residuals.argmin())
    pair = (int(first[best]) + 1, int(second[best]) + 1)
    order = orders[best].tolist()

    def fix(measurement: ElectrodeMeasurement) -> ElectrodeMeasurement:
        note = f"electrodes {listed(pair)} had changed places: the pattern is changed accordingly"
        return noted(measurement, note, pattern=measurement.pattern.renumbered(order))

    text = f"electrodes {listed(pair)} are swapped: each is connected where the other should be"
    return [
        Explanation(
            Fault(SWAPPED, text, 1.0, "exchange them in the pattern", pair, fix=fix), float(residuals[best])
        )
    ]
