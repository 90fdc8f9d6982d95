"""Encodings of the place of a pixel on the body: functions of its coordinates, which exist on every grid."""

import torch
from torch import Tensor, nn

_LONGEST = 10000.0  # times 2π pixels: the longest wave, as in the first transformers


def nodes(size: int, like: Tensor) -> Tensor:
    """Coordinates (size) of the nodes of [0, 1]."""
    return torch.linspace(0, 1, size, device=like.device, dtype=torch.float32)


def coordinates(size: int, like: Tensor) -> Tensor:
    """Coordinates (size, size, 2) in [0, 1]² of the nodes, the first along the rows."""
    line = nodes(size, like)
    return torch.stack(torch.meshgrid(line, line, indexing="ij"), dim=-1)


class Euclidean(nn.Module):
    """p(x, y) = W (x, y) + b, learned, added to the latent function."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.map = nn.Linear(2, channels)

    def forward(self, x: Tensor) -> Tensor:
        """The latent x (B, C, m, m) with the position added."""
        line = nodes(x.shape[-1], x)[:, None]
        weight, bias = self.map.weight.float(), self.map.bias.float()
        # No matrix product: autocast would round the coordinates to eight bits and confuse neighbours.
        encoding = (line * weight[:, 0])[:, None] + (line * weight[:, 1] + bias)
        return x + encoding.permute(2, 0, 1).to(x.dtype)


class Sinusoidal(nn.Module):
    """[sin f_k X, cos f_k X, sin f_k Y, cos f_k Y] with f_k = 10000^(−2k/(C/2)), fixed, added.

    X and Y run from 0 to `span` over the body: with `span` = m − 1 they are the pixel numbers on the
    network's own m × m grid, and on any other grid the same functions of the coordinates.
    """

    def __init__(self, channels: int, span: int) -> None:
        super().__init__()
        self.channels = channels
        self.span = span

    def forward(self, x: Tensor) -> Tensor:
        """The latent x (B, C, m, m) with the position added."""
        quarter = self.channels // 4
        exponents = torch.arange(quarter, device=x.device, dtype=torch.float32) * (-4 / self.channels)
        angles = (self.span * coordinates(x.shape[-1], x))[..., None] * torch.pow(_LONGEST, exponents)
        encoding = torch.cat([angles.sin(), angles.cos()], dim=-1).flatten(2)
        return x + encoding.permute(2, 0, 1).to(x.dtype)
