"""The two local operations that a GPU's libraries do slowly, as operators of our own with their derivatives.

`depthwise` is a 3 × 3 stencil a channel and `interpolate` the bilinear change of grid, both on images
(B, C, H, W) whose channels are innermost in memory. Left to a compiler, the first evaluates whatever stands
before it nine times and the second keeps its intermediate results in float32; as kernels each reads and
writes its image once. On other devices, without Triton, and for a few channels, the plain PyTorch forms in
`layers` and `resize` are used.
"""

import math
from typing import Any

import torch
from torch import Tensor

from eitlens import device

_WIDTH = 16
"""Channels come in blocks of this size at least."""
_STENCIL_PROGRAMS = 2048  # at once, as measured on an H200
_GRADIENT_PROGRAMS = 512
"""About this many programs at once, among the fastest on an H200; more leave more partial sums to add up."""
_GRADIENT_ROWS = 2
"""Rows of the gradient's loop that are unrolled: more overlap more reads, but take registers."""


def usable(x: Tensor) -> bool:
    """Whether the kernels apply to this image, and can be built."""
    kinds = (torch.bfloat16, torch.float16, torch.float32)
    return x.is_cuda and device.TRITON and x.shape[1] % _WIDTH == 0 and x.dtype in kinds


def depthwise(x: Tensor, weight: Tensor) -> Tensor:
    """Convolve each channel of x (B, C, H, W) with its own stencil, weight (C, 1, 3, 3), zero outside."""
    taps = weight.permute(2, 3, 1, 0).reshape(9, -1).contiguous()
    return _image(torch.ops.eitlens.stencil(_rows(x), taps))


def interpolate(x: Tensor, size: int) -> Tensor:
    """The bilinear interpolant of x (B, C, n, n) on size × size nodes with the same corners."""
    return _image(torch.ops.eitlens.interpolate(_rows(x), size))


def table(x: Tensor) -> Tensor:
    """A small constant that a compiler is to compute once.

    It would otherwise see through it, and before a product with a batch write it out once for each of the batch.
    """
    return torch.ops.eitlens.table(x) if x.is_cuda else x


def _rows(x: Tensor) -> Tensor:
    return x.permute(0, 2, 3, 1).contiguous()


def _image(rows: Tensor) -> Tensor:
    return rows.permute(0, 3, 1, 2)


def _blocks(batch: int, size: int, channels: int) -> tuple[tuple[int, int, int], int, int]:
    """The grid of a kernel on images (B, n, n, C), a program for part of a row; columns and channels of a program.

    It has 2,048 values in all, with 64 channels innermost where there are as many.
    """
    across = min(64, channels & -channels)
    columns = min(2048 // across, 1 << math.ceil(math.log2(size)))
    return (batch * size, -(-size // columns), channels // across), columns, across


def _strips(shape: torch.Size, programs: int) -> tuple[tuple[int, int, int], int, int, int, int]:
    """The grid of a stencil kernel on images (B, H, W, C); strips of an image; rows, column pairs, channels of one.

    A row of a strip is 512 pairs, four channels of a pair for each of 128 threads: with more there are no registers
    left to keep enough reads under way. Strips are as long as makes about `programs` of them, but have four
    rows at least, since each also reads the rows above and below it.
    """
    batch, height, width, channels = shape
    across = min(64, channels & -channels)
    pairs = min(512 // across, 1 << math.ceil(math.log2(max(width, 4) / 2)))
    columns, layers = -(-width // (2 * pairs)), channels // across
    long = max(4, 2 * -(-height // (2 * max(1, programs // (batch * columns * layers)))))
    strips = -(-height // long)
    return (batch * strips, columns, layers), strips, long, pairs, across


def _launch(kernel: Any, grid: tuple[int, ...], x: Tensor, *rest: Tensor | float) -> None:
    """Run a kernel where x is: left alone, Triton runs it on the current GPU, whichever its arguments are on."""
    with torch.cuda.device(x.device):
        kernel[grid](x, *rest)


@torch.library.custom_op("eitlens::table", mutates_args=(), device_types="cuda")
def _table(x: Tensor) -> Tensor:
    return x.clone()


@_table.register_fake
def _(x: Tensor) -> Tensor:
    return torch.empty_like(x)


@torch.library.custom_op("eitlens::stencil", mutates_args=(), device_types="cuda")
def _stencil(x: Tensor, taps: Tensor) -> Tensor:
    from eitlens.models import triton_kernels

    _, height, width, channels = x.shape
    y = torch.empty_like(x)
    grid, strips, long, pairs, across = _strips(x.shape, _STENCIL_PROGRAMS)
    sizes = height, width, strips, long, channels, pairs, across
    _launch(triton_kernels.stencil, grid, x, taps, y, *sizes)
    return y


@_stencil.register_fake
def _(x: Tensor, taps: Tensor) -> Tensor:
    return torch.empty_like(x)


@torch.library.custom_op("eitlens::stencil_gradient", mutates_args=(), device_types="cuda")
def _stencil_gradient(x: Tensor, g: Tensor) -> Tensor:
    from eitlens.models import triton_kernels

    _, height, width, channels = x.shape
    grid, strips, long, pairs, across = _strips(x.shape, _GRADIENT_PROGRAMS)
    partial = x.new_empty(grid[0] * grid[1], 9, channels, dtype=torch.float32)
    sizes = height, width, strips, long, channels, _GRADIENT_ROWS, pairs, across
    _launch(triton_kernels.stencil_gradient, grid, x, g, partial, *sizes)
    result = x.new_empty(9, channels, dtype=torch.float32)
    values = 9 * channels
    _launch(triton_kernels.total, (values // 16,), partial, result, len(partial), values, 256, 16)
    return result


@_stencil_gradient.register_fake
def _(x: Tensor, g: Tensor) -> Tensor:
    return x.new_empty(9, x.shape[-1], dtype=torch.float32)


@torch.library.custom_op("eitlens::interpolate", mutates_args=(), device_types="cuda")
def _interpolate(x: Tensor, size: int) -> Tensor:
    from eitlens.models import triton_kernels

    batch, n, _, channels = x.shape
    y = x.new_empty(batch, size, size, channels)
    grid, columns, across = _blocks(batch, size, channels)
    sizes = n, size, channels, (n - 1) / (size - 1), columns, across
    _launch(triton_kernels.interpolation, grid, x, y, *sizes)
    return y


@_interpolate.register_fake
def _(x: Tensor, size: int) -> Tensor:
    return x.new_empty(x.shape[0], size, size, x.shape[-1])


@torch.library.custom_op("eitlens::interpolate_adjoint", mutates_args=(), device_types="cuda")
def _interpolate_adjoint(g: Tensor, n: int) -> Tensor:
    from eitlens.models import triton_kernels

    batch, size, _, channels = g.shape
    x = g.new_empty(batch, n, n, channels)
    grid, columns, across = _blocks(batch, n, channels)
    taps = math.ceil(2 * (size - 1) / (n - 1)) + 1
    sizes = n, size, channels, (n - 1) / (size - 1), taps, columns, across
    _launch(triton_kernels.interpolation_adjoint, grid, g, x, *sizes)
    return x


@_interpolate_adjoint.register_fake
def _(g: Tensor, n: int) -> Tensor:
    return g.new_empty(g.shape[0], n, n, g.shape[-1])


def _keep_stencil(ctx: Any, inputs: tuple[Tensor, Tensor], output: Tensor) -> None:
    ctx.save_for_backward(*inputs)


def _stencil_backward(ctx: Any, g: Tensor) -> tuple[Tensor, Tensor]:
    x, taps = ctx.saved_tensors
    g = g.contiguous()
    return torch.ops.eitlens.stencil(g, taps.flip(0)), torch.ops.eitlens.stencil_gradient(x, g).to(taps.dtype)


def _keep_size(ctx: Any, inputs: tuple[Tensor, int], output: Tensor) -> None:
    ctx.size = inputs[0].shape[1]


def _interpolate_backward(ctx: Any, g: Tensor) -> tuple[Tensor, None]:
    return torch.ops.eitlens.interpolate_adjoint(g.contiguous(), ctx.size), None


_stencil.register_autograd(_stencil_backward, setup_context=_keep_stencil)
_interpolate.register_autograd(_interpolate_backward, setup_context=_keep_size)
