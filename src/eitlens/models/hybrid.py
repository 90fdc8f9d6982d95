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
from typing import cast

from torch import Tensor, nn

from eitlens.models.base import CHANNELS_PER_CURRENT, Preset, Published
from eitlens.models.hybrid_blocks import CrossBlock, Residual, Rise, SelfBlock
from eitlens.models.layers import one_channel
from eitlens.models.resize import resize
from eitlens.models.u_shaped import UShaped, UShapedConfig


@dataclass(frozen=True)
class HybridConfig(UShapedConfig):
    """Configuration of a hybrid U-Transformer.

    Attributes:
        width: channels on the finest grid; 32 as UTNet has.
        side_heads: whether to add the side heads to the logits; the published function does not.
    """

    width: int = 32
    side_heads: bool = True

    @property
    def levels(self) -> int:
        """Number of grids."""
        return 5

    @property
    def sums_heads(self) -> bool:
        """Whether the logits are the sum of all heads, not the last one's alone."""
        return self.side_heads and not self.faithful


class Hybrid(UShaped):
    """The hybrid U-Transformer; see the module."""

    config: HybridConfig

    def __init__(self, config: HybridConfig) -> None:
        super().__init__()
        self.config = config
        w, faithful = config.widths, config.faithful
        pairs = ((CHANNELS_PER_CURRENT * config.currents, w[0]), (w[0], w[1]))
        self.down = nn.ModuleList([nn.Sequential(Residual(a, b), Residual(b, b)) for a, b in pairs])
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

    def rise_to(self, index: int, fine: Tensor, coarse: Tensor) -> Tensor:
        """Join both latents by one block."""
        x: Tensor = self.up[index](fine, coarse)
        return x

    def logits(self, levels: dict[str, Tensor]) -> Tensor:
        """The sum of the logits of all levels of the decoder, or those of the last."""
        heads = cast(list[nn.Conv2d], list(self.heads))
        decoder = [x for name, x in levels.items() if name.startswith("up/")]
        logits = one_channel(heads[-1], decoder[-1])
        if self.config.sums_heads:
            for head, x in zip(heads[:-1], decoder[:-1], strict=True):
                logits = logits + resize(one_channel(head, x), logits.shape[-1])
        return logits


PRESETS = {
    "hybrid-ut": Preset(
        "Hybrid UT",
        Hybrid,
        HybridConfig(),
        10_125_860,
        Published(7, 32, None, "batch", gflops=427.5, speed=114.0, parameters="10.13m"),
    ),
}
