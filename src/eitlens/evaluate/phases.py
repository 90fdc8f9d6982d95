"""Metrics of networks of three classes and log σ (`models.worlds`): how near outputs are to the true log σ.

Outputs are (B, 5, n, n): logits of background, resistive and conductive, mean and log deviation of log σ. The true
classes are those of `phantom.raster.classes`. What is seen as an inclusion is what is not background.
"""

from collections.abc import Iterator

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
INSIDE_METRICS = ("sigma_inside", "coverage", "deviation_inside")
"""Over the nodes of a sample that are not background: the median of |mean - log σ|, the share of nodes whose log σ lies
in the 90 % interval, and the median of the deviation that the network gives."""
CURVES = ("inside", "resistive", "conductive")
"""Whose probabilities are compared with what is so."""
HEADS = {
    "dice_resistive": "Dice, resistive",
    "dice_conductive": "Dice, conductive",
    "class_entropy": "cross entropy of classes",
    "sigma_error": "error of log σ, rms",
    "sigma_inside": "error of log σ inside",
    "coverage": "90 % interval holds",
    "deviation_inside": "deviation of log σ inside",
}
"""The names for readers."""
Z90 = 1.6449
"""Deviations to either side that hold 90 % of a normal distribution."""


def phased_metrics(outputs: Outputs, log_sigma: Sigma) -> dict[str, PerSample]:
    """Every metric of `METRICS` for the inclusion, with the network's own σ in `relative_l2`, and `PHASE_METRICS`."""
    truth = classes(log_sigma[:, 0])
    mask = (truth > 0)[:, None].to(outputs.dtype)
    found = per_sample(inclusion_logit(outputs), mask) | _class_metrics(outputs, truth, log_sigma)
    return found | {"relative_l2": _relative_l2(outputs[:, CLASSES], log_sigma[:, 0])}


def _relative_l2(mean: Tensor, log_sigma: Tensor) -> PerSample:
    """|σ̂ - σ| / |σ| with σ̂ = exp of the mean of log σ."""
    sigma, found = (part.flatten(1).double().exp() for part in (log_sigma, mean))
    return ((found - sigma).square().sum(1) / sigma.square().sum(1)).sqrt()


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


class PhaseTally:
    """What is known of log σ and the classes over many samples: `add` each batch, then ask.

    >>> tally = PhaseTally()
    >>> tally.add(torch.zeros(2, 5, 8, 8), torch.ones(2, 8, 8))
    >>> tally.values()["coverage"].tolist()
    [1.0, 1.0]
    """

    def __init__(self) -> None:
        self._values: dict[str, list[Tensor]] = {name: [] for name in INSIDE_METRICS}
        self._curves: dict[str, list[Reliability]] = {name: [] for name in CURVES}

    def add(self, outputs: Outputs, log_sigma: Float[Tensor, "samples nx ny"]) -> None:
        """Count a batch."""
        truth, found = classes(log_sigma), read_output(outputs)
        inside = (truth > 0).flatten(1)
        miss = (found.log_sigma - log_sigma).abs().flatten(1)
        some = inside.any(1)
        errors = torch.where(inside, miss, torch.nan)[some].nanmedian(1).values
        covered = ((miss <= Z90 * found.deviation.flatten(1)) & inside)[some].sum(1) / inside[some].sum(1)
        deviations = torch.where(inside, found.deviation.flatten(1), torch.nan)[some].nanmedian(1).values
        for name, value in zip(INSIDE_METRICS, (errors, covered, deviations), strict=True):
            self._values[name].append(value.double().cpu())
        for name, logit, target in _binary(outputs, truth):
            self._curves[name].append(calibration.reliability(logit, target.float()))

    def values(self) -> dict[str, Float64[Tensor, "samples"]]:
        """The metrics of the inside of each sample that has something in it."""
        return {name: torch.cat(parts) for name, parts in self._values.items()}

    def curves(self) -> dict[str, Reliability]:
        """The reliability of the probabilities of a node being inside, resistive, conductive."""
        return {name: calibration.join(parts) for name, parts in self._curves.items()}


def _binary(outputs: Outputs, truth: Tensor) -> Iterator[tuple[str, Tensor, Tensor]]:
    """The logit of each of `CURVES`, and where it is true."""
    yield CURVES[0], inclusion_logit(outputs)[:, 0], truth > 0
    log = outputs[:, :CLASSES].double().log_softmax(1)
    for k, name in ((1, CURVES[1]), (2, CURVES[2])):
        rest = torch.logsumexp(log[:, [j for j in range(CLASSES) if j != k]], 1)
        yield name, log[:, k] - rest, truth == k
