"""A trained network with its input: from boundary data to an image."""

import hashlib
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from eitlens import models
from eitlens.device import float32_products
from eitlens.domain import Domain
from eitlens.domain.base import CPU
from eitlens.errors import InputError
from eitlens.feature.base import JSON, TENSORS, Input
from eitlens.feature.storage import read_input
from eitlens.files import copy_files
from eitlens.forward.base import Data
from eitlens.forward.currents import CurrentsConfig
from eitlens.forward.symmetry import Symmetries, symmetries
from eitlens.models import Network, shards

_MIXED = 1e-6  # of a value: what rounding mixes of one current into another is less
BATCH = 64
"""Images at once: larger batches are no faster on a CPU and take memory."""


class Answer(NamedTuple):
    """The network's outputs, the logits of the inclusion, and the noise level τ where the input knows it."""

    logits: Float[Tensor, "samples nx ny"]
    noise: Float[Tensor, "samples"] | None
    outputs: Float[Tensor, "samples outputs nx ny"]


@dataclass(frozen=True)
class Trained:
    """A trained network with its input: boundary differences (B, L, N) ↦ logits on the grid of its body.

    Some networks take any number of the currents from `fewest` up: `reading` says how many it is to be given.
    """

    network: Network
    features: Input
    device: torch.device = CPU
    count: int = 0
    """Currents it is given; 0 for all."""
    symmetries: bool = False
    """Whether an image is the mean of those of the body and its mirror images, moved back."""

    @property
    def currents(self) -> CurrentsConfig:
        """The currents it is given."""
        known = self.features.currents
        return replace(known, count=self.count or known.count)

    @property
    def fewest(self) -> int:
        """The fewest currents it may be given."""
        return self.features.least_currents

    @property
    def n(self) -> int:
        """Cells a side of its grid."""
        return self.features.n

    @cached_property
    def domain(self) -> Domain:
        """The body it was trained for: it reads values at its boundary nodes and draws its grid."""
        return self.features.domain

    @property
    def digest(self) -> str:
        """A name for exactly these weights and their 8-bit copy (`save_compact`): which scores are of one network.

        The name of the file does not tell: the best weights of a run that goes on are others later.
        """
        found = hashlib.sha256()
        for name, tensor in sorted(shards.compacted(self.network.state_dict()).items()):
            found.update(name.encode() + tensor.cpu().flatten().view(torch.uint8).numpy().tobytes())
        return found.hexdigest()[:16]

    @staticmethod
    def open(folder: str | Path, device: torch.device = CPU) -> "Trained":
        """The network in a run's folder or a shipped one: weights called `best`, or as the folder is.

        A run stopped before its first validation has none but its `last`.
        """
        folder = Path(folder)
        names = ("best", folder.name, "last")
        name = next((one for one in names if shards.exists(folder / f"{one}.safetensors")), folder.name)
        return Trained.load(folder, name, device)

    @staticmethod
    def load(folder: str | Path, name: str = "best", device: torch.device = CPU) -> "Trained":
        """Load `name`.safetensors with its .json, and features.json, from a run's folder."""
        folder = Path(folder)
        if not (folder / JSON).exists():
            raise InputError(f"{folder}: no {JSON} in it: is it a run of `eitlens train`, begun at least?")
        network, features = models.load(folder / f"{name}.safetensors", device), read_input(folder)
        if network.config.currents != features.currents.count:
            raise InputError(
                f"{folder}: the network reads {network.config.currents} currents, features.json says "
                f"{features.currents.count}: do they belong together?"
            )
        return Trained(network, features.to(device), device)

    def at(self, n: int) -> "Trained":
        """The same network on a grid of n cells a side."""
        return replace(self, features=self.features.at(n))

    def reading(self, count: int) -> "Trained":
        """The same network for the first `count` currents alone."""
        most = self.features.currents.count
        if not self.fewest <= count <= most:
            wanted = str(most) if self.fewest == most else f"{self.fewest} to {most}"
            raise InputError(f"this network reads {wanted} currents, not {count}")
        return replace(self, count=count)

    @torch.no_grad()
    def __call__(self, difference: Data) -> Float[Tensor, "samples nx ny"]:
        """The logits, in float32 throughout, so that a score does not depend on where it was computed."""
        rows = torch.split(difference.to(self.device), BATCH)
        return torch.cat([self.inclusion(self._outputs(part)) for part in rows])

    def answer(self, difference: Data) -> Answer:
        """The logits and the noise level, from one evaluation of the input."""
        parts, levels = [], []
        for part in torch.split(difference.to(self.device), BATCH):
            reading = self.features.read(part)
            levels += [] if reading.noise is None else [reading.noise]
            parts.append(self._outputs(part) if self.symmetries else self.read(reading.seen))
        outputs = torch.cat(parts)
        noise = torch.cat(levels).cpu() if levels else None
        return Answer(self.inclusion(outputs), noise, outputs)

    @torch.no_grad()
    def outputs(self, difference: Data) -> Float[Tensor, "samples outputs nx ny"]:
        """All outputs of the network."""
        return torch.cat([self._outputs(part) for part in torch.split(difference.to(self.device), BATCH)])

    @torch.no_grad()
    @float32_products(tf32=False)
    def read(self, seen: Tensor) -> Float[Tensor, "samples outputs nx ny"]:
        """All outputs for the input tensor of the network itself."""
        return self.network.on_grid(seen, self.domain.shape[0])

    def inclusion(self, outputs: Tensor) -> Float[Tensor, "samples nx ny"]:
        """The logits of the inclusion, which are all that most networks give."""
        return (self.network.inclusion(outputs) if self.network.phased else outputs)[:, 0]

    def _outputs(self, difference: Data) -> Float[Tensor, "samples outputs nx ny"]:
        """The outputs of some samples, or their mean over mirror images."""
        if not self.symmetries:
            return self.read(self.features(difference))
        moves = symmetries(self.domain, self.currents, difference.device)
        total: Tensor | None = None
        for k, back in enumerate(moves.inverses):
            choice = torch.full((len(difference),), k, device=difference.device)
            found = self.read(self.features(_moved(moves, difference, choice)))
            image = moves.move_image(
                found.flatten(0, 1), torch.full_like(choice, back).repeat_interleave(found.shape[1])
            )
            image = image.view(found.shape) / len(moves.names)
            total = image if total is None else total + image
        assert total is not None
        return total


def _moved(moves: Symmetries, difference: Data, choice: Tensor) -> Data:
    """The data of the moved bodies; what is made of a missing value (nan) is missing."""
    missing = torch.isnan(difference)
    moved = moves.move_data(torch.nan_to_num(difference), choice)
    if not bool(missing.any()):
        return moved
    return moved.masked_fill(moves.move_data(missing.double(), choice).abs() > _MIXED, torch.nan)


def save_compact(folder: Path, name: str, target: Path) -> Path:
    """Copy weights in 8 bits and shards of at most 15 MB, with their features; `Trained.load` reads them."""
    weights = models.save(models.load(folder / f"{name}.safetensors"), target / name, compact=True)
    copy_files((file for file in (folder / JSON, folder / TENSORS) if file.exists()), target)
    return weights
