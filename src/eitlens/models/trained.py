"""A trained network with what it is fed with: from boundary data to an image."""

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from jaxtyping import Float
from torch import Tensor

from eitlens import models
from eitlens.device import float32_products
from eitlens.domain.base import CPU
from eitlens.errors import InputError
from eitlens.feature import Codes, Features
from eitlens.feature.storage import JSON, TENSORS, read_inputs
from eitlens.forward.base import Data
from eitlens.forward.currents import CurrentsConfig
from eitlens.models import Network, shards
from eitlens.models.flagship import Flagship

BATCH = 64


@dataclass(frozen=True)
class Trained:
    """Boundary differences (B, L, 4n) ↦ logits (B, n+1, n+1), at the n of its features.

    Some networks take any number of the currents from `fewest` up: `reading` says how many it is to be given.
    """

    network: Network
    features: Features | Codes
    device: torch.device = CPU
    count: int = 0
    """Currents it is given; 0 for all."""

    @property
    def currents(self) -> CurrentsConfig:
        """The currents it is given."""
        known = self.features.currents
        return replace(known, count=self.count or known.count)

    @property
    def fewest(self) -> int:
        """The fewest currents it may be given."""
        return 1 if isinstance(self.features, Codes) else self.features.fewest or self.features.currents.count

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
    def load(folder: str | Path, name: str = "best", device: torch.device = CPU) -> "Trained":
        """From a run's folder: `name`.safetensors with its .json, and features.json."""
        folder = Path(folder)
        weights = folder / f"{name}.safetensors"
        if not shards.exists(weights):
            raise InputError(
                f"{weights}: no such file: is {folder} a run of `eitlens train`, begun at least?"
            )
        network = models.load(weights)
        features = read_inputs(folder)
        if network.config.currents != features.currents.count:
            raise InputError(
                f"{folder}: the network reads {network.config.currents} currents, features.json says "
                f"{features.currents.count}: do they belong together?"
            )
        if isinstance(features, Codes):
            features = features.to(device)
        return Trained(network.to(device).eval(), features, device)

    def at(self, n: int) -> "Trained":
        """The same on a grid of n cells a side."""
        moved = self.features.at(n) if isinstance(self.features, Codes) else replace(self.features, n=n)
        return replace(self, features=moved)

    def reading(self, count: int) -> "Trained":
        """The same, given the first `count` currents."""
        most = self.features.currents.count
        if not self.fewest <= count <= most:
            wanted = str(most) if self.fewest == most else f"{self.fewest} to {most}"
            raise InputError(f"this network reads {wanted} currents, not {count}")
        return replace(self, count=count)

    @torch.no_grad()
    def __call__(self, difference: Data) -> Float[Tensor, "samples nx ny"]:
        """The logits, in float32 throughout, so that a score does not depend on where it was computed."""
        rows = torch.split(difference.to(self.device), BATCH)
        return torch.cat([self.read(self.features(part)) for part in rows])

    @torch.no_grad()
    @float32_products(tf32=False)
    def read(self, seen: Tensor) -> Float[Tensor, "samples nx ny"]:
        """The logits of what the network itself is fed with: fields or codes."""
        network = self.network
        logits: Tensor = (
            network(seen, self.features.domain.shape[0]) if isinstance(network, Flagship) else network(seen)
        )
        return logits[:, 0]


def save_compact(folder: Path, name: str, target: Path) -> Path:
    """Copy weights in 8 bits and shards of at most 15 MB, with their features; `Trained.load` reads them."""
    weights = models.save(models.load(folder / f"{name}.safetensors"), target / name, compact=True)
    for file in (folder / JSON, folder / TENSORS):
        if file.exists():
            (target / file.name).write_bytes(file.read_bytes())
    return weights
