"""From samples to what a training step takes, a pure function of (seed, epoch, samples)."""

from dataclasses import dataclass, field

import torch
from jaxtyping import Float32, Float64, Int64
from torch import Tensor

from eitlens.data.features import Features
from eitlens.data.noise import Noise
from eitlens.data.samples import Samples
from eitlens.data.symmetry import symmetries


@dataclass(frozen=True)
class Example:
    """A batch ready for the network."""

    features: Float32[Tensor, "samples channels nx ny"]
    target: Float32[Tensor, "samples 1 nx ny"]
    """1 at the nodes in the inclusion, 0 elsewhere."""
    index: Int64[Tensor, "samples"]
    difference: Float64[Tensor, "samples currents boundary"]
    """The boundary data the features were made of, moved and noisy."""


@dataclass(frozen=True)
class Pipeline:
    """How samples become examples.

    For training, `epoch` is the epoch: noise and symmetry are fresh each time. For validation and test it
    stays 0 and the noise is always the same. Everything happens on the samples' device.
    """

    features: Features
    noise: Noise = field(default_factory=Noise)
    augment: bool = False
    """Move each sample by a random symmetry of the square that its currents allow."""
    seed: int = 0

    @torch.no_grad()
    def __call__(self, samples: Samples, epoch: int = 0) -> Example:
        """The examples of some samples."""
        difference, mask = samples.difference, samples.mask
        if self.augment:
            moves = symmetries(self.features.n, self.features.currents, difference.device)
            choice = moves.choose(self.seed, epoch, samples.index)
            difference, mask = moves.move_data(difference, choice), moves.move_mask(mask, choice)
        difference = self.noise.apply(difference, self.seed, epoch, samples.index)
        return Example(self.features(difference), mask[:, None].to(torch.float32), samples.index, difference)
