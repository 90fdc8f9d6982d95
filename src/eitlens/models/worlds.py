"""The network for many worlds: three classes and log σ from the boundary data of any number of currents.

The flagship's design on the code of `eitlens.feature.scaled`, with the five outputs of `models.tank`: logits of the
background, of what conducts worse and of what conducts better than the body, and mean and log deviation of log σ.
"""

import torch
from torch import Tensor
from torch.nn import functional as fn

from eitlens.feature import scaled
from eitlens.models.base import Preset
from eitlens.models.flagship import Flagship, FlagshipConfig
from eitlens.models.tank import CLASSES, LARGEST_SIGMA, LOG_DEVIATIONS
from eitlens.phantom.raster import classes

_SIGMA_SHARE = 0.02
"""Of the likelihood of log σ in the loss, as for tanks: the classes come first."""


class Worlds(Flagship):
    """Codes (B, 3K + 3) ↦ five numbers a node (B, 5, size, size); see the module."""

    reads = scaled.KIND
    phased = True

    def inclusion(self, outputs: Tensor) -> Tensor:
        """The logit of a node being resistive or conductive."""
        return inclusion_logit(outputs)


def inclusion_logit(outputs: Tensor) -> Tensor:
    """From the logits of three classes (and more outputs) to that of not being background, (B, 1, …)."""
    return torch.logsumexp(outputs[:, 1:CLASSES], 1, keepdim=True) - outputs[:, :1]


def phase_loss(outputs: Tensor, log_sigma: Tensor) -> Tensor:
    """The cross entropy of the classes, and a little of the likelihood of log σ, (B, 1, …), per node."""
    logits, mean, log_deviation = torch.split(outputs, [CLASSES, 1, 1], 1)
    entropy = fn.cross_entropy(logits, classes(log_sigma[:, 0]))
    truth = log_sigma.clamp(-LARGEST_SIGMA, LARGEST_SIGMA)
    log_deviation = log_deviation.clamp(*LOG_DEVIATIONS)
    miss = ((mean - truth) * torch.exp(-log_deviation)).square() / 2 + log_deviation
    return entropy + _SIGMA_SHARE * miss.mean()


PRESETS = {
    "worlds": Preset("Worlds", Worlds, FlagshipConfig(outputs=CLASSES + 2, levels=scaled.LEVELS), 13_545_261),
}
