"""The part of each phantom's posterior that is kept for pictures: some samples, the mean image, the best set.

The mean m is kept as the angle arcsin √m in 63 steps, so that neither m nor its spread √(m (1 - m)) is off by more
than 0.013, as differences along both axes, which deflate to half of what the values would; the set as bits.
48 phantoms then take some 400 kB.
"""

from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float64
from torch import Tensor

from limit import files
from limit.measurements import Cell

_STEPS = 63
_RIGHT = np.pi / 2


class Kept(NamedTuple):
    """Samples and images of all phantoms of a cell."""

    samples: Float64[Tensor, "phantoms samples ellipses 5"]
    mean: Float64[Tensor, "phantoms nx ny"]
    best: Bool[Tensor, "phantoms nx ny"]


def save(cell: Cell, kept: Kept) -> None:
    """Save beside the scores, as .npz."""
    angle = np.arcsin(np.sqrt(kept.mean.cpu().numpy().clip(0, 1)))
    levels = np.rint(angle * (_STEPS / _RIGHT)).astype(np.uint8)
    for axis in (1, 2):
        levels = np.diff(levels, axis=axis, prepend=np.uint8(0))
    np.savez_compressed(
        files.path(f"{cell.name}.npz"),
        samples=kept.samples.cpu().numpy().astype(np.float32),
        mean=levels,
        best=np.packbits(kept.best.cpu().numpy(), axis=2),
    )


def load(cell: Cell) -> Kept:
    """Load what `save` kept."""
    with np.load(files.path(f"{cell.name}.npz")) as found:
        levels, bits, samples = found["mean"], found["best"], found["samples"]
    for axis in (1, 2):
        levels = np.cumsum(levels, axis=axis, dtype=np.uint8)
    best = np.unpackbits(bits, axis=2, count=levels.shape[2]).astype(bool)
    mean = np.sin(levels * (_RIGHT / _STEPS)) ** 2
    return Kept(torch.from_numpy(samples).double(), torch.from_numpy(mean), torch.from_numpy(best))
