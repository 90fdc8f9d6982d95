"""Cosine transforms on the nodes of an interval, as dense matrices.

On x_i = -1 + i h, i = 0 … n, the cosines cos(mπ(x+1)/2), m = 0 … n, are the eigenvectors of the
second-difference matrix with Neumann ends. A transform of n ≈ 200 points is a product with a small dense
matrix: batched, differentiable, exportable, and faster than an FFT of that length on both CPU and GPU.
"""

import torch
from jaxtyping import Float64
from torch import Tensor

from eitlens.memory import cached

Matrix = Float64[Tensor, "nodes modes"]


def angles(n: int, device: torch.device) -> Matrix:
    """The matrix i m π / n, reduced modulo 2π in integers so that no digit is lost for large products."""
    index = torch.arange(n + 1, device=device)
    return (torch.outer(index, index) % (2 * n)).to(torch.float64) * (torch.pi / n)


@cached
def synthesis(n: int, device: torch.device) -> Matrix:
    """C with C[i, m] = cos(i m π / n): nodal values = C @ coefficients. C is symmetric."""
    return torch.cos(angles(n, device))


@cached
def analysis(n: int, device: torch.device) -> Float64[Tensor, "modes nodes"]:
    """The inverse of `synthesis`: coefficients = F @ values (the DCT-I, ends weighted by one half)."""
    ends = end_weights(n, device)
    return (2.0 / n) * ends[:, None] * synthesis(n, device) * ends


@cached
def end_weights(n: int, device: torch.device) -> Float64[Tensor, "nodes"]:
    """Trapezoid weights in units of h: one half at both ends, one between."""
    weights = torch.ones(n + 1, dtype=torch.float64, device=device)
    weights[0] = weights[-1] = 0.5
    return weights
