"""The U-Integral-Transformer of Guo, Cao and Chen (ICLR 2023) and the two U-Transformers it is compared with.

An encoder of double convolutions (GELU) on grids of r, r/2, r/4, r/8 nodes a side with w, 2w, 4w, 8w
channels; attention on the coarsest grid; then three times a cross-attention from the coarse to the next finer
grid and a double convolution (ReLU). Between grids: bilinear interpolation. The encoder's latent reaches the
decoder through the integral alone: there is no skip at full resolution, except in the gated variant.

What the default does differently from the published code, apart from its speed (`faithful=True` undoes it):

- separable convolutions start with unit gain. The published gain of 0.01, applied twice, puts queries and
  keys at 1e-5, below the square root of the norm's eps: the norms do not normalise, the integral is 1e-16
  beside a shortcut of 1e-5, and the logits do not depend on the data until Adam has revived the weights;
- the norms in the attention use eps = 1e-5 instead of 1e-6;
- no dropout on the M × M kernel, which is never formed. The dropout on the block's output stays.

`uit-softmax` leaves out the norms of the block on the coarsest grid, as published, besides taking the
softmax.
"""

from dataclasses import dataclass
from itertools import pairwise

from torch import Tensor, nn
from torch.nn import functional as fn

from eitlens.models.attention_blocks import AttentionConfig, CoarseAttention, CrossAttention
from eitlens.models.base import CHANNELS_PER_CURRENT, Preset, Published, check_multiple
from eitlens.models.layers import DoubleConv
from eitlens.models.resize import resize
from eitlens.models.u_shaped import UShaped, UShapedConfig


@dataclass(frozen=True)
class UITConfig(UShapedConfig, AttentionConfig):
    """Configuration of a U-Transformer: its grids, and what its attention blocks have in common."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_multiple("16 width", 16 * self.width, self.heads, "the heads")
        check_multiple("width", self.width, 4 if self.sinusoidal else 1, "as positions are sines and cosines")


class UIT(UShaped):
    """The U-Integral-Transformer; see the module."""

    config: UITConfig

    def __init__(self, config: UITConfig) -> None:
        super().__init__()
        self.config = config
        widths, sizes = config.widths, config.sizes
        inputs = [CHANNELS_PER_CURRENT * config.currents, *widths]
        self.down = nn.ModuleList([DoubleConv(a, b, fn.gelu) for a, b in pairwise(inputs)])
        self.coarse = CoarseAttention(widths[-1], sizes[-1], config)
        levels = [*reversed(list(zip(widths[:-1], sizes[1:], strict=True)))]
        self.cross = nn.ModuleList([CrossAttention(c, m, config) for c, m in levels])
        self.up = nn.ModuleList([DoubleConv(2 * c, c, fn.relu) for c, _ in levels])
        self.head = nn.Conv2d(config.width, 1, 1)

    def encode(self, x: Tensor) -> dict[str, Tensor]:
        """Encoder `down/…`, and the attention on the coarsest grid, `coarse/…`."""
        levels = super().encode(x)
        size = self.config.sizes[-1]
        return levels | {f"coarse/{size}": self.coarse(levels[f"down/{size}"])}

    def coarsen(self, x: Tensor) -> Tensor:
        """The latent on a grid of half the size, by interpolation."""
        return resize(x, x.shape[-1] // 2)

    def rise_to(self, index: int, fine: Tensor, coarse: Tensor) -> Tensor:
        """The cross-attention, then a double convolution."""
        x: Tensor = self.up[index](self.cross[index](fine, coarse))
        return x


PRESETS = {
    "uit": Preset(
        "UIT",
        UIT,
        UITConfig(),
        11_425_025,
        Published(7, 64, None, "layer", gflops=658.3, speed=104.8, parameters="11.43m"),
    ),
    "uit-l3": Preset(
        "UIT, 3 currents", UIT, UITConfig(currents=3), 11_428_481, Published(7, 64, None, "layer")
    ),
    "uit-small": Preset("UIT, narrow", UIT, UITConfig(width=32), 2_878_081, Published(7, 32, None, "layer")),
    "uit-softmax": Preset(
        "UIT + softmax",
        UIT,
        UITConfig(evaluation="softmax", coarse_norms=False),
        11_418_881,
        Published(7, 64, None, "layer"),
    ),
    "cross-ut": Preset(
        "Cross-Attn UT",
        UIT,
        UITConfig(evaluation="softmax", gated=True, sinusoidal=True),
        11_419_457,
        Published(7, 64, None, "layer", gflops=658.9, speed=103.3, parameters="11.42m"),
    ),
}
