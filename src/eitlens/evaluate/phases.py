"""Metrics of networks of three classes and log σ (`models.worlds`): how near outputs are to the true log σ.

Outputs are (B, 5, n, n): logits of background, resistive and conductive, mean and log deviation of log σ. The true
classes are those of `phantom.raster.classes`. What is seen as an inclusion is what is not background.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Float64
from torch import Tensor
from torch.nn import functional as fn

from eitlens.evaluate import calibration
from eitlens.evaluate.calibration import Reliability
from eitlens.evaluate.metrics import PerSample, per_sample
from eitlens.models.tank import CLASSES, read_output
from eitlens.models.worlds import inclusion_logit
from eitlens.phantom.raster import classes

Outputs = Float[Tensor, "samples five nx ny"]
Sigma = Float[Tensor, "samples one nx ny"]
PHASE_METRICS = ("dice_resistive", "dice_conductive", "class_entropy", "sigma_error")
"""Hard Dice of the sets of nodes where a class is the likeliest; cross entropy of the classes; root mean square error
of the mean of log σ. The Dice of a class is 1 where it neither is nor is seen."""
Z90 = 1.6449
"""Deviations to either side that hold 90 % of a normal distribution."""


def phased_metrics(outputs: Outputs, log_sigma: Sigma) -> dict[str, PerSample]:
    """Every metric of `METRICS` for the inclusion, and those of the classes and of log σ."""
    truth = classes(log_sigma[:, 0])
    mask = (truth > 0)[:, None].to(outputs.dtype)
    return per_sample(inclusion_logit(outputs), mask) | _class_metrics(outputs, truth, log_sigma)


def _class_metrics(outputs: Outputs, truth: Tensor, log_sigma: Sigma) -> dict[str, PerSample]:
    logits, seen = outputs[:, :CLASSES].double(), outputs[:, :CLASSES].argmax(1)
    dice = []
    for k in (1, 2):
        both = ((seen == k) & (truth == k)).flatten(1).double().sum(1)
        size = (seen == k).flatten(1).double().sum(1) + (truth == k).flatten(1).double().sum(1)
        dice.append(torch.where(size > 0, 2 * both / size.clamp(min=1), 1.0))
    entropy = fn.cross_entropy(logits, truth, reduction="none").flatten(1).mean(1)
    error = (outputs[:, CLASSES] - log_sigma[:, 0]).double().flatten(1).square().mean(1).sqrt()
    return dict(zip(PHASE_METRICS, (*dice, entropy, error), strict=True))


@dataclass
class PhaseTally:
    """What is known of log σ and the classes over many samples: `add` each batch, then ask.

    >>> tally = PhaseTally()
    >>> tally.add(torch.zeros(2, 5, 8, 8), torch.ones(2, 8, 8))
    >>> tally.summary()["coverage"]
    1.0
    """

    def __post_init__(self) -> None:
        self._errors: list[Tensor] = []
        self._covered: list[Tensor] = []
        self._curves: dict[str, list[Reliability]] = {"inclusion": [], "resistive": [], "conductive": []}

    def add(self, outputs: Outputs, log_sigma: Float[Tensor, "samples nx ny"]) -> None:
        """Count a batch."""
        truth, found = classes(log_sigma), read_output(outputs)
        miss = (found.log_sigma - log_sigma).abs()
        inside = truth > 0
        count = inside.flatten(1).sum(1)
        rows = count > 0
        share = ((miss <= Z90 * found.deviation) & inside).flatten(1).sum(1)
        self._covered.append((share[rows] / count[rows]).double().cpu())
        hidden = torch.where(inside, miss, torch.nan).flatten(1)[rows]
        self._errors.append(hidden.nanmedian(1).values.double().cpu())
        log = outputs[:, :CLASSES].log_softmax(1)
        for k, name in ((1, "resistive"), (2, "conductive")):
            logit = log[:, k] - torch.log1p(-log[:, k].exp().clamp(max=1 - 1e-7))
            self._curves[name].append(calibration.reliability(logit, (truth == k).float()))
        logits = inclusion_logit(outputs)[:, 0]
        self._curves["inclusion"].append(calibration.reliability(logits, inside.float()))

    def summary(self) -> dict[str, float]:
        """The errors of log σ inside, the share of the inside that the 90 % intervals hold, the calibration errors.

        The first is the median over samples of the medians over nodes; the first two are of samples with something
        in them.
        """
        errors, covered = torch.cat(self._errors), torch.cat(self._covered)
        known = {
            "sigma_median_error": _median(errors),
            "coverage": float(covered.mean()) if len(covered) else torch.nan,
        }
        for name, curves in self._curves.items():
            known[f"calibration_{name}"] = float(calibration.join(curves).error())
        return known


def _median(values: Float64[Tensor, "values"]) -> float:
    return float(values.median()) if len(values) else torch.nan
