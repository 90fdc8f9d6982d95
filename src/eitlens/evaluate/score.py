"""The score of a network over a test set: mean, median and interval of every metric, and the calibration."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from eitlens.dataset import Samples
from eitlens.errors import InputError
from eitlens.evaluate import calibration, metrics
from eitlens.evaluate.calibration import Reliability
from eitlens.evaluate.distance import hausdorff
from eitlens.evaluate.phases import PhaseTally, phased_metrics
from eitlens.evaluate.statistics import MetricSummary, interval, summarise
from eitlens.feed import Noise
from eitlens.forward.base import Data
from eitlens.models.trained import BATCH, Trained

Corrupt = Callable[[Data, Tensor], Data]
SEED = 20230501
"""Seed of the noise of every score: the first day of ICLR 2023."""
_DRAWS = 200  # fewer than for a mean: the calibration error of a draw is a sum over all bins of all samples


@dataclass(frozen=True)
class Score:
    """Metrics by name over `samples` samples; `reliability` holds the curve behind the calibration error."""

    samples: int
    metrics: dict[str, MetricSummary]
    calibration: MetricSummary
    reliability: dict[str, list[float]]

    @staticmethod
    def from_dict(values: dict[str, Any]) -> "Score":
        """Build a score from plain JSON values."""
        metrics = {name: MetricSummary(**found) for name, found in values["metrics"].items()}
        return Score(
            values["samples"], metrics, MetricSummary(**values["calibration"]), values["reliability"]
        )

    def rows(self) -> dict[str, MetricSummary]:
        """The lines of a table, by name."""
        return self.metrics | {"calibration_error": self.calibration}


def score(
    trained: Trained,
    samples: Samples,
    tau: float = 0.0,
    corrupt: Corrupt | None = None,
    inside: float = metrics.INSIDE,
    progress: Callable[[int], None] | None = None,
) -> Score:
    """The score on samples with the paper's noise of level τ, the same for every network and every call.

    Of a network of classes on data that know σ, the metrics of `eitlens.evaluate.phases` join.

    Args:
        trained: the network.
        samples: the test set; the first currents of it if it has more than the network reads.
        tau: noise level.
        corrupt: another noise instead, a function of (boundary data, sample numbers).
        inside: conductivity of the inclusions, for the errors of σ.
        progress: told the number of samples done.
    """
    difference = _first_currents(trained, samples.difference)
    noisy = corrupt or (lambda data, index: Noise((tau,)).apply(data, SEED, 0, index))
    values: dict[str, list[Tensor]] = {}
    curves: list[Reliability] = []
    tally = PhaseTally() if trained.network.phased and samples.log_sigma is not None else None
    for start in range(0, len(samples), BATCH):
        rows = slice(start, start + BATCH)
        part = samples[rows]
        outputs = trained.outputs(noisy(difference[rows], part.index))
        logits = trained.inclusion(outputs)
        target = part.mask.to(logits.device, torch.float32)
        found = _values(logits, target, inside)
        if tally is not None and part.log_sigma is not None:
            log_sigma = part.log_sigma.to(logits.device, torch.float32)
            found |= phased_metrics(outputs, log_sigma[:, None])
            tally.add(outputs, log_sigma)
        for name, value in found.items():
            values.setdefault(name, []).append(value.cpu())
        curves.append(calibration.reliability(logits, target))
        if progress is not None:
            progress(start + len(part))
    summaries = {name: summarise(torch.cat(parts)) for name, parts in values.items()}
    if tally is not None:
        summaries |= {name: summarise(found) for name, found in tally.values().items() if len(found)}
    curve = calibration.join(curves)
    return Score(len(samples), summaries, _calibration(curve), _curve(curve))


def _values(logits: Tensor, target: Tensor, inside: float) -> dict[str, Tensor]:
    values = metrics.per_sample(logits, target)
    if inside != metrics.INSIDE:
        for name, metric in (("relative_l2", metrics.relative_l2), ("paper_l2", metrics.paper_l2)):
            values[name] = metric(logits, target, inside)
    return values | {"hausdorff": hausdorff(logits, target)}


def _calibration(curve: Reliability) -> MetricSummary:
    """The calibration error over all nodes at once; the median is over the samples taken one by one.

    A sum of absolute values is larger for redrawn samples than for the sample itself: where the error is near 0
    the interval lies above it.
    """
    single = curve.errors(torch.arange(len(curve.nodes))[:, None])
    low, high = interval(curve.errors, len(curve.nodes), draws=_DRAWS)
    return MetricSummary(curve.error(), float(single.median()), low, high)


def _curve(curve: Reliability) -> dict[str, list[float]]:
    parts = dict(zip(("predicted", "observed", "share"), curve.curve(), strict=True))
    filled = parts["share"] > 0
    return {name: part[filled].tolist() for name, part in parts.items()}


def _first_currents(trained: Trained, difference: Data) -> Tensor:
    wanted, nodes = trained.currents.count, trained.features.domain.boundary_size
    if difference.shape[1] < wanted or difference.shape[2] != nodes:
        raise InputError(
            f"test data of {difference.shape[1]} currents at {difference.shape[2]} nodes, the network reads "
            f"{wanted} at {nodes}: use the data set it was trained for"
        )
    return difference[:, :wanted]
