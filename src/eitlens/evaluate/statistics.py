"""Statistics of a test set from one number a sample: mean, median, and how sure the mean is."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float64, Int64
from torch import Tensor

from eitlens import random
from eitlens.errors import InputError

DRAWS = 1000  # redrawn test sets: the ends of the interval are then the 25th and the 975th
LEVEL = 0.95  # of the interval, as is usual
_CHUNK = 1 << 22  # numbers drawn at once: 32 MB


@dataclass(frozen=True)
class MetricSummary:
    """A metric over a test set; `low` … `high` is the 95 % bootstrap interval of the mean.

    Of an even number of samples the median is the lower of the two in the middle.
    """

    mean: float
    median: float
    low: float
    high: float


def summarise(values: Float64[Tensor, "samples"]) -> MetricSummary:
    """Mean, median and percentile bootstrap interval: the middle 95 % of the means of redrawn test sets.

    The interval says how much another test set of this size would change the mean; it says nothing about
    another training run.
    """
    values = values.cpu()
    low, high = interval(lambda rows: values[rows].mean(1), len(values))
    return MetricSummary(float(values.mean()), float(values.median()), low, high)


def interval(statistic: Callable[[Tensor], Tensor], count: int, draws: int = DRAWS) -> tuple[float, float]:
    """The middle 95 % of a statistic over test sets redrawn with replacement, always the same ones."""
    if count < 1:
        raise InputError("statistics: no samples: is the test set empty?")
    chunks = torch.split(torch.arange(draws), max(1, _CHUNK // count))
    values = torch.cat([statistic(redrawn(chunk, count)) for chunk in chunks])
    ends = torch.tensor([(1 - LEVEL) / 2, (1 + LEVEL) / 2], dtype=values.dtype)
    low, high = torch.quantile(values, ends).tolist()
    return low, high


def redrawn(draws: Int64[Tensor, "draws"], count: int) -> Int64[Tensor, "draws {count}"]:
    """`count` samples with replacement, for each draw: the same on every machine."""
    return (random.uniform(0, draws, count) * count).long()
