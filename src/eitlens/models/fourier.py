"""Fourier transforms of images, cut off at a few modes, as products with cosine and sine matrices.

The transform of an n × n image is the separable sum X[r, c] = (1/n) Σ_{j,l} x[j, l] exp(−2πi (r j + c l)/n),
and a real image is recovered from the columns 0 … ⌊n/2⌋ alone. A network keeps m ≪ n modes of it: as two
products with n × m matrices that is no more work than an FFT, batched, differentiable, real throughout, and
it exports to ONNX.

Weights are stored as real and imaginary parts: complex parameters break safetensors' neighbours, DDP and
exporters.
"""

from math import pi
from typing import NamedTuple

import torch
from torch import Tensor, nn


def without_autocast(x: Tensor) -> torch.autocast:
    """Transforms stay in float32: a low mode is a sum over the image, of which bfloat16 keeps 3 digits."""
    return torch.autocast(x.device.type, enabled=False)


class Modes(NamedTuple):
    """The cosines and sines of the kept modes, (modes, n): what a transform on n × n nodes is made of.

    `twins` counts how often a column stands in the spectrum of a real image: twice, but for 0 and n/2.
    """

    row_cosine: Tensor
    row_sine: Tensor
    column_cosine: Tensor
    column_sine: Tensor
    twins: Tensor


def harmonics(n: int, frequencies: Tensor) -> tuple[Tensor, Tensor]:
    """Cosine and sine of 2π f j / n, (frequencies, n); f j modulo n in integers, to lose no digit."""
    nodes = torch.arange(n, device=frequencies.device)
    angles = (torch.outer(frequencies, nodes) % n).to(torch.float64) * (2 * pi / n)
    return angles.cos().float(), angles.sin().float()


def row_counts(n: int, kept: int) -> tuple[int, int]:
    """How many rows 0, 1, … and how many rows n−1, n−2, … are kept: `kept` of each where n has as many.

    On the coarsest grids the two ranges would meet; the negative frequencies then come first.
    """
    high = min(kept, n // 2 + 1)
    return min(high, n - high), high


def low_modes(n: int, kept: int, device: torch.device) -> Modes:
    """Rows 0 … m−1 and n−m … n−1 and columns 0 … m−1, m = `kept`; fewer where n has not as many."""
    low, high = row_counts(n, kept)
    rows = torch.cat([torch.arange(low, device=device), torch.arange(n - high, n, device=device)])
    return _modes(n, rows, torch.arange(high, device=device))


def all_modes(n: int, device: torch.device) -> Modes:
    """The whole spectrum of a real image: all rows, and columns 0 … ⌊n/2⌋."""
    return _modes(n, torch.arange(n, device=device), torch.arange(n // 2 + 1, device=device))


def _modes(n: int, rows: Tensor, columns: Tensor) -> Modes:
    twins = torch.where((columns == 0) | (2 * columns == n), 1.0, 2.0)[:, None]
    return Modes(*harmonics(n, rows), *harmonics(n, columns), twins)


class Analysis(nn.Module):
    """x (B, C, n, n) ↦ real and imaginary parts (B, C, rows, columns) of the modes."""

    def forward(self, x: Tensor, modes: Modes) -> tuple[Tensor, Tensor]:
        """Columns first, as a product from the right; then rows, from the left."""
        kept, n = modes.column_cosine.shape
        half = x.float() @ (torch.cat([modes.column_cosine, -modes.column_sine]).mT / n)
        even, odd = modes.row_cosine @ half, modes.row_sine @ half
        return even[..., :kept] + odd[..., kept:], even[..., kept:] - odd[..., :kept]


class Synthesis(nn.Module):
    """The inverse: modes (B, C, rows, columns) ↦ the real image (B, C, n, n), all other modes being zero."""

    def forward(self, real: Tensor, imaginary: Tensor, modes: Modes) -> Tensor:
        """Rows first, then columns."""
        cosine, sine = modes.row_cosine.mT, modes.row_sine.mT
        half_real = cosine @ real - sine @ imaginary
        half_imaginary = cosine @ imaginary + sine @ real
        weights = modes.twins / modes.row_cosine.shape[1]
        return half_real @ (weights * modes.column_cosine) - half_imaginary @ (weights * modes.column_sine)


class SpectralConv(nn.Module):
    """y = F⁻¹(W F x): every mode of `low_modes` has its own complex matrix of the channels, all others go.

    `real` and `imaginary` are (2, m, m, C, C): the rows from 0 up, then those from n−m up.
    """

    def __init__(self, channels: int, kept: int, std: float) -> None:
        super().__init__()
        shape = (2, kept, kept, channels, channels)
        self.real = nn.Parameter(std * torch.randn(shape))
        self.imaginary = nn.Parameter(std * torch.randn(shape))
        self.analysis = Analysis()
        self.synthesis = Synthesis()

    def forward(self, x: Tensor, modes: Modes) -> Tensor:
        """(B, C, n, n) to the same, in float32; `modes` = low_modes(n, m)."""
        with without_autocast(x):
            real, imaginary = self.analysis(x, modes)
            real, imaginary = self._mix(real, imaginary, *row_counts(x.shape[-1], self.real.shape[1]))
            mixed: Tensor = self.synthesis(real, imaginary, modes)
        return mixed

    def _mix(self, real: Tensor, imaginary: Tensor, low: int, high: int) -> tuple[Tensor, Tensor]:
        """The complex matrix of each mode, as products with its real and imaginary parts."""
        a, b = (torch.cat([w[0, :low, :high], w[1, :high, :high]]) for w in (self.real, self.imaginary))
        x, y = real.permute(2, 3, 0, 1), imaginary.permute(2, 3, 0, 1)
        return (x @ a - y @ b).permute(2, 3, 0, 1), (x @ b + y @ a).permute(2, 3, 0, 1)
