"""What a network says of each pixel in the three tasks: its loss, and the image of σ of the least expected L1 error.

The published measure is Σ |σ̂ - σ| / Σ σ over the square, σ̂ = 1 outside the disk. So the best σ̂ at a place is the median
of what σ can be there, each sample weighted by 1 / Σ σ. Of two phases the median is the likelier one. So the network is
trained for probabilities, by cross entropy, and the image is 1 or 100. Of three phases it is the resistor or the
conductor where that is likelier than all else together; their values are fitted in L1. A smooth σ is fitted in L1
itself.
"""

from abc import ABC, abstractmethod
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn import functional as fn

from eitlens.phantom.disk_images import LognormalTask, ShapeTask, ThreePhaseTask, radii


class Head(ABC):
    """From outputs (B, outputs, n, n) to a loss and to σ; `fields` are the images that begin as linear estimates."""

    outputs: ClassVar[int]
    start: ClassVar[list[list[float]]]
    """How the outputs begin: (outputs, fields) factors of the linear estimates; outputs of phases are logits."""
    offset: ClassVar[list[float]]

    @abstractmethod
    def targets(self, sigma: Tensor) -> Tensor:
        """The images (B, fields, n, n) that are estimated linearly."""

    @abstractmethod
    def loss(self, outputs: Tensor, sigma: Tensor, inside: Tensor) -> Tensor:
        """The loss over the pixels of the disk."""

    @abstractmethod
    def sigma(self, outputs: Tensor) -> Tensor:
        """The image (B, n, n)."""

    @abstractmethod
    def linear_sigma(self, estimates: Tensor) -> Tensor:
        """The image from linear estimates of the targets alone."""


def sample_weights(sigma: Tensor) -> Tensor:
    """1 / mean σ of each sample, of mean 1 over the batch."""
    weight = 1 / sigma.flatten(1).mean(1)
    return weight / weight.mean()


class TwoPhases(Head):
    """The logit of σ = 100."""

    outputs = 1
    start: ClassVar[list[list[float]]] = [[6.0]]
    offset: ClassVar[list[float]] = [-3.0]

    def targets(self, sigma: Tensor) -> Tensor:
        """Where σ = 100."""
        return (sigma > 1)[:, None].to(sigma)

    def loss(self, outputs: Tensor, sigma: Tensor, inside: Tensor) -> Tensor:
        """Weighted cross entropy."""
        each = fn.binary_cross_entropy_with_logits(outputs, self.targets(sigma), reduction="none")
        return (each[:, 0, inside].mean(1) * sample_weights(sigma)).mean()

    def sigma(self, outputs: Tensor) -> Tensor:
        """The likelier of both."""
        return torch.where(outputs[:, 0] > 0, ShapeTask.contrast, 1.0)

    def linear_sigma(self, estimates: Tensor) -> Tensor:
        """The nearer of both."""
        return torch.where(estimates[:, 0] > 0.5, ShapeTask.contrast, 1.0)


class ThreePhases(Head):
    """Logits of resistor and conductor against the background, and log σ of either."""

    outputs = 4
    start: ClassVar[list[list[float]]] = [[6.0, 0, 0], [0, 6.0, 0], [0, 0, 0], [0, 0, 0]]
    offset: ClassVar[list[float]] = [-3.0, -3.0, -1.3, 1.7]  # medians of log σ of the phases
    _VALUES = 0.3  # of the errors of log σ in the loss

    def targets(self, sigma: Tensor) -> Tensor:
        """Where a resistor is, where a conductor, and log σ."""
        return torch.stack([(sigma < 1).to(sigma), (sigma > 1).to(sigma), sigma.log()], 1)

    def loss(self, outputs: Tensor, sigma: Tensor, inside: Tensor) -> Tensor:
        """Weighted cross entropy, and the errors of log σ where a phase is."""
        logits = torch.cat([torch.zeros_like(outputs[:, :1]), outputs[:, :2]], 1)
        classes = (sigma < 1).long() + 2 * (sigma > 1).long()
        entropy = fn.cross_entropy(logits, classes, reduction="none")[:, inside].mean(1)
        error = (outputs[:, 2:] - sigma.log()[:, None]).abs()
        miss = torch.where(sigma < 1, error[:, 0], torch.where(sigma > 1, error[:, 1], 0.0))
        return ((entropy + self._VALUES * miss[:, inside].mean(1)) * sample_weights(sigma)).mean()

    def sigma(self, outputs: Tensor) -> Tensor:
        """The median."""
        logits = torch.cat([torch.zeros_like(outputs[:, :1]), outputs[:, :2]], 1)
        _, resistor, conductor = logits.float().softmax(1).unbind(1)
        low, high = outputs[:, 2].exp(), outputs[:, 3].exp()
        return torch.where(resistor > 0.5, low, torch.where(conductor > 0.5, high, 1.0))

    def linear_sigma(self, estimates: Tensor) -> Tensor:
        """The median values of the phases, where their indicators are above ½."""
        low, high = (sum(ThreePhaseTask.ranges[name]) / 2 for name in ("resistor", "conductor"))
        return torch.where(
            estimates[:, 0] > 0.5,
            low,
            torch.where(estimates[:, 1] > 0.5, high, torch.ones_like(estimates[:, 0])),
        )


class SmoothLog(Head):
    """The logarithm of σ."""

    outputs = 1
    start: ClassVar[list[list[float]]] = [[1.0]]
    offset: ClassVar[list[float]] = [0.0]

    def targets(self, sigma: Tensor) -> Tensor:
        """Its logarithm."""
        return sigma.log()[:, None]

    def loss(self, outputs: Tensor, sigma: Tensor, inside: Tensor) -> Tensor:
        """The measure itself, but for what lies outside the disk, where nothing can be missed."""
        miss = (outputs[:, 0].exp() - sigma).abs()[:, inside].sum(1)
        return (miss / sigma.flatten(1).sum(1)).mean()

    def sigma(self, outputs: Tensor) -> Tensor:
        """The exponential."""
        return outputs[:, 0].exp()

    def linear_sigma(self, estimates: Tensor) -> Tensor:
        """The exponential."""
        return estimates[:, 0].exp()


HEADS: dict[str, Head] = {
    ShapeTask.name: TwoPhases(),
    ThreePhaseTask.name: ThreePhases(),
    LognormalTask.name: SmoothLog(),
}


def relative_l1(found: Tensor, truth: Tensor) -> dict[str, float]:
    """Mean relative L1 errors with σ̂ = 1 outside the disk: over the square, as published, and over the disk alone."""
    outside = radii(truth.shape[-1], truth.device) > 1
    miss = torch.where(outside, 1.0, found.double()) - truth
    total, disk = truth.flatten(1).sum(1), torch.where(outside, 0.0, truth).flatten(1).sum(1)
    error = miss.abs().flatten(1).sum(1)
    each = error / total
    return {
        "relative_l1": float(each.mean()),
        "standard_error": float(each.std(correction=0) / len(each) ** 0.5),
        "relative_l1_disk": float((error / disk).mean()),
    }
