"""Sparse rows of a fixed length times a vector: y_u = Σ_k w_ku x(index_ku), for every sample and current.

The same numbers are added in the same order on every run, which a scatter on a GPU would not do. On a GPU with Triton
the sum is one kernel that keeps it in registers; elsewhere it is one gather a term.
"""

import torch
from jaxtyping import Float64, Int64
from torch import Tensor

from eitlens import device

Values = Float64[Tensor, "batch currents places"]


def take(x: Values, index: Int64[Tensor, "batch rows"]) -> Float64[Tensor, "batch currents rows"]:
    """The values of x at the places given for each sample, for all currents."""
    return x.gather(2, index[:, None].expand(-1, x.shape[1], -1))


def product(
    weights: Float64[Tensor, "batch terms rows"], index: Int64[Tensor, "batch terms rows"], x: Values
) -> Float64[Tensor, "batch currents rows"]:
    """Σ_k weights[:, k] x[index[:, k]]."""
    if x.is_cuda and device.TRITON:
        return _product_on_gpu(weights, index, x)
    total = weights[:, 0, None] * take(x, index[:, 0])
    for k in range(1, weights.shape[1]):
        total.addcmul_(weights[:, k, None], take(x, index[:, k]))
    return total


def _product_on_gpu(weights: Tensor, index: Tensor, x: Tensor) -> Tensor:
    from eitlens.forward.grid.triton_rows import COLUMNS, CURRENTS, row_product

    batch, terms, rows = weights.shape
    currents, places = x.shape[1:]
    y = x.new_empty(batch, currents, rows)
    grid = (batch, -(-rows // COLUMNS), -(-currents // CURRENTS))
    given = weights.contiguous(), index.contiguous(), x.contiguous()
    with torch.cuda.device(x.device):
        row_product[grid](*given, y, terms, rows, currents, places, COLUMNS, CURRENTS)
    return y
