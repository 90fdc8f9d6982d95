"""The examples of a training step, made of samples: a pure function of (seed, epoch, samples)."""

from dataclasses import dataclass, field

import torch
from jaxtyping import Float32, Float64, Int64, Shaped
from torch import Tensor

from eitlens import random
from eitlens.dataset.samples import Samples
from eitlens.errors import InputError
from eitlens.feature.base import Input
from eitlens.feed.noise_levels import Noise
from eitlens.forward.base import Data
from eitlens.forward.symmetry import symmetries
from eitlens.random import mixed


@dataclass(frozen=True)
class Example:
    """A batch ready for the network."""

    features: Float32[Tensor, "samples channels nx ny"] | Float32[Tensor, "samples code"]
    target: Float32[Tensor, "samples 1 nx ny"]
    """1 at the nodes in the inclusion, 0 elsewhere; or log σ over that of the body."""
    index: Int64[Tensor, "samples"]
    difference: Float64[Tensor, "samples currents boundary"]
    """The boundary data the features were made of, moved and noisy."""

    def split(self, count: int) -> list["Example"]:
        """Batches of `count` samples."""
        parts = (
            torch.split(part, count) for part in (self.features, self.target, self.index, self.difference)
        )
        return [Example(*tensors) for tensors in zip(*parts, strict=True)]


@dataclass(frozen=True)
class Pipeline:
    """A function from samples to examples.

    For training, `epoch` is the epoch: noise and symmetry are fresh each time. For validation and test it
    stays 0 and the noise is always the same. Everything happens on the samples' device.
    """

    features: Input
    noise: Noise = field(default_factory=Noise)
    augment: bool = False
    """Move each sample by a random symmetry of the body that its currents allow."""
    counts: tuple[int, ...] = ()
    """Numbers of currents, one of which each sample keeps; empty for all."""
    seed: int = 0
    """Of the noise and the symmetries."""
    sigma: bool = False
    """Whether the target is log σ, not the mask."""

    @torch.no_grad()
    def __call__(self, samples: Samples, epoch: int = 0) -> Example:
        """The examples of some samples."""
        difference, image = samples.difference, self._image(samples)
        if self.augment:
            moves = symmetries(self.features.domain, self.features.currents, difference.device)
            choice = moves.choose(self.seed, epoch, samples.index)
            difference, image = moves.move_data(difference, choice), moves.move_image(image, choice)
        difference = self.noise.apply(difference, self.seed, epoch, samples.index)
        if self.counts:
            difference = self._fewer(difference, epoch, samples.index)
        return Example(self.features(difference), image[:, None].to(torch.float32), samples.index, difference)

    def _image(self, samples: Samples) -> Shaped[Tensor, "samples nx ny"]:
        if not self.sigma:
            return samples.mask
        if samples.log_sigma is None:
            raise InputError("this training needs σ of its samples: generate the data with sigma=true")
        return samples.log_sigma

    def _fewer(self, difference: Data, epoch: int, index: Int64[Tensor, "samples"]) -> Data:
        """The data less the currents that a sample leaves out: nan in a code, zero channels otherwise."""
        u = random.uniform(mixed(self.seed, "currents", epoch), index, 1)[:, 0]
        counts = torch.tensor(self.counts, device=index.device)[(u * len(self.counts)).long()]
        absent = torch.arange(difference.shape[1], device=index.device) >= counts[:, None]
        return difference.masked_fill(absent[..., None], self.features.absent)
