"""A network: a map from features of the boundary data to an image of the inclusion.

Networks of the paper's kind read fields and work at any resolution. Their input holds, for L currents, the L
harmonic extensions φ_l and then their gradients, as channels [φ_1 … φ_L, ∂x φ_1 … ∂x φ_L, ∂y φ_1 … ∂y φ_L] on an n × n
grid of nodes; their output the logits z of the inclusion on the same grid: sigmoid(z) is the probability that a
node lies inside. A network of another kind `reads` another input (`eitlens.feature.base`).
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from eitlens.errors import InputError
from eitlens.feature.base import Input

CHANNELS_PER_CURRENT = 3  # φ, ∂x φ and ∂y φ
SMALLEST_GRID = 32  # nodes a side: on fewer the smallest inclusions of the paper are three cells across


class Network(nn.Module, ABC):
    """A network: features (B, 3L, n, n) ↦ logits (B, 1, n, n), for every n ≥ 32.

    Attributes:
        config: what it was built from, a frozen dataclass with at least the number L of `currents`.
        preset: the name it was created under; with `config`, all that is needed to build it again.
    """

    config: Any
    preset: str = ""
    reads: ClassVar[str] = "harmonic"
    """The kind of input it reads, by its registered name."""
    phased: ClassVar[bool] = False
    """Whether its outputs are those of `models.tank`: three classes, mean and log deviation of log σ."""

    @abstractmethod
    def latents(self, features: Tensor) -> dict[str, Tensor]:
        """Every level of the network by name, from input to output; the last is `logits`, the output itself.

        Names read `part/size`: `down/128` is the encoder at 128 × 128. Each value is (B, channels, size,
        size).
        """

    def random_input(self, batch: int, n: int, generator: torch.Generator | None = None) -> Tensor:
        """Noise of the shape of its input for n × n nodes: what costs and exports are measured with."""
        return torch.randn(batch, CHANNELS_PER_CURRENT * self.config.currents, n, n, generator=generator)

    def regions(self) -> list[nn.Module]:
        """The parts to compile one by one, where compiling the whole at once would repeat the same work."""
        return []

    def forward(self, features: Tensor) -> Tensor:
        """The logits."""
        return self.latents(features)["logits"]

    def on_grid(self, features: Tensor, nodes: int) -> Tensor:
        """The logits on nodes × nodes; networks of fields have the grid of their fields."""
        logits: Tensor = self(features)
        return logits

    def inclusion(self, outputs: Tensor) -> Tensor:
        """The logits of the inclusion (B, 1, n, n), where the network has more outputs than these."""
        return outputs

    def check_grid(self, n: int) -> None:
        """Refuse data of n cells a side that this network cannot be trained on."""

    def begin(self, given: Input) -> None:
        """Start from what the input of the training tells, where the network can."""


@dataclass(frozen=True)
class Published:
    """A row of the paper's cost table: GFLOPs by its profiler for a batch of 8, images a second, parameters."""

    layers: int
    width: int
    modes: int | None
    norm: str
    gflops: float | None = None
    speed: float | None = None
    parameters: str | None = None


@dataclass(frozen=True)
class Preset:
    """A named configuration of a network, with what the paper says about it where it does."""

    title: str
    build: type[Network]
    config: Any
    parameters: int = 0
    """The number of parameters, checked by the tests; 0 where nobody counted."""
    published: Published = Published(0, 0, None, "")


def check_multiple(name: str, value: int, of: int, why: str) -> None:
    """Refuse a setting of a network that is not a multiple of another."""
    if value % of:
        raise InputError(f"{name} must be a multiple of {of}, {why}, got {value}")


def check_features(features: Tensor, currents: int) -> Tensor:
    """Return `features` unless their shape cannot be what a network for so many currents reads."""
    expected = CHANNELS_PER_CURRENT * currents
    if features.ndim != 4 or features.shape[1] != expected:
        raise InputError(
            f"expected features of shape (batch, {expected}, n, n) for {currents} current(s), got "
            f"{tuple(features.shape)}: stack φ, ∂x φ and ∂y φ of each current, or create it with currents=L"
        )
    if features.shape[2] != features.shape[3] or features.shape[2] < SMALLEST_GRID:
        size = tuple(features.shape[2:])
        raise InputError(f"expected a square grid of at least {SMALLEST_GRID} nodes a side, got {size}")
    return features
