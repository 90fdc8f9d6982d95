"""Layers that several networks share. Images are (B, C, H, W), their channels innermost in memory."""

from collections.abc import Callable
from itertools import product

import torch
from torch import Tensor, nn
from torch.nn import functional as fn

Activation = Callable[[Tensor], Tensor]

EPS = 1e-5
PAPER_EPS = 1e-6
PAPER_GAIN = 0.01


def channels_last(x: Tensor) -> Tensor:
    """The same image with its channels innermost in memory, as tensor cores and every layer here want it."""
    return x.contiguous(memory_format=torch.channels_last)


def tokens(x: Tensor) -> Tensor:
    """An image (B, C, H, W) as a set of nodes (B, H·W, C); no copy when the channels are innermost."""
    return x.permute(0, 2, 3, 1).flatten(1, 2)


def image(nodes: Tensor, size: int) -> Tensor:
    """The inverse of `tokens`."""
    return nodes.reshape(nodes.shape[0], size, size, -1).permute(0, 3, 1, 2)


class DoubleConv(nn.Module):
    """Twice: 3 × 3 convolution without bias, batch norm, activation."""

    def __init__(self, inputs: int, outputs: int, activation: Activation) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(outputs)
        self.activation = activation

    def forward(self, x: Tensor) -> Tensor:
        """(B, inputs, H, W) ↦ (B, outputs, H, W)."""
        x = self.activation(self.norm1(self.conv1(x)))
        return self.activation(self.norm2(self.conv2(x)))


def depthwise(x: Tensor, weight: Tensor) -> Tensor:
    """Convolve each channel of x (B, C, H, W) with its own 3 × 3 stencil, weight (C, 1, 3, 3), zero outside.

    Compiled for a GPU the stencil is nine shifted products, which fuse into one pass over memory with
    whatever stands before and after; the library's own depthwise kernels for channels-innermost bfloat16 are
    many times slower.
    """
    if torch.compiler.is_compiling() and x.is_cuda:
        return shifted_products(x, weight)
    return fn.conv2d(x, weight.to(x.dtype), padding=1, groups=x.shape[1])


def shifted_products(x: Tensor, weight: Tensor) -> Tensor:
    """The same stencil as Σ_{a,b} w[:, a, b] x[:, i+a−1, j+b−1]."""
    height, width = x.shape[2:]
    padded = fn.pad(x.permute(0, 2, 3, 1), (0, 0, 1, 1, 1, 1))
    stencil = weight.permute(1, 2, 3, 0)[0]
    total = torch.zeros((), device=x.device)
    for a, b in product(range(3), repeat=2):
        total = total + padded[:, a : a + height, b : b + width] * stencil[a, b].float()
    return total.to(x.dtype).permute(0, 3, 1, 2)


class Separable(nn.Module):
    """A depthwise 3 × 3 stencil on each of `inputs` channels, then a linear map of the channels to `outputs`.

    Both weights keep the variance of what they act on. `gain` multiplies Xavier's instead: the paper's is
    0.01, which leaves everything behind it at 1e-5 and, where an attention follows, dead until Adam revives
    it.
    """

    def __init__(self, inputs: int, outputs: int, *, bias: bool = False, gain: float | None = None) -> None:
        super().__init__()
        self.stencil = nn.Parameter(torch.empty(inputs, 1, 3, 3))
        self.stencil_bias = nn.Parameter(torch.zeros(inputs)) if bias else None
        self.mix = nn.Linear(inputs, outputs, bias=bias)
        self._initialise(gain)

    def _initialise(self, gain: float | None) -> None:
        for weight in (self.stencil, self.mix.weight):
            if gain is None:
                nn.init.kaiming_normal_(weight, nonlinearity="linear")
            else:
                nn.init.xavier_uniform_(weight, gain=gain)
        if self.mix.bias is not None:
            nn.init.zeros_(self.mix.bias)

    def local(self, x: Tensor) -> Tensor:
        """The stencil alone: (B, inputs, H, W) to the same."""
        y = depthwise(x, self.stencil)
        return y if self.stencil_bias is None else y + self.stencil_bias.to(y.dtype)[:, None, None]

    def forward(self, x: Tensor) -> Tensor:
        """(B, inputs, H, W) ↦ nodes (B, H·W, outputs)."""
        mixed: Tensor = self.mix(tokens(self.local(x)))
        return mixed


class HeadNorm(nn.Module):
    """Layer norm over the d channels of each head, each with its own scale and shift: (…, heads, d)."""

    def __init__(self, heads: int, depth: int, eps: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(heads, depth))
        self.bias = nn.Parameter(torch.zeros(heads, depth))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        """Normalise in float32, return in the dtype of x: autocast would leave float32 behind."""
        normal = fn.layer_norm(x.float(), x.shape[-1:], eps=self.eps)
        return (normal * self.weight + self.bias).to(x.dtype)


class ImageNorm(nn.Module):
    """One mean and variance for the whole image, all channels alike; then a scale and shift a channel."""

    def __init__(self, channels: int, eps: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(channels))
        self.bias = nn.Parameter(torch.zeros(channels))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        """(B, C, H, W) to the same. Flattened with the channels innermost: the sum runs along memory."""
        rows = x.permute(0, 2, 3, 1)
        variance, mean = torch.var_mean(rows.flatten(1).float(), dim=1, correction=0)
        scale = (variance + self.eps).rsqrt()[:, None, None, None] * self.weight
        normal = (rows.float() - mean[:, None, None, None]) * scale + self.bias
        return normal.to(x.dtype).permute(0, 3, 1, 2)
