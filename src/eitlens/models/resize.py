"""Bilinear resizing between grids that share their corners.

On a grid of n nodes over [0, 1] a function is the sum of hat functions; its values on a grid of m nodes are
A x with A[i, k] = max(0, 1 − |i (n−1)/(m−1) − k|), and in two dimensions A x Aᵀ. The forward pass gathers the
two nodes a side that are not zero. The adjoint Aᵀ g A would have to scatter; it is two dense matrix products
instead, a few thousandths of the network's arithmetic. On a GPU both are kernels of our own (`kernels`).
"""

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as fn

from eitlens.models import kernels


def resize(x: Tensor, size: int) -> Tensor:
    """The values of the bilinear interpolant of x (B, C, n, n) on size × size nodes with the same corners."""
    if x.shape[-1] == size:
        return x
    if kernels.usable(x):
        return kernels.interpolate(x, size)
    if not x.requires_grad:
        return interpolate(x, size)
    resized: Tensor = _Resize.apply(x, size)  # type: ignore[no-untyped-call]
    return resized


def interpolate(x: Tensor, size: int) -> Tensor:
    """The forward pass alone."""
    return fn.interpolate(x, size=(size, size), mode="bilinear", align_corners=True)


def hats(fine: int, coarse: int, like: Tensor) -> Tensor:
    """A[i, k]: the k-th hat function of `coarse` nodes at the i-th of `fine` nodes."""
    exact = torch.promote_types(like.dtype, torch.float32)
    nodes = torch.arange(fine, device=like.device, dtype=exact) * ((coarse - 1) / (fine - 1))
    centres = torch.arange(coarse, device=like.device, dtype=exact)
    return (1 - (nodes[:, None] - centres).abs()).clamp(min=0).to(like.dtype)


def adjoint(gradient: Tensor, size: int) -> Tensor:
    """Aᵀ g A, (B, C, m, m) ↦ (B, C, size, size), as products that keep the channels innermost."""
    batch, channels, m, _ = gradient.shape
    transposed = hats(m, size, gradient).mT
    if channels == 1:
        return transposed @ gradient @ transposed.mT
    rows = gradient.permute(0, 2, 3, 1).reshape(batch, m, m * channels)
    half = torch.bmm(transposed.expand(batch, size, m), rows).view(batch * size, m, channels)
    both = torch.bmm(transposed.expand(batch * size, size, m), half)
    return both.view(batch, size, size, channels).permute(0, 3, 1, 2)


class _Resize(torch.autograd.Function):
    @staticmethod
    def forward(x: Tensor, size: int) -> Tensor:
        return interpolate(x, size)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, int], output: Tensor) -> None:
        ctx.size = inputs[0].shape[-1]

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        return adjoint(gradients[0], ctx.size), None
