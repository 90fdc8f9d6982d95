"""A channel whose gain is off: all its readings are too large or too small by one factor."""

import torch
from jaxtyping import Float64, Int64
from torch import Tensor

from eitlens.electrodes import Pattern
from eitlens.measure.quality.base import Explanation, Finding, listed, noted
from eitlens.measure.quality.model import TankModel, mainly_reads, reads
from eitlens.measure.readings import ElectrodeMeasurement

KIND = "gain"
_FEWEST = 4  # readings that a gain is told from
_LEAST = 0.05  # a gain that is less off is that of a real device
_STANDS_OUT = (
    6.0  # times the usual spread of the gains of a tank, which its electrodes' places and widths make
)
_SPREAD = 1.4826  # a standard deviation over a median deviation


def gains(model: TankModel) -> list[Explanation]:
    """The channel whose gain stands out, if there is one."""
    pattern, expected = model.measurement.pattern, model.expected()
    channel, own = numbered(pattern), channel_gains(model.readings, expected, numbered(pattern))
    known = own.isfinite()
    if int(known.sum()) < _FEWEST:
        return []
    off = (own / own[known].median() - 1).abs().nan_to_num()
    worst, spread = int(off.argmax()), _SPREAD * float(off[known].median())
    factor = float(own[worst] / own[known].median())
    if float(off[worst]) < max(_LEAST, _STANDS_OUT * spread):
        return []
    readings = torch.where(channel == worst, model.readings / factor, model.readings)
    return [Explanation(_finding(pattern, worst, factor), model.residual(pattern, readings), least=0.0)]


def numbered(pattern: Pattern) -> Int64[Tensor, "readings"]:
    """Which channel each reading is from, as a device has them: those that read the same electrodes are one."""
    if pattern.reading.ndim == 2:
        return torch.nonzero(pattern.mask)[:, 1]
    _, inverse = torch.unique(reads(pattern), dim=0, return_inverse=True)
    order = list(dict.fromkeys(inverse.tolist()))
    return torch.tensor([order.index(number) for number in inverse.tolist()])


def channel_gains(
    readings: Float64[Tensor, "readings"],
    expected: Float64[Tensor, "readings"],
    channel: Int64[Tensor, "readings"],
) -> Float64[Tensor, "channels"]:
    """The factor between measured and expected readings of each channel; nan where too few are there."""
    seen, count = readings.isfinite(), int(channel.max()) + 1
    measured, model = readings.nan_to_num(), torch.where(seen, expected, 0.0)
    top = torch.zeros(count, dtype=torch.float64).index_add(0, channel, measured * model)
    below = torch.zeros(count, dtype=torch.float64).index_add(0, channel, model.square())
    enough = torch.bincount(channel[seen], minlength=count) >= _FEWEST
    return torch.where(enough, top / below, torch.nan)


def _finding(pattern: Pattern, worst: int, factor: float) -> Finding:
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
    return Finding(KIND, text, factor - 1, f"divide it by {factor:.4g}", (), (worst + 1,), fix=fix)
