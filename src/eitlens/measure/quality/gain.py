"""A channel whose gain is off: all its readings are too large or too small by one factor."""

import torch
from jaxtyping import Int64
from torch import Tensor

from eitlens.electrodes import Pattern
from eitlens.measure.quality.base import Explanation, Fault, listed, noted
from eitlens.measure.quality.model import TankModel, mainly_reads, reads
from eitlens.measure.readings import ElectrodeMeasurement

KIND = "gain"
_FEWEST = 4  # readings that a gain is told from
_LEAST = 0.05  # a gain that is less off is that of a real device
_LEFT = 0.8  # of the misfit: more is left where the gains are not the reason


def gains(model: TankModel) -> list[Explanation]:
    """The channel whose gain is most off, if there is one, where electrodes may be off a little, too."""
    pattern, channel = model.measurement.pattern, numbered(model.measurement.pattern)
    fitted = model.fitted()
    rows = torch.where(channel == torch.arange(int(channel.max()) + 1)[:, None], fitted.values, 0.0)
    enough = ((rows != 0) & model.readings.isfinite()).sum(-1) >= _FEWEST
    share, misfit = fitted.added(rows)
    worst = int(torch.where(enough, misfit, torch.inf).argmin())
    if (
        not bool(enough.any())
        or abs(float(share[worst])) < _LEAST
        or float(misfit[worst]) > _LEFT * fitted.misfit
    ):
        return []
    factor = 1 + float(share[worst])
    return [Explanation(_finding(pattern, worst, factor), model.given * float(misfit[worst]) / fitted.misfit)]


def numbered(pattern: Pattern) -> Int64[Tensor, "readings"]:
    """Which channel each reading is from, as a device has them: those that read the same electrodes are one."""
    if pattern.reading.ndim == 2:
        return torch.nonzero(pattern.mask)[:, 1]
    _, inverse = torch.unique(reads(pattern), dim=0, return_inverse=True)
    order = list(dict.fromkeys(inverse.tolist()))
    return torch.tensor([order.index(number) for number in inverse.tolist()])


def _finding(pattern: Pattern, worst: int, factor: float) -> Fault:
    row = mainly_reads(pattern)[numbered(pattern) == worst][0]
    ends = listed(tuple((torch.nonzero(row)[:, 0] + 1).tolist()))
    name = f"channel {worst + 1} (electrode{'s' * (int(row.sum()) > 1)} {ends})"
    more = f"{abs(factor - 1):.0%} too {'much' if factor > 1 else 'little'}"

    def fix(measurement: ElectrodeMeasurement) -> ElectrodeMeasurement:
        size = torch.where(numbered(measurement.pattern) == worst, 1 / factor, 1.0)
        reference = None if measurement.reference is None else measurement.reference * size
        note = f"{name} read {more}: it is divided by {factor:.4g}"
        return noted(measurement, note, voltages=measurement.voltages * size, reference=reference)

    text = f"{name} reads {more}"
    return Fault(KIND, text, factor - 1, f"divide it by {factor:.4g}", (), (worst + 1,), fix=fix)
