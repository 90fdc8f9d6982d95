"""The network of the tasks with full maps: the flagship's design, added to the best linear estimate at every pixel.

Its linear part, too, begins with the best linear estimates, at the centres of the cells (`LinearImages`). The decoder's
last layer begins at zero, so the first image is the linear one.
"""

from typing import Any, NamedTuple

import torch
from full_maps_heads import Head
from torch import Tensor, nn
from torch.nn import functional as fn

from eitlens.classical.linear_images import LinearImages
from eitlens.device import float32_products
from eitlens.feature.noisy_maps import WhiteCode
from eitlens.models.flagship import Flagship, FlagshipConfig
from eitlens.phantom.disk_images import NODES


class LinearParts(NamedTuple):
    """Linear estimates of the targets, means (F, n, n) and modes (M, F, n, n): at centres of cells, and finer."""

    cell_mean: Tensor
    cell_modes: Tensor
    mean: Tensor
    modes: Tensor


def linear_parts(code: WhiteCode, z: Tensor, targets: Tensor, grid: int, side: int | None) -> LinearParts:
    """The estimators fitted to codes and targets (B, F, n, n), at cells and at pixels a `side`, or at the nodes."""
    fitted = [LinearImages.fit(code, z, target) for target in targets.unbind(1)]
    nodes = torch.linspace(-1, 1, NODES, dtype=z.dtype, device=z.device) if side is None else centres(side, z)
    both = []
    for place in (centres(grid, z), nodes):
        means, modes = zip(*(one.fields(place) for one in fitted), strict=True)
        both += [torch.stack(means), torch.stack(modes, 1)]
    return LinearParts(*both)


def centres(cells: int, like: Tensor) -> Tensor:
    """Of cells of [-1, 1]."""
    return (torch.arange(cells, dtype=like.dtype, device=like.device) + 0.5) * (2 / cells) - 1


def at_nodes(outputs: Tensor, nodes: int) -> Tensor:
    """Values at the centres of pixels at nodes × nodes from -1 to 1: linear between."""
    place = torch.linspace(-1, 1, nodes, device=outputs.device)
    x, y = torch.meshgrid(place, place, indexing="ij")
    places = torch.stack([y, x], -1).expand(len(outputs), -1, -1, -1)
    return fn.grid_sample(outputs, places, padding_mode="border", align_corners=False)


def network_config(head: Head, code: WhiteCode, changes: dict[str, Any]) -> FlagshipConfig:
    """The configuration for a task and a code."""
    settings: dict[str, Any] = {"currents": 1, "modes": code.size, "grid": 16}
    settings |= {"fields": len(head.start[0]), "outputs": head.outputs}
    return FlagshipConfig(**(settings | changes))


class FullMap(Flagship):
    """Codes (B, 3M + 1) ↦ outputs (B, outputs, 8g, 8g) at the centres of pixels; see the module."""

    def __init__(self, config: FlagshipConfig, head: Head) -> None:
        super().__init__(config)
        self.side, fields = 8 * config.grid, config.fields
        self.mean = nn.Buffer(torch.zeros(fields, self.side, self.side))
        self.modes = nn.Buffer(torch.zeros(config.modes, fields, self.side, self.side))
        self.mix = nn.Parameter(torch.tensor(head.start))
        self.offset = nn.Parameter(torch.tensor(head.offset))
        nn.init.zeros_(self.decode.third.weight)
        nn.init.zeros_(self.decode.third.bias)

    def begin_linear(self, cell_mean: Tensor, cell_modes: Tensor, mean: Tensor, modes: Tensor) -> None:
        """Begin with these estimates."""
        self.start_linear(cell_modes.float(), cell_mean.float())
        self.mean.copy_(mean)
        self.modes.copy_(modes)

    def pixels(self, features: Tensor) -> Tensor:
        """The outputs: the linear estimate and what the network adds."""
        z = features[:, -self.config.modes :].float()
        with torch.autocast(features.device.type, enabled=False), float32_products(tf32=False):
            estimate = self.mean + torch.tensordot(z, self.modes, 1)
            begun = torch.einsum("of,bfxy->boxy", self.mix, estimate) + self.offset[:, None, None]
        found: Tensor = begun + super().pixels(features)
        return found
