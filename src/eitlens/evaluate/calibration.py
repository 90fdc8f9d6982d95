"""Reliability of probabilities: of the nodes given 0.7, are 70 % inside?"""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Float64
from torch import Tensor

BINS = 15  # as in Guo, Pleiss, Sun and Weinberger (2017), for comparable errors


@dataclass(frozen=True)
class Reliability:
    """The number of nodes, Σ p and Σ t for each sample and each of equal bins of p in [0, 1].

    Sums, so that parts of a test set can be joined and samples drawn again without the images.
    """

    nodes: Float64[Tensor, "samples bins"]
    predicted: Float64[Tensor, "samples bins"]
    observed: Float64[Tensor, "samples bins"]

    def curve(self) -> tuple[Tensor, Tensor, Tensor]:
        """Mean probability, fraction truly inside, and share of all nodes, by bin; NaN where a bin is empty."""
        nodes = self.nodes.sum(0)
        return self.predicted.sum(0) / nodes, self.observed.sum(0) / nodes, nodes / nodes.sum()

    def error(self) -> float:
        """The expected calibration error Σ_b |Σ p - Σ t| / N over all nodes of all samples."""
        return float((self.predicted.sum(0) - self.observed.sum(0)).abs().sum() / self.nodes.sum())

    def errors(self, rows: Tensor) -> Tensor:
        """Calibration errors of several choices of samples, rows (choices, samples), as a bootstrap needs them."""
        gap = (self.predicted - self.observed)[rows].sum(1).abs().sum(-1)
        return gap / self.nodes[rows].sum((1, 2))


def reliability(
    logits: Float[Tensor, "samples *grid"], target: Float[Tensor, "samples *grid"]
) -> Reliability:
    """The sums for a batch of images, p = sigmoid(z)."""
    p, t = torch.sigmoid(logits.flatten(1).double()), target.flatten(1).double()
    place = (p * BINS).long().clamp(max=BINS - 1)
    empty = torch.zeros(len(p), BINS, dtype=torch.float64, device=p.device)
    sums = (empty.scatter_add(1, place, part).cpu() for part in (torch.ones_like(p), p, t))
    return Reliability(*sums)


def join(parts: list[Reliability]) -> Reliability:
    """The samples of several parts, one after the other."""
    names = ("nodes", "predicted", "observed")
    return Reliability(*(torch.cat([getattr(part, name) for part in parts]) for name in names))
