"""GPU kernels in Triton for images with the channels innermost, (B, H, W, C). Imported on a CUDA device only.

Every program handles a row of an image, a block of its columns and a block of its channels: neighbouring threads read
neighbouring channels, nine shifted reads of a stencil hit the cache, and nothing is divided or taken modulo inside.
"""

import triton
import triton.language as tl


@triton.jit
def stencil(x, weight, y, height, width, channels, strips, COLUMNS: tl.constexpr, CHANNELS: tl.constexpr):
    """y[b, i, j, c] = Σ_{p,q} weight[p, q, c] x[b, i+p-1, j+q-1, c], zero outside.

    Four rows at a time: what is loaded of a row of x serves the three rows of y around it.
    """
    image = (tl.program_id(0) // strips).to(tl.int64)
    i = (tl.program_id(0) % strips) * 4
    j = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    c = tl.program_id(2) * CHANNELS + tl.arange(0, CHANNELS)
    inside = c[None, :] < channels
    first = tl.zeros((COLUMNS, CHANNELS), dtype=tl.float32)
    second = tl.zeros((COLUMNS, CHANNELS), dtype=tl.float32)
    third = tl.zeros((COLUMNS, CHANNELS), dtype=tl.float32)
    fourth = tl.zeros((COLUMNS, CHANNELS), dtype=tl.float32)
    for q in tl.static_range(3):
        above = tl.load(weight + q * channels + c)[None, :].to(tl.float32)
        level = tl.load(weight + (3 + q) * channels + c)[None, :].to(tl.float32)
        below = tl.load(weight + (6 + q) * channels + c)[None, :].to(tl.float32)
        k = j + (q - 1)
        keep = ((k >= 0) & (k < width))[:, None] & inside
        for p in tl.static_range(6):
            row = i + (p - 1)
            at = x + ((image * height + row) * width + k)[:, None] * channels + c[None, :]
            value = tl.load(at, mask=keep & (row >= 0) & (row < height), other=0.0).to(tl.float32)
            if p == 0:
                first += value * above
            if p == 1:
                first += value * level
                second += value * above
            if p == 2:
                first += value * below
                second += value * level
                third += value * above
            if p == 3:
                second += value * below
                third += value * level
                fourth += value * above
            if p == 4:
                third += value * below
                fourth += value * level
            if p == 5:
                fourth += value * below
    place = y + ((image * height + i) * width + j)[:, None] * channels + c[None, :]
    keep = (j < width)[:, None] & inside
    step = width * channels
    tl.store(place, first, mask=keep)
    tl.store(place + step, second, mask=keep & (i + 1 < height))
    tl.store(place + 2 * step, third, mask=keep & (i + 2 < height))
    tl.store(place + 3 * step, fourth, mask=keep & (i + 3 < height))


@triton.jit
def stencil_gradient(
    x,
    g,
    partial,
    rows,
    height,
    width,
    channels,
    EACH: tl.constexpr,
    COLUMNS: tl.constexpr,
    CHANNELS: tl.constexpr,
):
    """partial[p, a, b, c]: the part of Σ g[b, i, j, c] x[b, i+a-1, j+b-1, c] from the rows p · EACH … of all images."""
    p = tl.program_id(0)
    c = tl.program_id(1) * CHANNELS + tl.arange(0, CHANNELS)
    inside = c[None, :] < channels
    for a in tl.static_range(3):
        left = tl.zeros((COLUMNS, CHANNELS), dtype=tl.float32)
        middle = tl.zeros((COLUMNS, CHANNELS), dtype=tl.float32)
        right = tl.zeros((COLUMNS, CHANNELS), dtype=tl.float32)
        for step in range(EACH):
            row = p * EACH + step
            i = row % height
            here = (row < rows) & (i + a >= 1) & (i + a < height + 1)
            line = row.to(tl.int64) * width
            source = (row + a - 1).to(tl.int64) * width
            for start in range(0, width, COLUMNS):
                j = start + tl.arange(0, COLUMNS)
                keep = here & (j < width)[:, None] & inside
                out = tl.load(g + (line + j)[:, None] * channels + c[None, :], mask=keep, other=0.0).to(
                    tl.float32
                )
                at = x + (source + j)[:, None] * channels + c[None, :]
                left += out * tl.load(at - channels, mask=keep & (j >= 1)[:, None], other=0.0).to(tl.float32)
                middle += out * tl.load(at, mask=keep, other=0.0).to(tl.float32)
                right += out * tl.load(at + channels, mask=keep & (j < width - 1)[:, None], other=0.0).to(
                    tl.float32
                )
        base = partial + (p * 9 + 3 * a) * channels + c
        tl.store(base, tl.sum(left, 0), mask=c < channels)
        tl.store(base + channels, tl.sum(middle, 0), mask=c < channels)
        tl.store(base + 2 * channels, tl.sum(right, 0), mask=c < channels)


@triton.jit
def interpolation(x, y, size, target, channels, ratio, COLUMNS: tl.constexpr, CHANNELS: tl.constexpr):
    """Y on target × target nodes from x on size × size nodes, bilinear, corners shared; ratio = (size-1)/(target-1)."""
    row = tl.program_id(0)
    image = (row // target).to(tl.int64)
    u = (row % target).to(tl.float32) * ratio
    i = tl.minimum(u.to(tl.int32), size - 2)
    down = u - i.to(tl.float32)
    j = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    v = j.to(tl.float32) * ratio
    k = tl.minimum(v.to(tl.int32), size - 2)
    across = (v - k.to(tl.float32))[:, None]
    c = tl.program_id(2) * CHANNELS + tl.arange(0, CHANNELS)
    keep = (j < target)[:, None] & (c[None, :] < channels)
    at = x + ((image * size + i) * size + k)[:, None] * channels + c[None, :]
    a = tl.load(at, mask=keep, other=0.0).to(tl.float32)
    b = tl.load(at + channels, mask=keep, other=0.0).to(tl.float32)
    top = a + across * (b - a)
    a = tl.load(at + size * channels, mask=keep, other=0.0).to(tl.float32)
    b = tl.load(at + (size + 1) * channels, mask=keep, other=0.0).to(tl.float32)
    bottom = a + across * (b - a)
    place = (row.to(tl.int64) * target + j)[:, None] * channels + c[None, :]
    tl.store(y + place, top + down * (bottom - top), mask=keep)


@triton.jit
def interpolation_adjoint(
    g, x, size, target, channels, ratio, TAPS: tl.constexpr, COLUMNS: tl.constexpr, CHANNELS: tl.constexpr
):
    """x[k, l] = Σ_{i,j} hat_k(i ratio) hat_l(j ratio) g[i, j]: the transpose of `interpolation`, as a gather."""
    row = tl.program_id(0)
    image = (row // size).to(tl.int64)
    k = (row % size).to(tl.float32)
    first = tl.maximum(tl.ceil((k - 1.0) / ratio), 0.0).to(tl.int32)
    l = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    start = tl.maximum(tl.ceil((l.to(tl.float32) - 1.0) / ratio), 0.0).to(tl.int32)
    c = tl.program_id(2) * CHANNELS + tl.arange(0, CHANNELS)
    inside = (l < size)[:, None] & (c[None, :] < channels)
    total = tl.zeros((COLUMNS, CHANNELS), dtype=tl.float32)
    for s in range(TAPS):
        i = first + s
        weight = tl.maximum(1.0 - tl.abs(i.to(tl.float32) * ratio - k), 0.0)
        line = (image * target + i) * target
        for t in range(TAPS):
            j = start + t
            hat = tl.maximum(1.0 - tl.abs(j.to(tl.float32) * ratio - l.to(tl.float32)), 0.0)
            keep = inside & (i < target) & (weight > 0) & ((j < target) & (hat > 0))[:, None]
            value = tl.load(g + (line + j)[:, None] * channels + c[None, :], mask=keep, other=0.0)
            total += value.to(tl.float32) * (weight * hat)[:, None]
    place = (row.to(tl.int64) * size + l)[:, None] * channels + c[None, :]
    tl.store(x + place, total, mask=inside)
