"""Networks in the shape of a U: down through ever coarser grids, and up again past the latents of the way down."""

from abc import abstractmethod
from dataclasses import dataclass

from torch import Tensor, nn
from torch.nn import functional as fn

from eitlens.models.base import Network, check_features, check_multiple
from eitlens.models.layers import channels_last, one_channel
from eitlens.models.resize import resize


@dataclass(frozen=True)
class UShapedConfig:
    """The common part of the configurations of U-shaped networks.

    Attributes:
        currents: number of currents in the input.
        width: channels on the finest grid; doubled on each coarser one.
        resolution: nodes a side of the finest grid; input and output are interpolated to and from it.
        faithful: the published form where ours differs; each network says what does.
    """

    currents: int = 1
    width: int = 64
    resolution: int = 128
    faithful: bool = False

    def __post_init__(self) -> None:
        why = f"as it is halved {self.levels - 1} times"
        check_multiple("resolution", self.resolution, 2 ** (self.levels - 1), why)

    @property
    def levels(self) -> int:
        """Number of grids."""
        return 4

    @property
    def widths(self) -> list[int]:
        """Channels by level, finest first."""
        return [self.width << level for level in range(self.levels)]

    @property
    def sizes(self) -> list[int]:
        """Nodes a side by level, finest first."""
        return [self.resolution >> level for level in range(self.levels)]


class UShaped(Network):
    """An encoder `down`, finest grid first, a decoder `up`, coarsest grid first, and a `head` to one channel."""

    config: UShapedConfig
    down: nn.ModuleList
    up: nn.ModuleList
    head: nn.Conv2d

    def latents(self, features: Tensor) -> dict[str, Tensor]:
        """Encoder `down/…`, then what stands on the coarsest grid, decoder `up/…`, and `logits`."""
        x = resize(check_features(features, self.config.currents), self.config.resolution)
        levels = self.encode(channels_last(x))
        x = list(levels.values())[-1]
        for index in range(len(self.up)):
            size = 2 * x.shape[-1]
            x = levels[f"up/{size}"] = self.rise_to(index, levels[f"down/{size}"], x)
        levels["logits"] = resize(self.logits(levels), features.shape[-1])
        return levels

    def encode(self, x: Tensor) -> dict[str, Tensor]:
        """The latents from the finest to the coarsest grid."""
        levels: dict[str, Tensor] = {}
        for index, block in enumerate(self.down):
            x = block(self.coarsen(x) if index else x)
            levels[f"down/{x.shape[-1]}"] = x
        return levels

    def coarsen(self, x: Tensor) -> Tensor:
        """The latent on a grid of half the size, here by maximum pooling."""
        return fn.max_pool2d(x, 2)

    @abstractmethod
    def rise_to(self, index: int, fine: Tensor, coarse: Tensor) -> Tensor:
        """The latent of the decoder's level `index` from that of the level below and the encoder's on its grid."""

    def logits(self, levels: dict[str, Tensor]) -> Tensor:
        """The logits on the finest grid, here from the last level alone."""
        return one_channel(self.head, list(levels.values())[-1])
