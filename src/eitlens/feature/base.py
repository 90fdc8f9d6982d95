"""The input of a network: everything between boundary data and the network.

An input is fitted to training data, travels with the weights, and turns differences f - f0 into the tensor that
the network reads. A new one is a class that derives from `Input`; `eit.register("input", name, cls)` gives it a name.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, Self

import torch
from safetensors.torch import save
from torch import Tensor

from eitlens.domain import Domain
from eitlens.domain.bodies import BODIES
from eitlens.files import write_atomically, write_json
from eitlens.forward.base import Data
from eitlens.forward.currents import CurrentsConfig

JSON, TENSORS = "features.json", "features.safetensors"
"""The files of an input beside the weights of its network."""


class Reading(NamedTuple):
    """The tensor that a network is fed with, and the noise level τ of each sample where the input knows it."""

    seen: Tensor
    noise: Tensor | None


@dataclass(frozen=True)
class InputRecipe:
    """The settings of an input in a training; a kind of input takes those that it needs.

    Attributes:
        n, body, currents: of the data.
        gradient, scale: of the fields (`Features`).
        modes: of the code (`Codes`).
        fewest: the fewest currents that are given in training, 0 for all of them.
    """

    n: int = 200
    body: str = "square"
    currents: CurrentsConfig = field(default_factory=CurrentsConfig)
    gradient: Literal["exact", "repo"] = "exact"
    scale: bool = False
    modes: int = 256
    fewest: int = 0


class Input(ABC):
    """A map from boundary data (B, L, N) to what a network reads, with the settings that belong to it."""

    n: int
    body: str
    currents: CurrentsConfig
    absent: ClassVar[float] = 0.0
    """The value that stands in training data for a current that is not given."""
    parts: ClassVar[tuple[str, ...]] = ()
    """Names of its tensors."""
    replaces: ClassVar[str] = ""
    """The kind of input whose tensors its own are like: networks that read that one take it, too."""
    reads_gaps: ClassVar[bool] = False
    """Whether nodes that were not measured may be nan; if not, they are filled in before."""

    @classmethod
    @abstractmethod
    def fitted(cls, recipe: InputRecipe, samples: Callable[[int], Data]) -> Self:
        """The input for a training; `samples(count)` gives the data of up to so many training samples."""

    @abstractmethod
    def __call__(self, difference: Data) -> Tensor:
        """The tensor that the network reads, float32, for (B, L, N) differences; fewer currents are the first ones."""

    @abstractmethod
    def at(self, n: int) -> Self:
        """The same on a grid of n cells a side."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """The settings as plain JSON values; `kind` among them is the registered name (`harmonic` if left out)."""

    @classmethod
    @abstractmethod
    def from_parts(cls, values: dict[str, Any], tensors: Mapping[str, Tensor]) -> Self:
        """The inverse of `to_dict` and `tensors`, every value checked."""

    @property
    @abstractmethod
    def least_currents(self) -> int:
        """The fewest currents that may be given."""

    @property
    def domain(self) -> Domain:
        """The body that the data come from, with the grid of the image."""
        return BODIES[self.body].at(self.n)

    def read(self, difference: Data) -> Reading:
        """`__call__`, and what is learned about the noise on the way."""
        return Reading(self(difference), None)

    def to(self, device: torch.device) -> Self:
        """The same on another device."""
        return self

    def tensors(self) -> dict[str, Tensor]:
        """The tensors that are too large for JSON, by name."""
        return {}

    def steps_at_once(self, batch: int, device: torch.device) -> int:
        """For how many training steps of `batch` samples the input is best made at once."""
        return 1

    def save(self, folder: Path) -> None:
        """Write the input beside the weights of its network."""
        parts = {name: tensor.cpu().contiguous() for name, tensor in self.tensors().items()}
        if parts:
            write_atomically(folder / TENSORS, save(parts))
        write_json(folder / JSON, self.to_dict())
