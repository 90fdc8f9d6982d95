"""Example images of a trained network and of its latents, small enough to keep beside its scores.

Weights of a dozen networks are too large to keep; 8-bit images of four test samples are 30 kB and show the same.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from eitlens import random
from eitlens.dataset import Samples
from eitlens.errors import InputError
from eitlens.evaluate.score import SEED
from eitlens.feed import Noise
from eitlens.models.trained import Trained

COUNT = 4  # samples: a row of a figure
CHANNELS = 4  # of each level of latents: as many columns
_BLACK = 1e-12  # the least range of values that is stretched to an image
_PREFIX = "latent "


@dataclass(frozen=True)
class Examples:
    """Images of test samples.

    Attributes:
        index: numbers of the samples in their data set.
        tau: noise level of the data.
        images: probability of inclusion, to 1/255.
        latents: by level (`down/128`, …), a few channels of the first sample, each from 0 (its least value) to 1.
    """

    index: list[int]
    tau: float
    images: Float[Tensor, "samples nx ny"]
    latents: dict[str, Float[Tensor, "channels size size"]]

    def write(self, path: Path) -> None:
        """Write a NumPy archive."""
        arrays: dict[str, Any] = {_PREFIX + name: _bytes(level) for name, level in self.latents.items()}
        np.savez_compressed(
            path, index=np.array(self.index), tau=np.array(self.tau), images=_bytes(self.images), **arrays
        )

    @staticmethod
    def read(path: Path) -> "Examples":
        """Read a NumPy archive."""
        try:
            with np.load(path, allow_pickle=False) as file:
                parts = {name: file[name] for name in file.files}
            latents = {
                name.removeprefix(_PREFIX): _fractions(part)
                for name, part in parts.items()
                if name.startswith(_PREFIX)
            }
            index, tau = parts["index"].tolist(), float(parts["tau"])
            return Examples(index, tau, _fractions(parts["images"]), latents)
        except (OSError, ValueError, KeyError) as error:
            raise InputError(f"{path}: not a file of examples ({error}): train the cell again") from None


@torch.no_grad()
def make_examples(trained: Trained, samples: Samples, tau: float) -> Examples:
    """Make the images of the first test samples, with the noise they have in `score`."""
    first = samples[slice(0, COUNT)]
    clean = first.difference[:, : trained.currents.count]
    data = Noise((tau,)).apply(clean, SEED, 0, first.index)
    images = torch.sigmoid(trained(data)).cpu()
    levels = trained.network.latents(trained.features(data[:1].to(trained.device)))
    kept = {name: _normalised(_random_channels(levels[name][0].float().cpu())) for name in shown(levels)}
    return Examples(first.index.tolist(), tau, images, kept)


def shown(levels: dict[str, Tensor]) -> list[str]:
    """Names of three levels: the first, the coarsest (the last of several, after its attention), and the next.

    A network on one grid has no coarse level, and its fine ones would take most of the file: none is shown.
    """
    names = [name for name in levels if name != "logits"]
    sizes = [levels[name].shape[-1] for name in names]
    if len(set(sizes)) == 1:
        return []
    coarsest = max(k for k, size in enumerate(sizes) if size == min(sizes))
    return list(dict.fromkeys([names[0], names[coarsest], names[min(coarsest + 1, len(names) - 1)]]))


def _random_channels(level: Tensor) -> Tensor:
    """A few channels drawn at random, the same in every call."""
    order = random.uniform(SEED, torch.zeros(1, dtype=torch.int64), len(level))[0].argsort()
    return level[order[:CHANNELS]]


def _normalised(level: Tensor) -> Tensor:
    low, high = level.amin((1, 2), keepdim=True), level.amax((1, 2), keepdim=True)
    return (level - low) / (high - low).clamp(min=_BLACK)


def _bytes(values: Tensor) -> np.ndarray:
    return (255 * values).round().to(torch.uint8).numpy()


def _fractions(values: np.ndarray) -> Tensor:
    return torch.from_numpy(values).float() / 255
