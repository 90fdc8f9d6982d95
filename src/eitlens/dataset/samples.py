"""Samples of a data set in memory: boundary differences, masks as bits, log σ, and the phantoms they came from."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Bool, Float16, Float64, Int64, UInt8
from torch import Tensor

from eitlens.phantom import PhantomBatch
from eitlens.phantom.tensors import join

_WEIGHTS = (128, 64, 32, 16, 8, 4, 2, 1)  # of the eight nodes in a byte


@dataclass(frozen=True)
class Samples:
    """Some samples: what is measured (float64), what is to be seen (masks, packed to bits), what they are."""

    index: Int64[Tensor, "samples"]
    """The sample's number in its data set or stream: noise and augmentation are functions of it."""
    difference: Float64[Tensor, "samples *measured"]
    """f - f0, (samples, L, N); of a tank the change of the readings from those of the empty tank, (samples, R)."""
    packed: UInt8[Tensor, "samples bytes"]
    side: int
    """Nodes a side of the mask, n + 1."""
    phantoms: PhantomBatch | None
    """None when only the pictures are known, as in imported data."""
    log_sigma: Float16[Tensor, "samples nx ny"] | None = None
    """log σ/σ0 at the nodes, where the data set stores it; its mask then is where this is far from 0 (`classes`)."""

    def __len__(self) -> int:
        return len(self.index)

    def __getitem__(self, rows: slice | Tensor) -> "Samples":
        return self._mapped(lambda part: part[rows])

    @property
    def mask(self) -> Bool[Tensor, "samples nx ny"]:
        """Whether each node lies in the inclusion."""
        return unpack(self.packed, self.side)

    def to(self, device: torch.device) -> "Samples":
        """The samples on another device."""
        return self._mapped(lambda part: part.to(device))

    def _mapped(self, change: Callable[[Any], Any]) -> "Samples":
        """The samples with every tensor and the phantoms changed alike."""
        phantoms = None if self.phantoms is None else change(self.phantoms)
        log_sigma = None if self.log_sigma is None else change(self.log_sigma)
        index, difference, packed = (change(part) for part in (self.index, self.difference, self.packed))
        return Samples(index, difference, packed, self.side, phantoms, log_sigma)


def concatenate(parts: list[Samples]) -> Samples:
    """The samples of several parts, one after the other."""
    known = [part.phantoms for part in parts if part.phantoms is not None]
    sigma = [part.log_sigma for part in parts if part.log_sigma is not None]
    return Samples(
        torch.cat([part.index for part in parts]),
        torch.cat([part.difference for part in parts]),
        torch.cat([part.packed for part in parts]),
        parts[0].side,
        join(known) if len(known) == len(parts) else None,
        torch.cat(sigma) if len(sigma) == len(parts) else None,
    )


def pack(mask: Bool[Tensor, "samples nx ny"]) -> UInt8[Tensor, "samples bytes"]:
    """Eight nodes a byte, the first in the highest bit, in the order i (n+1) + j, zeros at the end."""
    flat = mask.flatten(1)
    flat = torch.nn.functional.pad(flat.to(torch.uint8), (0, -flat.shape[1] % 8))
    weights = torch.tensor(_WEIGHTS, dtype=torch.uint8, device=mask.device)
    return (torch.unflatten(flat, 1, (-1, 8)) * weights).sum(-1, dtype=torch.uint8)


def unpack(packed: UInt8[Tensor, "samples bytes"], side: int) -> Bool[Tensor, "samples {side} {side}"]:
    """The inverse of `pack`."""
    weights = torch.tensor(_WEIGHTS, dtype=torch.uint8, device=packed.device)
    bits = (packed[..., None] & weights).ne(0).flatten(1)
    return torch.unflatten(bits[:, : side * side], 1, (side, side))


def packed_size(side: int) -> int:
    """Bytes of one packed mask."""
    return -(-side * side // 8)
