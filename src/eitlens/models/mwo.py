"""The multiwavelet neural operator (Gupta, Xiao, Bogdan, NeurIPS 2021), as its authors set it for Darcy flow.

The kernel of an operator is sparse in multiwavelets. A layer takes the latent down every dyadic scale to a
single cell, d, s = details and averages; on each scale Ud = A d + B s and Us = C d with learned A (a global
convolution of few modes), B and C (local ones), shared by the scales; and back up with s + Us and Ud. The
grid must be a power of two, so input and output are interpolated. Of the products of filters in two
dimensions only average × average and detail × detail are kept, as in the authors' code: it is not a basis of
all images, and what is missing passes around the layer in no way.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as fn

from eitlens.errors import InputError
from eitlens.models import wavelets
from eitlens.models.base import CHANNELS_PER_CURRENT, Network, Preset, Published, check_features
from eitlens.models.fno import with_coordinates
from eitlens.models.fourier import Modes, SpectralConv, low_modes
from eitlens.models.layers import exact_linear, one_channel
from eitlens.models.resize import resize

HIDDEN = 128  # channels before the last map, as in the authors' code
COARSE = 8  # nodes a side up to which a 3 × 3 convolution is a product of matrices


@dataclass(frozen=True)
class MWOConfig:
    """Configuration of a multiwavelet neural operator.

    Attributes:
        currents: number of currents in the input.
        degree: k, the number of polynomials a direction.
        copies: c; there are c k² channels.
        modes: modes of A.
        layers: number of layers.
        resolution: nodes a side of the grid the network works on, a power of two.
    """

    currents: int = 1
    degree: int = 4
    copies: int = 4
    modes: int = 12
    layers: int = 4
    resolution: int = 128

    def __post_init__(self) -> None:
        if self.resolution < 2 or self.resolution & (self.resolution - 1):
            raise InputError(
                f"resolution must be a power of two, as it is halved down to one cell, got {self.resolution}"
            )

    @property
    def width(self) -> int:
        """Number of channels."""
        return self.copies * self.degree**2


class Local(nn.Module):
    """3 × 3 convolution, ReLU, a map of the channels."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(width, width, 3, padding=1)
        self.mix = nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        """(B, n, n, C) to the same."""
        y: Tensor = self.mix(fn.relu(self._convolve(x)))
        return y

    def _convolve(self, x: Tensor) -> Tensor:
        size = x.shape[1]
        if size > COARSE:
            y: Tensor = self.conv(x.permute(0, 3, 1, 2)).permute(0, 2, 3, 1)
            return y
        # On grids this small libraries have no fast convolution, and compilers guess its layout wrongly.
        wide = fn.pad(x, (0, 0, 1, 1, 1, 1))
        shifted = [wide[:, a : a + size, b : b + size] for a in range(3) for b in range(3)]
        weight = self.conv.weight.permute(0, 2, 3, 1).flatten(1)
        return fn.linear(torch.cat(shifted, -1), weight, self.conv.bias)


class Global(nn.Module):
    """A global convolution of few modes, ReLU, a map of the channels."""

    def __init__(self, width: int, modes: int) -> None:
        super().__init__()
        fan = width * modes**2
        self.spectral = SpectralConv(width, modes, std=(2 * fan) ** -0.5)
        self.mix = nn.Linear(width, width)

    def forward(self, x: Tensor, modes: Modes) -> Tensor:
        """(B, n, n, C) to the same."""
        y: Tensor = self.mix(fn.relu(self.spectral(x, modes)))
        return y


class MultiwaveletLayer(nn.Module):
    """Down to one cell, A, B and C on every scale, and up again.

    `filters` (4k², 2k²) takes each copy of 2 × 2 nodes to the details and averages of their cell; its transpose puts
    them together.
    """

    filters: Tensor

    def __init__(self, config: MWOConfig) -> None:
        super().__init__()
        self.detail_to_detail = Global(config.width, config.modes)
        self.average_to_detail = Local(config.width)
        self.detail_to_average = Local(config.width)
        self.coarsest = nn.Linear(config.width, config.width)
        nn.init.xavier_normal_(self.coarsest.weight)
        self.copies = config.copies
        parts = [wavelets.stencils(part(config.degree)) for part in (wavelets.details, wavelets.averages)]
        filters = np.concatenate(parts).transpose(2, 3, 1, 0).reshape(4 * config.degree**2, -1)
        self.register_buffer("filters", torch.tensor(filters, dtype=torch.float32), persistent=False)

    def forward(self, x: Tensor, scales: list[Modes]) -> Tensor:
        """(B, n, n, C) to the same, with the modes of each scale n/2, n/4, … 1."""
        updates: list[tuple[Tensor, Tensor]] = []
        for modes in scales:
            parts = fn.linear(cells(x, self.copies), self.filters.mT).chunk(2, dim=-1)
            d, x = (part.flatten(3) for part in parts)
            updates.append(
                (self.detail_to_detail(d, modes) + self.average_to_detail(x), self.detail_to_average(d))
            )
        x = self.coarsest(x)
        for detail, average in reversed(updates):
            pair = [part.reshape(*part.shape[:3], self.copies, -1) for part in (detail, x + average)]
            x = nodes(fn.linear(torch.cat(pair, -1), self.filters))
        return x


def cells(x: Tensor, copies: int) -> Tensor:
    """Nodes (B, 2m, 2m, C) as cells of 2 × 2 of them, copy by copy: (B, m, m, copies, 4C/copies)."""
    batch, size, _, channels = x.shape
    parts = x.reshape(batch, size // 2, 2, size // 2, 2, copies, channels // copies)
    return parts.permute(0, 1, 3, 5, 2, 4, 6).reshape(batch, size // 2, size // 2, copies, -1)


def nodes(x: Tensor) -> Tensor:
    """The inverse of `cells`."""
    batch, size, _, copies, values = x.shape
    parts = x.reshape(batch, size, size, copies, 2, 2, values // 4)
    return parts.permute(0, 1, 4, 2, 5, 3, 6).reshape(batch, 2 * size, 2 * size, -1)


class MWO(Network):
    """A multiwavelet neural operator; see the module."""

    def __init__(self, config: MWOConfig) -> None:
        super().__init__()
        self.config = config
        self.lift = nn.Linear(CHANNELS_PER_CURRENT * config.currents + 2, config.width)
        self.layers = nn.ModuleList([MultiwaveletLayer(config) for _ in range(config.layers)])
        self.widen = nn.Linear(config.width, HIDDEN)
        self.head = nn.Linear(HIDDEN, 1)
        for layer in (self.widen, self.head):
            nn.init.xavier_normal_(layer.weight)

    def latents(self, features: Tensor) -> dict[str, Tensor]:
        """`layer1/size`, `layer2/size`, … and `logits`."""
        size = self.config.resolution
        x = exact_linear(
            self.lift, with_coordinates(resize(check_features(features, self.config.currents), size))
        )
        sizes = [size >> scale for scale in range(1, size.bit_length())]
        scales = [low_modes(scale, self.config.modes, features.device) for scale in sizes]
        levels: dict[str, Tensor] = {}
        for index, layer in enumerate(self.layers, start=1):
            x = layer(fn.relu(x) if index > 1 else x, scales)
            levels[f"layer{index}/{size}"] = x.permute(0, 3, 1, 2)
        logits = one_channel(self.head, fn.relu(self.widen(x)), -1).permute(0, 3, 1, 2)
        levels["logits"] = resize(logits, features.shape[-1])
        return levels


PRESETS = {
    "mwo": Preset(
        "MWO",
        MWO,
        MWOConfig(),
        9_808_001,
        Published(4, 64, 12, "Legendre", gflops=1059, speed=59.6, parameters="9.81m"),
    ),
}
