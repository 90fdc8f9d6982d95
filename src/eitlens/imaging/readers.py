"""Trained networks as readers. A new kind of network is a class here and a line in `OPENERS`."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from jaxtyping import Float
from torch import Tensor

from eitlens.domain import Domain
from eitlens.errors import InputError
from eitlens.feature import Codes
from eitlens.feature.codes import completed, packed
from eitlens.feature.few_points import few_code, is_few
from eitlens.feature.gaussian import Code
from eitlens.forward.base import Data
from eitlens.forward.currents import CurrentsConfig
from eitlens.imaging.reconstruction import Reader
from eitlens.models import shards
from eitlens.models.trained import Trained


@dataclass(frozen=True)
class TrainedReader:
    """A network of `eitlens train`.

    One that looks at φ and ∇φ needs every node, and all currents unless it was trained to do with fewer. One that
    reads codes takes as few as one of them, nodes that were not measured, and knows the noise.
    """

    trained: Trained

    @property
    def currents(self) -> CurrentsConfig:
        """The currents it was trained for."""
        return self.trained.features.currents

    @property
    def fewest(self) -> int:
        """As it was trained."""
        return self.trained.fewest

    @property
    def reads_gaps(self) -> bool:
        """Only as codes."""
        return isinstance(self.trained.features, Codes)

    @property
    def n(self) -> int:
        """The grid it was trained on."""
        return self.trained.features.n

    @property
    def domain(self) -> Domain:
        """The body it was trained for."""
        return self.trained.features.domain

    @property
    def device(self) -> torch.device:
        """Where it computes."""
        return self.trained.device

    def logits(self, difference: Data) -> Float[Tensor, "samples nx ny"]:
        """The network's logits."""
        code = self._code(difference) if is_few(difference) else None
        return self.trained(difference) if code is None else self.trained.read(packed(code))

    def noise_level(self, difference: Data) -> Float[Tensor, "samples"] | None:
        """The noise level in the code, where there is one."""
        code = self._code(difference)
        return None if code is None else code.tau.cpu()

    def _code(self, difference: Data) -> Code | None:
        """The code, by dense algebra where it is of few points (`eitlens.feature.few_points`); None for fields."""
        features, data = self.trained.features, difference.to(self.device)
        if not isinstance(features, Codes):
            return None
        if is_few(data):
            return few_code(features.prior, completed(data, features.currents.count))
        return features.code(data)


def _trained(folder: Path, name: str, device: torch.device) -> Reader:
    return TrainedReader(Trained.load(folder, name, device))


Opener = Callable[[Path, str, torch.device], Reader]
OPENERS: dict[str, Opener] = {"features.json": _trained}
"""How to open a folder, by the file that tells what is in it: (folder, name of the weights, device) ↦ reader."""


def open_folder(folder: Path, device: torch.device) -> Reader:
    """The reader in a run's folder or a shipped one: weights called `best`, or as the folder is.

    A run stopped before its first validation has none but its `last`.
    """
    names = ("best", folder.name, "last")
    name = next((one for one in names if shards.exists(folder / f"{one}.safetensors")), folder.name)
    for marker, opener in OPENERS.items():
        if (folder / marker).exists():
            return opener(folder, name, device)
    raise InputError(
        f"{folder}: no {' or '.join(OPENERS)} in it: is it a run of `eitlens train`, begun at least?"
    )
