"""U-Net (Ronneberger et al., 2015), the convolutional baseline, also with attention on its coarsest level.

Double convolutions (ReLU) on grids halved by maximum pooling, then transposed convolutions back up, each
joined with the encoder's latent of the same grid. With `coarse_attention` the double convolution of the
coarsest level is replaced by a depthwise convolution that doubles the channels and two attention blocks of
the U-Integral-Transformer; the paper gives its parameters to two digits but not its layout, and this one has
that many. `faithful` initialises that attention as published (`eitlens.models.uit`); nothing else differs.
"""

from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional as fn

from eitlens.errors import InputError
from eitlens.models.attention_blocks import AttentionConfig, CoarseAttention
from eitlens.models.base import CHANNELS_PER_CURRENT, Preset, Published
from eitlens.models.layers import DoubleConv
from eitlens.models.u_shaped import UShaped, UShapedConfig


@dataclass(frozen=True)
class UNetConfig(UShapedConfig):
    """Configuration of a U-Net.

    Attributes:
        levels: number of grids.
        coarse_attention: attention instead of convolutions on the coarsest grid.
    """

    levels: int = 4
    coarse_attention: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.faithful and not self.coarse_attention:
            raise InputError(
                "faithful=True changes nothing in a U-Net without coarse_attention: leave it out"
            )


class AttentionLevel(nn.Module):
    """C ↦ 2C channels by a depthwise convolution and batch norm, then two attention blocks."""

    def __init__(self, channels: int, size: int, config: AttentionConfig) -> None:
        super().__init__()
        self.lift = nn.Conv2d(channels, 2 * channels, 3, padding=1, groups=channels, bias=False)
        self.norm = nn.BatchNorm2d(2 * channels)
        self.blocks = nn.Sequential(*[CoarseAttention(2 * channels, size, config) for _ in range(2)])

    def forward(self, x: Tensor) -> Tensor:
        """(B, C, m, m) ↦ (B, 2C, m, m)."""
        y: Tensor = self.blocks(fn.relu(self.norm(self.lift(x))))
        return y


class UNet(UShaped):
    """A U-Net; see the module."""

    config: UNetConfig

    def __init__(self, config: UNetConfig) -> None:
        super().__init__()
        self.config = config
        widths = config.widths
        pairs = list(pairwise([CHANNELS_PER_CURRENT * config.currents, *widths]))
        self.down = nn.ModuleList([DoubleConv(a, b, fn.relu) for a, b in pairs[:-1]])
        self.down.append(self._coarsest(*pairs[-1]))
        self.rise = nn.ModuleList([nn.ConvTranspose2d(2 * c, c, 2, stride=2) for c in reversed(widths[:-1])])
        self.up = nn.ModuleList([DoubleConv(2 * c, c, fn.relu) for c in reversed(widths[:-1])])
        self.head = nn.Conv2d(config.width, 1, 1)

    def _coarsest(self, inputs: int, outputs: int) -> nn.Module:
        if not self.config.coarse_attention:
            return DoubleConv(inputs, outputs, fn.relu)
        return AttentionLevel(inputs, self.config.sizes[-1], AttentionConfig(faithful=self.config.faithful))

    def rise_to(self, index: int, fine: Tensor, coarse: Tensor) -> Tensor:
        """A transposed convolution, joined with the encoder's latent, and a double convolution."""
        x: Tensor = self.up[index](torch.cat([self.rise[index](coarse), fine], dim=1))
        return x


PRESETS = {
    "unet": Preset(
        "U-Net",
        UNet,
        UNetConfig(),
        7_700_161,
        Published(7, 64, None, "batch", gflops=140.6, speed=298.6, parameters="7.70m"),
    ),
    "unet-big": Preset(
        "U-Net big",
        UNet,
        UNetConfig(levels=5),
        31_037_633,
        Published(9, 64, None, "batch", gflops=184.1, speed=273.4, parameters="31.04m"),
    ),
    "unet-attention": Preset(
        "U-Net + coarse attention",
        UNet,
        UNetConfig(coarse_attention=True),
        8_404_161,
        Published(7, 64, None, "batch"),
    ),
}
