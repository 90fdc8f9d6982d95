"""Layers that several networks share. Images are (B, C, H, W), their channels innermost in memory."""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as fn

from eitlens.models import kernels

Activation = Callable[[Tensor], Tensor]

EPS = 1e-5  # keeps norms from dividing by zero; PyTorch's own
PAPER_EPS, PAPER_GAIN = 1e-6, 0.01  # as published, see `eitlens.models.uit`


def channels_last(x: Tensor) -> Tensor:
    """The same image with its channels innermost in memory, as tensor cores and every layer here want it."""
    return x.contiguous(memory_format=torch.channels_last)


def tokens(x: Tensor) -> Tensor:
    """An image (B, C, H, W) as a set of nodes (B, H·W, C); no copy when the channels are innermost."""
    return x.permute(0, 2, 3, 1).flatten(1, 2)


def image(nodes: Tensor, size: int) -> Tensor:
    """The inverse of `tokens`."""
    return nodes.reshape(nodes.shape[0], size, size, nodes.shape[-1]).permute(0, 3, 1, 2)


def exact_linear(layer: nn.Linear, x: Tensor) -> Tensor:
    """A first layer whose input (…, C) keeps its digits, see `two_terms`."""
    terms = two_terms(x, -1)
    weight = layer.weight if terms is x else layer.weight.repeat(1, 2)
    return fn.linear(terms, weight, layer.bias)


def exact_conv(layer: nn.Conv2d, x: Tensor) -> Tensor:
    """A first convolution whose input (B, C, H, W) keeps its digits; in later layers the input is rounded already."""
    terms = two_terms(x, 1)
    weight = layer.weight if terms is x else layer.weight.repeat(1, 2, 1, 1)
    return fn.conv2d(terms, weight, layer.bias, padding=layer.padding)


def two_terms(x: Tensor, dim: int) -> Tensor:
    """Under autocast, float32 values as twice as many channels: their first 8 bits and the next 8.

    What tells inclusions apart are faint details of a smooth function: its neighbouring values differ by a percent,
    and bfloat16 rounds them to half of one.
    """
    if x.dtype != torch.float32 or not torch.is_autocast_enabled(x.device.type):
        return x
    # By its bits: compilers take rounding there and back for nothing to do.
    first = (x.view(torch.int32) & -(1 << 16)).view(torch.float32)
    return torch.cat([first, x - first], dim)


def one_channel(head: nn.Conv2d | nn.Linear, x: Tensor, dim: int = 1) -> Tensor:
    """A map of the channels, axis `dim` of x, to a single one, in float32.

    As a sum instead of a product with one column: a compiler takes what stands before into the sum, and libraries
    are slow with one column.
    """
    shape = [-1 if axis == dim % x.ndim else 1 for axis in range(x.ndim)]
    assert head.bias is not None
    return (x.float() * head.weight.flatten().reshape(shape)).sum(dim, keepdim=True) + head.bias


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
        x = self.activation(self.norm1(exact_conv(self.conv1, x)))
        return self.activation(self.norm2(self.conv2(x)))


def depthwise(x: Tensor, weight: Tensor) -> Tensor:
    """Convolve each channel of x (B, C, H, W) with its own stencil, weight (C, 1, 3, 3), zero outside."""
    if kernels.usable(x):
        return kernels.depthwise(x, weight)
    return fn.conv2d(x, weight.to(x.dtype), padding=1, groups=x.shape[1])


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
        flat = rows.flatten(1).float()
        mean = flat.mean(1)
        # Two plain sums in one pass: a compiler's running variance costs four times as much on a GPU.
        variance = (flat.square().mean(1) - mean.square()).clamp(min=0)
        scale = (variance + self.eps).rsqrt()[:, None, None, None] * self.weight
        normal = (rows.float() - mean[:, None, None, None]) * scale + self.bias
        return normal.to(x.dtype).permute(0, 3, 1, 2)
