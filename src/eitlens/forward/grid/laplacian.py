"""The Laplacian of a uniform body on the grid and its exact inverse by cosine transforms.

The nine-point ("Mehrstellen") stencil

            1 | -1  -4  -1 |
    A0  =  ―― | -4  20  -4 |  =  K ⊗ E + E ⊗ K - K ⊗ K / 6,
            6 | -1  -4  -1 |

is the mean of linear elements on two triangles a cell (five points) and bilinear elements (nine points). K =
tridiag(-1, 2, -1) with ends 1 and E = diag(½, 1, …, 1, ½) share the cosines of `domain.cosine`: K C = E C
diag(a), a_m = 2 - 2cos(mπ/n). For harmonic functions the truncation errors of the two elements cancel, and so
they do in the rows at the sides with the trapezoid load h g: both A0 and the Neumann condition are of fourth
order where u is harmonic. Reference: L. Collatz, "The Numerical Treatment of Differential Equations",
Springer 1960, chapter V.
"""

from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Float64
from torch import Tensor
from torch.nn.functional import pad

from eitlens.domain import cosine
from eitlens.memory import cached

Nodal = Float64[Tensor, "*batch nodes nodes"]


@dataclass(frozen=True)
class Laplacian:
    """A0⁻¹ = C diag(gain) C without the constant mode: from loads of zero sum to fields of zero mean."""

    cosines: Float64[Tensor, "nodes nodes"]
    gain: Float64[Tensor, "nodes nodes"]

    @cached_property
    def aligned(self) -> "Laplacian":
        """The Laplacian padded with zeros: a GPU multiplies matrices twice as fast when 8 divides their size."""
        short = -len(self.gain) % 8 if self.gain.is_cuda else 0
        return Laplacian(*(pad(matrix, (0, short, 0, short)) for matrix in (self.cosines, self.gain)))

    def solve(self, load: Nodal) -> Nodal:
        """The field u with A0 u = load, differentiable."""
        c = self.cosines
        return c @ (self.gain * (c @ load @ c)) @ c

    def solve_(
        self, load: Float64[Tensor, "rows nodes nodes"], work: Float64[Tensor, "rows nodes nodes"]
    ) -> None:
        """Solve in place of `load`, with one field of work space.

        Products from the left are done as transposes from the right: (xᵀ C)ᵀ = C x; `gain` is symmetric.
        """
        rows, size, _ = load.shape
        flat = (rows * size, size)
        every = self.cosines.expand(rows, size, size)
        torch.mm(load.view(flat), self.cosines, out=work.view(flat))
        torch.bmm(work.mT, every, out=load)
        load.mul_(self.gain)
        torch.mm(load.view(flat), self.cosines, out=work.view(flat))
        torch.bmm(work.mT, every, out=load)


@cached
def laplacian(n: int, device: torch.device) -> Laplacian:
    """The Laplacian on n cells a side. CᵀEC = diag(n, n/2, …, n/2, n) normalises the cosines."""
    a = 2 - 2 * cosine.synthesis(n, device)[1]
    a, b = a[:, None], a[None, :]
    symbol = a + b - a * b / 6
    norm = n / 2 / cosine.end_weights(n, device)
    symbol[0, 0] = torch.inf
    return Laplacian(cosine.synthesis(n, device), 1 / (symbol * torch.outer(norm, norm)))
