"""Fourier transforms of images, cut off at a few modes, as products with matrices of cosines and sines.

The transform of an n × n image is the separable sum X[r, c] = (1/n) Σ_{j,l} x[j, l] exp(−2πi (r j + c l)/n),
and a real image is recovered from the columns 0 … ⌊n/2⌋ alone. A network keeps m ≪ n modes of it: as products with
n × m matrices that is no more work than an FFT, batched, differentiable, real throughout, and it exports to ONNX.

Latents are nodes (B, n, n, C) and modes (B, R, 2, K, C), the channels innermost and the axis of two for real and
imaginary parts. In this order both products are plain ones of the memory as it lies: nothing is ever
transposed, and rows of an odd number of nodes, which tensor cores cannot load, are no rows of any matrix.

Weights are stored as real and imaginary parts: complex parameters break safetensors' neighbours, DDP and
exporters.
"""

from math import pi
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as fn

from eitlens.models import kernels

_ALIGNED = 4  # frequencies come in fours, zeros behind the last: tensor cores load eight values at once


def without_autocast(x: Tensor) -> torch.autocast:
    """Precisions are chosen by hand: the products over all nodes in that of x, those of few modes in float32.

    A GPU that trains in less than float32 computes these in TF32 (`eitlens.train.processes`).
    """
    return torch.autocast(x.device.type, enabled=False)


class Modes(NamedTuple):
    """The tables of a transform on n × n nodes.

    Attributes:
        columns: (n, 2K) with cosines and minus sines over n: exp(−2πi c l/n)/n of column c at node l.
        rows: (2n, 2R): multiplication by exp(2πi r j/n) as a real 2 × 2 matrix for each node j and row r; its
            transpose multiplies by exp(−2πi r j/n).
        twins: (2K), how often a column stands in the spectrum of a real image: twice, but for 0 and n/2.

    R and K are multiples of four: modes beyond those asked for are zero, whatever is done to them changes no image.
    """

    columns: Tensor
    rows: Tensor
    twins: Tensor


def harmonics(n: int, frequencies: Tensor) -> tuple[Tensor, Tensor]:
    """Cosine and sine of 2π f j / n, (n, frequencies); f j modulo n in integers, to lose no digit."""
    nodes = torch.arange(n, device=frequencies.device)
    angles = (torch.outer(nodes, frequencies) % n).to(torch.float64) * (2 * pi / n)
    return angles.cos(), angles.sin()


def row_counts(n: int, kept: int) -> tuple[int, int]:
    """The numbers of rows 0, 1, … and of rows n−1, n−2, … that are kept: `kept` of each where n has as many.

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
    twins = _pad(torch.where((columns == 0) | (2 * columns == n), 1.0, 2.0))
    cosine, sine = (_pad(part) for part in harmonics(n, rows))
    across, along = (_pad(part) for part in harmonics(n, columns))
    turn = torch.stack([torch.stack([cosine, -sine], -1), torch.stack([sine, cosine], -1)], 1)
    return Modes(
        (torch.cat([across, -along], 1) / n).float(), turn.flatten(2).flatten(0, 1).float(), twins.repeat(2)
    )


def _pad(table: Tensor) -> Tensor:
    return fn.pad(table, (0, -table.shape[-1] % _ALIGNED))


def _times(matrix: Tensor, x: Tensor) -> Tensor:
    """The same matrix (p, q) times each of (…, q, C)."""
    flat = x.reshape(-1, *x.shape[-2:])
    product = torch.bmm(matrix.expand(flat.shape[0], -1, -1), flat)
    return product.reshape(*x.shape[:-2], *product.shape[1:])


class Analysis(nn.Module):
    """x (B, n, n, C) ↦ its modes (B, R, 2, K, C)."""

    def forward(self, x: Tensor, modes: Modes, dtype: torch.dtype) -> Tensor:
        """Columns first, in the precision of x; then rows, in `dtype`."""
        batch, n, _, channels = x.shape
        half = _times(kernels.table(modes.columns.to(x.dtype)).mT, x).to(dtype)
        wide = half.reshape(batch, 2 * n, -1)
        spectrum = _times(kernels.table(modes.rows.to(dtype)).mT, wide)
        return spectrum.reshape(batch, -1, 2, modes.columns.shape[1] // 2, channels)


class Synthesis(nn.Module):
    """The inverse: modes (B, R, 2, K, C) ↦ the real image (B, n, n, C), all other modes being zero."""

    def forward(self, spectrum: Tensor, modes: Modes, dtype: torch.dtype) -> Tensor:
        """Rows first, in the precision of the modes; then columns, in `dtype`."""
        batch, channels, n = spectrum.shape[0], spectrum.shape[-1], modes.columns.shape[0]
        wide = spectrum.reshape(batch, modes.rows.shape[1], -1)
        half = _times(kernels.table(modes.rows.to(spectrum.dtype)), wide).to(dtype)
        columns = kernels.table((modes.columns * modes.twins).to(dtype))
        return _times(columns, half.reshape(batch, n, -1, channels))


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
        """(B, n, n, C) to the same; `modes` = low_modes(n, m)."""
        with without_autocast(x):
            spectrum = self._mix(self.analysis(x, modes, torch.float32), x.shape[1])
            mixed: Tensor = self.synthesis(spectrum, modes, x.dtype)
        return mixed

    def _mix(self, spectrum: Tensor, n: int) -> Tensor:
        """[x y] ↦ [x y] [[a, b], [−b, a]] for each mode x + iy that n nodes have, with its matrix a + ib."""
        low, high = row_counts(n, self.real.shape[1])
        parts = (self.real, self.imaginary)
        a, b = (torch.cat([part[0, :low, :high], part[1, :high, :high]]) for part in parts)
        weight = torch.cat([torch.cat([a, b], -1), torch.cat([-b, a], -1)], -2).flatten(0, 1)
        batch, channels, (rows, columns) = spectrum.shape[0], spectrum.shape[-1], a.shape[:2]
        z = spectrum[:, :rows, :, :columns].permute(1, 3, 0, 2, 4).reshape(-1, batch, 2 * channels)
        mixed = torch.bmm(z, weight).reshape(rows, columns, batch, 2, channels).permute(2, 0, 3, 1, 4)
        return fn.pad(mixed, (0, 0, 0, spectrum.shape[3] - columns, 0, 0, 0, spectrum.shape[1] - rows))
