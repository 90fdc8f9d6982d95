"""GPU kernels in Triton for images with the channels innermost, (B, H, W, C). Imported on a CUDA device only.

Neighbouring threads read neighbouring channels, shifted reads of the same columns hit the cache, and nothing is divided
or taken modulo inside. The two stencil kernels walk down a strip of rows, so that a row is fetched once and serves the
three rows around it, and their threads own pairs of columns, so that four reads serve two columns: converting and
addressing what is read would otherwise take longer than the memory does. The number of channels is a constant of the
compilation, which makes the neighbouring columns fixed offsets of one address.
"""

import triton
import triton.language as tl


@triton.jit
def _strip(height, width, strips, long, CHANNELS: tl.constexpr, PAIRS: tl.constexpr, ACROSS: tl.constexpr):
    """The share of a program: rows first … last-1 of an image, columns j and j+1, channels c, and where they start."""
    image = (tl.program_id(0) // strips).to(tl.int64)
    first = (tl.program_id(0) % strips) * long
    j = (tl.program_id(1) * PAIRS + tl.arange(0, PAIRS))[:, None] * 2
    c = tl.program_id(2) * ACROSS + tl.arange(0, ACROSS)
    start = ((image * height + first) * width + j) * CHANNELS + c[None, :]
    return first, tl.minimum(first + long, height), j, c, start


@triton.jit
def _pair(row, here, j, width, CHANNELS: tl.constexpr):
    """Columns j and j+1 of a row, zero outside and unless `here`."""
    even = tl.load(row, mask=here & (j < width), other=0.0).to(tl.float32)
    odd = tl.load(row + CHANNELS, mask=here & (j + 1 < width), other=0.0).to(tl.float32)
    return even, odd


@triton.jit
def _window(row, here, j, width, CHANNELS: tl.constexpr):
    """Columns j-1 … j+2 of a row, zero outside and unless `here`."""
    before = tl.load(row - CHANNELS, mask=here & (j >= 1) & (j < width), other=0.0).to(tl.float32)
    even, odd = _pair(row, here, j, width, CHANNELS)
    after = tl.load(row + 2 * CHANNELS, mask=here & (j + 2 < width), other=0.0).to(tl.float32)
    return before, even, odd, after


@triton.jit
def _taps(weight, CHANNELS: tl.constexpr):
    """The three weights of a row of the stencil."""
    left = tl.load(weight).to(tl.float32)
    middle = tl.load(weight + CHANNELS).to(tl.float32)
    right = tl.load(weight + 2 * CHANNELS).to(tl.float32)
    return left, middle, right


@triton.jit
def _weigh(pair, taps, window):
    """The pair plus a row of the stencil at it."""
    even, odd = pair
    left, middle, right = taps
    a, b, c, d = window
    return even + left * a + middle * b + right * c, odd + left * b + middle * c + right * d


@triton.jit
def _store(row, pair, here, j, width, CHANNELS: tl.constexpr):
    even, odd = pair
    tl.store(row, even, mask=here & (j < width))
    tl.store(row + CHANNELS, odd, mask=here & (j + 1 < width))


@triton.jit(do_not_specialize=["height", "width", "strips", "long"])
def stencil(
    x,
    weight,
    y,
    height,
    width,
    strips,
    long,
    CHANNELS: tl.constexpr,
    PAIRS: tl.constexpr,
    ACROSS: tl.constexpr,
):
    """y[b, i, j, c] = Σ_{p,q} weight[p, q, c] x[b, i+p-1, j+q-1, c], zero outside, on strips of `long` rows.

    A row of x is read once: it completes the row of y above it, continues its own and begins the one below. Two rows
    are asked for before anything is stored, because no read may pass a store and one row hides too little latency.
    """
    first, last, j, c, start = _strip(height, width, strips, long, CHANNELS, PAIRS, ACROSS)
    upper = _taps(weight + c[None, :], CHANNELS)
    centre = _taps(weight + 3 * CHANNELS + c[None, :], CHANNELS)
    lower = _taps(weight + 6 * CHANNELS + c[None, :], CHANNELS)
    step = width * CHANNELS
    at = x + start
    to = y + start
    zero = tl.zeros((PAIRS, ACROSS), dtype=tl.float32)
    none = (zero, zero)
    one = _window(at - step, first > 0, j, width, CHANNELS)
    two = _window(at, True, j, width, CHANNELS)
    level = _weigh(_weigh(none, upper, one), centre, two)
    below = _weigh(none, upper, two)
    for row in range(first, last, 2):
        one = _window(at + step, row + 1 < height, j, width, CHANNELS)
        two = _window(at + 2 * step, row + 2 < height, j, width, CHANNELS)
        _store(to, _weigh(level, lower, one), True, j, width, CHANNELS)
        level = _weigh(below, centre, one)
        _store(to + step, _weigh(level, lower, two), row + 1 < last, j, width, CHANNELS)
        level = _weigh(_weigh(none, upper, one), centre, two)
        below = _weigh(none, upper, two)
        at += 2 * step
        to += 2 * step


@triton.jit
def _correlate(sums, pair, window):
    """The sums of g[j] x[j-1], g[j] x[j] and g[j] x[j+1] with those of a pair of columns of g added."""
    left, middle, right = sums
    even, odd = pair
    a, b, c, d = window
    return left + even * a + odd * b, middle + even * b + odd * c, right + even * c + odd * d


@triton.jit
def _add(a, b, c, left, middle, right):
    return a + left, b + middle, c + right


@triton.jit
def _save(place, sums, CHANNELS: tl.constexpr):
    """Three sums over the columns, reduced together: each reduction makes all threads wait several times."""
    left, middle, right = tl.reduce(sums, 0, _add)
    tl.store(place, left)
    tl.store(place + CHANNELS, middle)
    tl.store(place + 2 * CHANNELS, right)


@triton.jit(do_not_specialize=["height", "width", "strips", "long"])
def stencil_gradient(
    x,
    g,
    partial,
    height,
    width,
    strips,
    long,
    CHANNELS: tl.constexpr,
    ROWS: tl.constexpr,
    PAIRS: tl.constexpr,
    ACROSS: tl.constexpr,
):
    """partial[s, p, q, c]: the part of Σ g[b, i, j, c] x[b, i+p-1, j+q-1, c] with x's row and g's column in block s.

    A row of x meets the rows of g below it (p = 0), beside it and above it (p = 2), two of which are in registers
    already. ROWS of them are unrolled, which lets their reads overlap.
    """
    first, last, j, c, start = _strip(height, width, strips, long, CHANNELS, PAIRS, ACROSS)
    step = width * CHANNELS
    at = x + start
    out = g + start
    zero = tl.zeros((PAIRS, ACROSS), dtype=tl.float32)
    upper = (zero, zero, zero)
    centre = (zero, zero, zero)
    lower = (zero, zero, zero)
    above = _pair(out - step, first > 0, j, width, CHANNELS)
    level = _pair(out, True, j, width, CHANNELS)
    for top in range(first, last, ROWS):
        for s in tl.static_range(ROWS):
            row = top + s
            window = _window(at, row < last, j, width, CHANNELS)
            below = _pair(out + step, row + 1 < height, j, width, CHANNELS)
            upper = _correlate(upper, below, window)
            centre = _correlate(centre, level, window)
            lower = _correlate(lower, above, window)
            above = level
            level = below
            at += step
            out += step
    part = tl.program_id(0) * tl.num_programs(1) + tl.program_id(1)
    place = partial + part * 9 * CHANNELS + c
    _save(place, upper, CHANNELS)
    _save(place + 3 * CHANNELS, centre, CHANNELS)
    _save(place + 6 * CHANNELS, lower, CHANNELS)


@triton.jit(do_not_specialize=["parts"])
def total(partial, result, parts, count, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """result[k] = Σ_s partial[s, k], k < count, in a fixed order: the second stage of `stencil_gradient`."""
    k = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    sums = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
    for start in range(0, parts, ROWS):
        s = start + tl.arange(0, ROWS)
        sums += tl.load(partial + s[:, None] * count + k[None, :], mask=(s < parts)[:, None], other=0.0)
    tl.store(result + k, tl.sum(sums, 0))


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
