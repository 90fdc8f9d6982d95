"""The blocks of the hybrid U-Transformer: residual convolutions, and attention to a small grid of keys."""

import torch
from torch import Tensor, nn
from torch.nn import functional as fn

from eitlens.models.attention import attention, merge, split
from eitlens.models.layers import EPS, PAPER_EPS, PAPER_GAIN, HeadNorm, Separable, exact_conv, image, tokens
from eitlens.models.resize import resize

HEADS, KEY_GRID, DROPOUT = 4, 8, 0.1  # of every attention; the cost grows as the square of the key grid
_BIAS_STD = 0.02  # of the relative biases at the start: small beside kernels of size one


class NormConv(nn.Module):
    """Batch norm, ReLU, convolution without bias."""

    def __init__(self, inputs: int, outputs: int, kernel: int) -> None:
        super().__init__()
        self.norm = nn.BatchNorm2d(inputs)
        self.conv = nn.Conv2d(inputs, outputs, kernel, padding=kernel // 2, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """(B, inputs, H, W) ↦ (B, outputs, H, W)."""
        return exact_conv(self.conv, fn.relu(self.norm(x)))


class Residual(nn.Module):
    """Two 3 × 3 convolutions, and a shortcut that is a 1 × 1 convolution where the channels change."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.first = NormConv(inputs, outputs, 3)
        self.second = NormConv(outputs, outputs, 3)
        self.shortcut = nn.Identity() if inputs == outputs else NormConv(inputs, outputs, 1)

    def forward(self, x: Tensor) -> Tensor:
        """(B, inputs, H, W) ↦ (B, outputs, H, W)."""
        y: Tensor = self.second(self.first(x)) + self.shortcut(x)
        return y


class RelativeBias(nn.Module):
    """A learned number a head and offset between a query's cell and a key's, on a grid of 8 × 8 cells."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Parameter(_BIAS_STD * torch.randn((2 * KEY_GRID - 1) ** 2, HEADS))

    def forward(self, size: int) -> Tensor:
        """(heads, size², 64): the queries of a finer grid take the number of the cell they lie in."""
        cells = torch.arange(size, device=self.table.device) * KEY_GRID // size
        keys = torch.arange(KEY_GRID, device=self.table.device)
        offset = cells[:, None] - keys + KEY_GRID - 1
        index = offset[:, None, :, None] * (2 * KEY_GRID - 1) + offset[None, :, None, :]
        return self.table[index.flatten()].mT.reshape(HEADS, size * size, KEY_GRID * KEY_GRID)


class KeyGridAttention(nn.Module):
    """Attention of every node to 8 × 8 keys: Σ_j (q_i·k_j + b_ij) v_j / d, linear in the nodes."""

    def __init__(self, channels: int, faithful: bool) -> None:
        super().__init__()
        depth, eps = channels // HEADS, PAPER_EPS if faithful else EPS
        self.norm_q = HeadNorm(HEADS, depth, eps)
        self.norm_k = HeadNorm(HEADS, depth, eps)
        self.bias = RelativeBias()
        self.out = separable(channels, channels, faithful)

    def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """Images q (B, C, H, W), k and v (B, C, h, w) ↦ (B, C, H, W)."""
        size = q.shape[-1]
        key, value = (split(tokens(resize(part, KEY_GRID)), HEADS) for part in (k, v))
        query = self.norm_q(split(tokens(q), HEADS))
        heads = [part.transpose(1, 2) for part in (query, self.norm_k(key), value)]
        dropout, bias = DROPOUT if self.training else 0.0, self.bias(size).to(value.dtype)
        scale = 1 / query.shape[-1]
        o = attention(*heads, evaluation="explicit", scale=scale, bias=bias, dropout=dropout)
        return fn.dropout(image(self.out(image(merge(o), size)), size), DROPOUT, self.training)


def separable(inputs: int, outputs: int, faithful: bool) -> Separable:
    """A separable convolution with biases."""
    return Separable(inputs, outputs, bias=True, gain=PAPER_GAIN if faithful else None)


class SelfBlock(nn.Module):
    """x + attention(norm x), then a residual map of the channels."""

    def __init__(self, channels: int, faithful: bool) -> None:
        super().__init__()
        self.norm = nn.BatchNorm2d(channels)
        self.qkv = separable(channels, 3 * channels, faithful)
        self.attention = KeyGridAttention(channels, faithful)
        self.mix = NormConv(channels, channels, 1)

    def forward(self, x: Tensor) -> Tensor:
        """(B, C, H, W) to the same."""
        qkv = image(self.qkv(self.norm(x)), x.shape[-1])
        attended = x + self.attention(*qkv.chunk(3, dim=1))
        y: Tensor = attended + self.mix(attended)
        return y


class CrossBlock(nn.Module):
    """A fine latent (c channels) attends to a coarse one (2c), which then joins it; convolutions."""

    def __init__(self, channels: int, faithful: bool) -> None:
        super().__init__()
        self.rise = nn.Conv2d(2 * channels, channels, 1)
        self.norm_coarse = nn.BatchNorm2d(2 * channels)
        self.norm_fine = nn.BatchNorm2d(channels)
        self.query = separable(channels, channels, faithful)
        self.key_value = separable(2 * channels, 2 * channels, faithful)
        self.attention = KeyGridAttention(channels, faithful)
        self.mix = NormConv(channels, channels, 1)
        self.conv = Residual(2 * channels, channels)

    def forward(self, fine: Tensor, coarse: Tensor) -> Tensor:
        """(B, c, 2m, 2m) and (B, 2c, m, m) ↦ (B, c, 2m, 2m)."""
        size = fine.shape[-1]
        k, v = image(self.key_value(self.norm_coarse(coarse)), coarse.shape[-1]).chunk(2, dim=1)
        q = image(self.query(self.norm_fine(fine)), size)
        x = resize(self.rise(coarse), size) + self.attention(q, k, v)
        x = x + self.mix(x)
        y: Tensor = self.conv(torch.cat([x, fine], dim=1))
        return y


class Rise(nn.Module):
    """A coarse latent (2c channels), interpolated and mapped to c, joins a fine one; then convolutions."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.rise = nn.Conv2d(2 * channels, channels, 1)
        self.conv1 = Residual(2 * channels, channels)
        self.conv2 = Residual(channels, channels)

    def forward(self, fine: Tensor, coarse: Tensor) -> Tensor:
        """(B, c, 2m, 2m) and (B, 2c, m, m) ↦ (B, c, 2m, 2m)."""
        rising = self.rise(resize(coarse, fine.shape[-1]))
        y: Tensor = self.conv2(self.conv1(torch.cat([fine, rising], dim=1)))
        return y
