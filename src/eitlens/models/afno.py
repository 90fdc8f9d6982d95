"""The adaptive Fourier neural operator: an FNO with a token mixer (Guibas et al., ICLR 2022) in every layer.

The mixer applies one small network to every mode of the spectrum alike: the channels in blocks, a complex
linear map within each block, ReLU on real and imaginary parts, a second map, and a soft threshold of 0.01
that empties weak modes; then back, and the input is added. The paper does not give the number of blocks; 4
has its number of parameters.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as fn

from eitlens.models.base import Preset, Published
from eitlens.models.fno import FNO, FNOConfig
from eitlens.models.fourier import Analysis, Modes, Synthesis, without_autocast

THRESHOLD = 0.01  # of the soft threshold, the paper's
MIXER_STD = 0.02  # of the mixers' weights at the start, as in the paper's code


@dataclass(frozen=True)
class AFNOConfig(FNOConfig):
    """Configuration of an adaptive Fourier neural operator: that of its spectral layers, and of the mixers.

    Attributes:
        blocks: blocks of channels in a mixer.
    """

    blocks: int = 4


class ComplexBlocks(nn.Module):
    """A complex affine map in each block of channels: weight (2, blocks, c, c), bias (2, blocks, c)."""

    def __init__(self, blocks: int, size: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(MIXER_STD * torch.randn(2, blocks, size, size))
        self.bias = nn.Parameter(MIXER_STD * torch.randn(2, blocks, size))

    def forward(self, z: Tensor) -> Tensor:
        """Modes (…, 2C), real parts before imaginary ones, to the same.

        As one real matrix [[a, b], [−b, a]] of which most is zero: reading the modes once costs more than
        multiplying by zeros.
        """
        a, b = (torch.block_diag(*part) for part in self.weight)  # type: ignore[no-untyped-call]
        matrix = torch.cat([torch.cat([a, b], 1), torch.cat([-b, a], 1)])
        return fn.linear(z, matrix.mT.to(z.dtype), self.bias.flatten().to(z.dtype))


class Mixer(nn.Module):
    """u + F⁻¹ S(N(F u)) with the small network N on every mode and the soft threshold S."""

    def __init__(self, width: int, blocks: int) -> None:
        super().__init__()
        self.first = ComplexBlocks(blocks, width // blocks)
        self.second = ComplexBlocks(blocks, width // blocks)
        self.analysis = Analysis()
        self.synthesis = Synthesis()

    def forward(self, u: Tensor, modes: Modes) -> Tensor:
        """(B, n, n, C) to the same."""
        with without_autocast(u):
            z = self.analysis(u, modes, u.dtype).transpose(2, 3).flatten(3)
            z = fn.softshrink(self.second(fn.relu(self.first(z))), THRESHOLD)
            spectrum = z.reshape(*z.shape[:3], 2, -1).transpose(2, 3)
            mixed: Tensor = self.synthesis(spectrum, modes, u.dtype)
        return u + mixed


class AFNO(FNO):
    """An adaptive Fourier neural operator; see the module."""

    config: AFNOConfig

    def token_mixers(self) -> list[nn.Module]:
        """A mixer for each layer."""
        return [Mixer(self.config.width, self.config.blocks) for _ in self.layers]


PRESETS = {
    "afno": Preset(
        "AFNO",
        AFNO,
        AFNOConfig(),
        10_876_993,
        Published(6, 48, 14, "FFT", gflops=198.4, speed=151.0, parameters="10.88m"),
    ),
}
