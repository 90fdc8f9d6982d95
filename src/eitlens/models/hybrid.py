"""The hybrid U-Transformer: UTNet (Gao, Zhou, Metaxas, MICCAI 2021) with linear attention.

Residual convolutions on five grids, maximum pooling between them; on the three coarsest an attention of every
node to 8 × 8 keys follows the convolutions. The decoder attends from fine to coarse on its two coarsest grids
and is convolutional on the others.

Default and `faithful` differ in the separable convolutions' gain (1 and 0.01), the eps of the norms (1e-5 and
1e-6), and the three side heads. Published, they read the decoder's coarser latents into a loss that ignores
them: 451 dead parameters. By default the logits are the sum of all four heads, the side heads starting at
zero, so that every parameter learns. That is another function than the published one; `side_heads=False` leaves
them dead, and changes nothing else.
"""

from dataclasses import dataclass

from torch import Tensor, nn
from torch.nn import functional as fn

from eitlens.models.base import (
    CHANNELS_PER_CURRENT,
    Network,
    Preset,
    Published,
    check_features,
    check_resolution,
)
from eitlens.models.hybrid_blocks import CrossBlock, Residual, Rise, SelfBlock
from eitlens.models.layers import channels_last, one_channel
from eitlens.models.resize import resize

LEVELS = 5


@dataclass(frozen=True)
class HybridConfig:
    """Configuration of a hybrid U-Transformer.

    Attributes:
        currents: number of currents in the input.
        width: channels on the finest grid; doubled on each coarser one.
        resolution: nodes a side of the grid the network works on; input and output are interpolated to and
            from it.
        side_heads: add the side heads to the logits; the published function does not.
        faithful: the published initialisation, eps and dead side heads.
    """

    currents: int = 1
    width: int = 32
    resolution: int = 128
    side_heads: bool = True
    faithful: bool = False

    def __post_init__(self) -> None:
        check_resolution(self.resolution, LEVELS)

    @property
    def sums_heads(self) -> bool:
        """Whether the logits are the sum of all heads, not the last one's alone."""
        return self.side_heads and not self.faithful

    @property
    def widths(self) -> list[int]:
        """Channels by level, finest first."""
        return [self.width << level for level in range(LEVELS)]


class Hybrid(Network):
    """The hybrid U-Transformer; see the module."""

    def __init__(self, config: HybridConfig) -> None:
        super().__init__()
        self.config = config
        w, faithful = config.widths, config.faithful
        self.down = nn.ModuleList(
            [nn.Sequential(Residual(CHANNELS_PER_CURRENT * config.currents, w[0]), Residual(w[0], w[0]))]
        )
        self.down.append(nn.Sequential(Residual(w[0], w[1]), Residual(w[1], w[1])))
        self.down.extend(nn.Sequential(Residual(c, 2 * c), SelfBlock(2 * c, faithful)) for c in w[1:-1])
        self.up = nn.ModuleList(
            [CrossBlock(w[3], faithful), CrossBlock(w[2], faithful), Rise(w[1]), Rise(w[0])]
        )
        self.heads = nn.ModuleList([nn.Conv2d(c, 1, 1) for c in (w[3], w[2], w[1], w[0])])
        for parameter in self.heads[:-1].parameters():
            if config.sums_heads:
                nn.init.zeros_(parameter)
            else:
                parameter.requires_grad_(False)  # several processes would wait for gradients that never come

    def latents(self, features: Tensor) -> dict[str, Tensor]:
        """Encoder `down/…`, the last on the coarsest grid, decoder `up/…`, then `logits`."""
        x = channels_last(resize(check_features(features, self.config), self.config.resolution))
        levels: dict[str, Tensor] = {}
        for index, block in enumerate(self.down):
            x = block(fn.max_pool2d(x, 2) if index else x)
            levels[f"down/{x.shape[-1]}"] = x
        for block in self.up:
            size = 2 * x.shape[-1]
            x = levels[f"up/{size}"] = block(levels[f"down/{size}"], x)
        levels["logits"] = resize(self._logits(levels), features.shape[-1])
        return levels

    def _logits(self, levels: dict[str, Tensor]) -> Tensor:
        decoder = [x for name, x in levels.items() if name.startswith("up/")]
        logits = self._head(-1, decoder[-1])
        if not self.config.sums_heads:
            return logits
        for index, x in enumerate(decoder[:-1]):
            logits = logits + resize(self._head(index, x), logits.shape[-1])
        return logits

    def _head(self, index: int, x: Tensor) -> Tensor:
        head = self.heads[index]
        assert isinstance(head, nn.Conv2d)
        return one_channel(head, x)


PRESETS = {
    "hybrid-ut": Preset(
        "Hybrid UT",
        Hybrid,
        HybridConfig(),
        10_125_860,
        Published(7, 32, None, "batch", gflops=427.5, speed=114.0, parameters="10.13m"),
    ),
}
