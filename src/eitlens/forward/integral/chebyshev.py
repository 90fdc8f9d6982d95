"""Linear systems whose spectrum is known to lie in an interval: Chebyshev's iteration, for large batches on a GPU.

The equations of the boundary integral method are (λ + K) q = s with the spectrum of K in [-1/2, 1/2] and |λ| > 1/2, so
that of the matrix is in [λ - 1/2, λ + 1/2], away from zero. After k steps the error is about 2 ρ^k of the solution,

    ρ = (√κ - 1) / (√κ + 1),     κ = the end far from zero over the near one,

by products with the matrix alone (Saad, Iterative Methods for Sparse Linear Systems, 2003, algorithm 12.1). A
batched LU decomposition on a GPU takes many times as long; the answer is a smooth function of the matrix either way.
"""

import math
from typing import NamedTuple

from jaxtyping import Float64
from torch import Tensor

# Few nodes on an outline move the end near zero a little: closer to it than this share of it was not seen.
_MARGIN = 0.8
# Of the solution; the posterior asks for data to a hundredth of the noise, 1e-4 at best.
_ACCURACY = 1e-6


class Iterated(NamedTuple):
    """The inverse of matrices with spectrum in [near, far]; 0 < near < far, or all signs turned."""

    matrix: Float64[Tensor, "batch unknowns unknowns"]
    near: float
    far: float

    def __call__(self, right: Float64[Tensor, "batch unknowns columns"]) -> Tensor:
        """Solve for some right-hand sides."""
        near = _MARGIN * self.near
        middle, half = (self.far + near) / 2, (self.far - near) / 2
        rho, ratio = half / middle, middle / half
        step = right / middle
        solution, rest = step, right - self.matrix @ step
        for _ in range(steps(self.far / near)):
            following = 1 / (2 * ratio - rho)
            step = following * rho * step + (2 * following / half) * rest
            solution, rest, rho = solution + step, rest - self.matrix @ step, following
        return solution


def steps(condition: float) -> int:
    """Count the steps that a relative error of about 1e-6 takes."""
    root = math.sqrt(condition)
    return math.ceil(math.log(_ACCURACY / 2) / math.log((root - 1) / (root + 1)))
