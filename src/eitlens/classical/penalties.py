"""What minimisation (7) of the paper asks of an image beside the data: H¹ and total variation of a function on cells.

The function x has a value in each of n × n cells of width h and is zero around them. Across each edge of a cell it has
a difference d. At a corner |∇x|² is the sum of the means of d² / h² over the two edges along x and the two along y:

    H¹: ∫ |∇x|² = Σ d²,        TV: 2 ∫ √(|∇x|² + β²) = 2 h² Σ √(|∇x|² + β²) over the corners.

Both are quadratic forms Σ w d² with a weight w of each edge: 1, or the mean of 1/√(|∇x|² + β²) at its ends. That of TV
holds near the x that its weights were computed from (lagged diffusivity): there the slopes agree.

Reference: C. R. Vogel, M. E. Oman, SIAM J. Sci. Comput. 17 (1996).
"""

from typing import Literal, NamedTuple

import torch
from jaxtyping import Float64
from torch import Tensor
from torch.nn import functional as fn

Cells = Float64[Tensor, "nx ny"]
Regulariser = Literal["tv", "h1"]
_FLAT = 1.0  # β: the slope where TV begins to count; a contrast of 10 within a cell is thirty times steeper


class Steps(NamedTuple):
    """A number at each edge: between neighbours along x (n + 1, n), and along y (n, n + 1)."""

    x: Float64[Tensor, "mx ny"]
    y: Float64[Tensor, "nx my"]


def value(x: Cells, kind: Regulariser) -> float:
    """R(x)."""
    if kind == "h1":
        return float(sum(part.square().sum() for part in _differences(x)))
    return 2 * _width(x) ** 2 * float(_steepness(x).sum())


def matrix(x: Cells, kind: Regulariser) -> Float64[Tensor, "cells cells"]:
    """The matrix of the quadratic form with the weights of x: half the slope of R at x is its product with x."""
    w, n = _weights(x, kind), len(x)
    number = torch.arange(n * n, device=x.device).view(n, n)
    total = torch.diag((w.x[1:] + w.x[:-1] + w.y[:, 1:] + w.y[:, :-1]).flatten())
    for one, other, weight in (
        (number[1:], number[:-1], w.x[1:-1]),
        (number[:, 1:], number[:, :-1], w.y[:, 1:-1]),
    ):
        total[one, other] = -weight
        total[other, one] = -weight
    return total


def _width(x: Cells) -> float:
    return 2 / len(x)


def _differences(x: Cells) -> Steps:
    padded = fn.pad(x, (1, 1, 1, 1))
    return Steps(padded[:, 1:-1].diff(dim=0), padded[1:-1].diff(dim=1))


def _steepness(x: Cells) -> Float64[Tensor, "mx my"]:
    """√(|∇x|² + β²) at the corners of the cells."""
    along_x, along_y = (part.square() for part in _differences(x))
    x_sum, y_sum = fn.pad(along_x, (1, 1)), fn.pad(along_y, (0, 0, 1, 1))
    square = (x_sum[:, 1:] + x_sum[:, :-1] + y_sum[1:] + y_sum[:-1]) / 2
    return (square / _width(x) ** 2 + _FLAT**2).sqrt()


def _weights(x: Cells, kind: Regulariser) -> Steps:
    if kind == "h1":
        return Steps(*(torch.ones_like(part) for part in _differences(x)))
    even = 1 / _steepness(x)
    return Steps((even[:, 1:] + even[:, :-1]) / 2, (even[1:] + even[:-1]) / 2)
