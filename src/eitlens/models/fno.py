"""The Fourier neural operator (Li et al., ICLR 2021): global convolutions of few modes, plus local maps.

u ↦ silu(F⁻¹(W F u) + A u + b), at the resolution of the input, without padding. Input: the features and two
coordinates.

Default and `faithful` differ in the start of W alone: the published standard deviation, near 3e-5, makes the
global convolution vanish beside the local map; ours, 1/√(2C), keeps the energy of the modes it acts on.
"""

from dataclasses import dataclass
from math import sqrt

import torch
from torch import Tensor, nn
from torch.nn import functional as fn

from eitlens.models.base import CHANNELS_PER_CURRENT, Network, Preset, Published, check_features
from eitlens.models.fourier import Modes, SpectralConv, all_modes, low_modes
from eitlens.models.layers import exact_linear, one_channel
from eitlens.models.position import coordinates


@dataclass(frozen=True)
class FNOConfig:
    """Configuration of a Fourier neural operator.

    Attributes:
        currents: number of currents in the input.
        width: channels C.
        modes: modes kept in each direction, of either sign along the rows.
        layers: number of spectral layers.
        dropout: share of the input of each global convolution left out in training.
        faithful: the published initialisation.
    """

    currents: int = 1
    width: int = 48
    modes: int = 14
    layers: int = 6
    dropout: float = 0.0
    faithful: bool = False


def with_coordinates(features: Tensor) -> Tensor:
    """The features (B, C, n, n) with the coordinates x and y as two more channels, as nodes (B, n, n, C + 2)."""
    nodes = features.permute(0, 2, 3, 1)
    grid = coordinates(features.shape[-1], features).to(features.dtype)
    return torch.cat([nodes, grid.expand(features.shape[0], -1, -1, -1)], dim=-1)


def spectral_std(width: int, modes: int, faithful: bool) -> float:
    """Standard deviation of W at the start; as published, Xavier's for a tensor of five axes, scaled."""
    if not faithful:
        return 1 / sqrt(2 * width)
    fans = 2 * width * modes * modes * 2
    return sqrt(2 * width) / width**2 * sqrt(2 / fans)


class SpectralLayer(nn.Module):
    """F⁻¹(W F u) + A u + b, followed by silu except in the last layer."""

    def __init__(self, config: FNOConfig, *, last: bool) -> None:
        super().__init__()
        self.spectral = SpectralConv(
            config.width, config.modes, spectral_std(config.width, config.modes, config.faithful)
        )
        self.local = nn.Linear(config.width, config.width)
        self.dropout = config.dropout
        self.last = last

    def forward(self, u: Tensor, modes: Modes) -> Tensor:
        """(B, n, n, C) to the same."""
        total: Tensor = self.local(u) + self.spectral(fn.dropout(u, self.dropout, self.training), modes)
        return total if self.last else fn.silu(total)


class Projection(nn.Module):
    """C ↦ 4C ↦ 1 channels with silu between: from the last layer to the logits."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.widen = nn.Linear(width, 4 * width)
        self.head = nn.Linear(4 * width, 1)

    def forward(self, u: Tensor) -> Tensor:
        """(B, n, n, C) ↦ (B, 1, n, n), in float32."""
        return one_channel(self.head, fn.silu(self.widen(u)), -1).permute(0, 3, 1, 2)


class FNO(Network):
    """A Fourier neural operator; see the module."""

    def __init__(self, config: FNOConfig) -> None:
        super().__init__()
        self.config = config
        self.lift = nn.Linear(CHANNELS_PER_CURRENT * config.currents + 2, config.width)
        last = config.layers - 1
        self.layers = nn.ModuleList([SpectralLayer(config, last=index == last) for index in range(last + 1)])
        self.mixers = nn.ModuleList(self.token_mixers())
        self.project = Projection(config.width)

    def token_mixers(self) -> list[nn.Module]:
        """The modules that act on all modes, one after each layer; none here."""
        return []

    def latents(self, features: Tensor) -> dict[str, Tensor]:
        """`layer1/n`, `layer2/n`, …, each after its mixer if it has one, and `logits`."""
        u = exact_linear(self.lift, with_coordinates(check_features(features, self.config.currents)))
        n, device = features.shape[-1], features.device
        low, every = low_modes(n, self.config.modes, device), all_modes(n, device) if self.mixers else None
        levels: dict[str, Tensor] = {}
        for index, layer in enumerate(self.layers):
            u = layer(u, low)
            u = self.mixers[index](u, every) if self.mixers else u
            levels[f"layer{index + 1}/{n}"] = u.permute(0, 3, 1, 2)
        levels["logits"] = self.project(u)
        return levels


PRESETS = {
    "fno": Preset(
        "FNO",
        FNO,
        FNOConfig(),
        10_862_017,
        Published(6, 48, 14, "FFT", gflops=196.5, speed=235.4, parameters="10.86m"),
    ),
    "fno-big": Preset(
        "FNO big",
        FNO,
        FNOConfig(width=64, modes=16, layers=8, dropout=0.05),
        33_604_993,
        Published(8, 64, 16, "FFT"),
    ),
}
