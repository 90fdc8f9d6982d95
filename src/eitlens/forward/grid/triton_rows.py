"""The sum of `rows.product` as one GPU kernel in Triton. Imported on a CUDA device only."""

import triton
import triton.language as tl

COLUMNS, CURRENTS = 256, 4
"""Rows and currents of one program: powers of two, as Triton asks; few currents, as most calls have."""


@triton.jit
def row_product(
    weights, index, x, y, terms, rows, currents, places, COLUMNS: tl.constexpr, CURRENTS: tl.constexpr
):
    """y[b, c, u] = Σ_k weights[b, k, u] x[b, c, index[b, k, u]] for a block of rows u and a few currents c."""
    b = tl.program_id(0).to(tl.int64)
    u = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    c = tl.program_id(2) * CURRENTS + tl.arange(0, CURRENTS)
    keep = (c < currents)[:, None] & (u < rows)[None, :]
    total = tl.zeros((CURRENTS, COLUMNS), dtype=tl.float64)
    for k in range(terms):
        entry = (b * terms + k) * rows + u
        weight = tl.load(weights + entry, mask=u < rows, other=0.0)
        place = tl.load(index + entry, mask=u < rows, other=0)
        value = tl.load(x + (b * currents + c)[:, None] * places + place[None, :], mask=keep, other=0.0)
        total += weight[None, :] * value
    tl.store(y + (b * currents + c)[:, None] * rows + u[None, :], total, mask=keep)
