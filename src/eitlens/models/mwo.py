"""The multiwavelet neural operator (Gupta, Xiao, Bogdan, NeurIPS 2021), as its authors set it for Darcy flow.

The kernel of an operator is sparse in multiwavelets. A layer takes the latent down every dyadic scale to a
single cell, d, s = details and averages; on each scale Ud = A d + B s and Us = C d with learned A (a global
convolution of few modes), B and C (local ones), shared by the scales; and back up with s + Us and Ud. The
grid must be a power of two, so input and output are interpolated. Of the products of filters in two
dimensions only average × average and detail × detail are kept, as in the authors' code: it is not a basis of
all images, and what is missing passes around the layer in no way.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as fn

from eitlens.models import wavelets
from eitlens.models.base import CHANNELS_PER_CURRENT, Network, Preset, Published, check_features
from eitlens.models.fno import with_coordinates
from eitlens.models.fourier import Modes, SpectralConv, low_modes
from eitlens.models.resize import resize

HIDDEN = 128


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

    @property
    def width(self) -> int:
        """Number of channels."""
        return self.copies * self.degree**2


class Local(nn.Module):
    """3 × 3 convolution, ReLU, a map of the channels."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(width, width, 3, padding=1)
        self.mix = nn.Conv2d(width, width, 1)

    def forward(self, x: Tensor) -> Tensor:
        """(B, C, n, n) to the same."""
        y: Tensor = self.mix(fn.relu(self.conv(x)))
        return y


class Global(nn.Module):
    """A global convolution of few modes, ReLU, a map of the channels."""

    def __init__(self, width: int, modes: int) -> None:
        super().__init__()
        fan = width * modes**2
        self.spectral = SpectralConv(width, modes, std=(2 * fan) ** -0.5)
        self.mix = nn.Conv2d(width, width, 1)

    def forward(self, x: Tensor, modes: Modes) -> Tensor:
        """(B, C, n, n) to the same."""
        y: Tensor = self.mix(fn.relu(self.spectral(x, modes)))
        return y


class MultiwaveletLayer(nn.Module):
    """Down to one cell, A, B and C on every scale, and up again."""

    averages: Tensor
    details: Tensor

    def __init__(self, config: MWOConfig) -> None:
        super().__init__()
        self.copies = config.copies
        self.detail_to_detail = Global(config.width, config.modes)
        self.average_to_detail = Local(config.width)
        self.detail_to_average = Local(config.width)
        self.coarsest = nn.Conv2d(config.width, config.width, 1)
        nn.init.xavier_normal_(self.coarsest.weight)
        for name in ("averages", "details"):
            stencil = torch.tensor(
                wavelets.stencils(getattr(wavelets, name)(config.degree)), dtype=torch.float32
            )
            self.register_buffer(name, stencil.repeat(config.copies, 1, 1, 1), persistent=False)

    def forward(self, x: Tensor, scales: list[Modes]) -> Tensor:
        """(B, C, n, n) to the same, with the modes of each scale n/2, n/4, … 1."""
        updates: list[tuple[Tensor, Tensor]] = []
        for modes in scales:
            d, x = (
                fn.conv2d(x, w.to(x.dtype), stride=2, groups=self.copies)
                for w in (self.details, self.averages)
            )
            updates.append(
                (self.detail_to_detail(d, modes) + self.average_to_detail(x), self.detail_to_average(d))
            )
        x = self.coarsest(x)
        for detail, average in reversed(updates):
            x = self._rise(x + average, self.averages) + self._rise(detail, self.details)
        return x

    def _rise(self, x: Tensor, stencil: Tensor) -> Tensor:
        """The transposed filter: from a scale to the next finer one."""
        return fn.conv_transpose2d(x, stencil.to(x.dtype), stride=2, groups=self.copies)


class MWO(Network):
    """A multiwavelet neural operator; see the module."""

    def __init__(self, config: MWOConfig) -> None:
        super().__init__()
        self.config = config
        self.lift = nn.Conv2d(CHANNELS_PER_CURRENT * config.currents + 2, config.width, 1)
        self.layers = nn.ModuleList([MultiwaveletLayer(config) for _ in range(config.layers)])
        self.widen = nn.Conv2d(config.width, HIDDEN, 1)
        self.head = nn.Conv2d(HIDDEN, 1, 1)
        for layer in (self.widen, self.head):
            nn.init.xavier_normal_(layer.weight)

    def latents(self, features: Tensor) -> dict[str, Tensor]:
        """`layer1/size`, `layer2/size`, … and `logits`."""
        size = self.config.resolution
        x = self.lift(with_coordinates(resize(check_features(features, self.config), size)))
        sizes = [size >> scale for scale in range(1, size.bit_length())]
        scales = [low_modes(scale, self.config.modes, features.device) for scale in sizes]
        levels: dict[str, Tensor] = {}
        for index, layer in enumerate(self.layers, start=1):
            x = layer(fn.relu(x) if index > 1 else x, scales)
            levels[f"layer{index}/{size}"] = x
        levels["logits"] = resize(self.head(fn.relu(self.widen(x))).float(), features.shape[-1])
        return levels


PRESETS = {
    "mwo": Preset(
        "MWO", MWO, MWOConfig(), 9_808_001, Published(4, 64, 12, "Legendre", gflops=1059, speed=59.6)
    ),
}
