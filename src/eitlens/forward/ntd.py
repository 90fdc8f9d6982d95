"""The Neumann-to-Dirichlet map of one body as a linear operator."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import torch
from jaxtyping import Float64
from torch import Tensor

from eitlens.forward.base import Currents, Data, Solver
from eitlens.forward.currents import project
from eitlens.phantom import Phantom

Matrix = Float64[Tensor, "boundary boundary"]
# Rounding of an eigenvalue, in units of eps times the largest: the sums have a few hundred terms.
_ROUNDINGS = 100


class Eigenpairs(NamedTuple):
    """Eigenpairs (Λ_σ - Λ_σ0) g_l = λ_l g_l, largest |λ| first; g_l of unit norm in L²(∂Ω)."""

    values: Float64[Tensor, "count"]
    functions: Float64[Tensor, "count boundary"]
    floor: float
    """Below this |λ| is noise: the size of what should vanish (see `NeumannToDirichlet.eigenpairs`)."""


@dataclass(frozen=True)
class NeumannToDirichlet:
    """The map Λ_σ, f = Λ_σ g, as a solver sees it. Symmetric in L²(∂Ω), kills constants, decreasing in σ.

    >>> import eitlens as eit
    >>> square = eit.Square(8)
    >>> phantom = eit.Phantom((eit.Ellipse((0.2, 0.1), (0.3, 0.2)),), (10.0,))
    >>> ntd = eit.NeumannToDirichlet(eit.BoundaryIntegralSolver(square), phantom)
    >>> ntd.matrix.shape, bool(ntd.eigenpairs(3).values.max() < 0)
    (torch.Size([32, 32]), True)
    """

    solver: Solver
    phantom: Phantom

    def apply(self, currents: Currents) -> Data:
        """The potential f = Λ_σ g."""
        return self.solver.background(currents, self.phantom.outside) + self.difference(currents)

    def difference(self, currents: Currents) -> Data:
        """The difference f - f0 = (Λ_σ - Λ_σ0) g."""
        return self.solver.difference(self.phantom, currents)

    @cached_property
    def difference_matrix(self) -> Matrix:
        """The matrix D with f - f0 = D g for any nodal current g of zero mean; constants are sent to zero."""
        return self.difference(self._basis).T

    @cached_property
    def matrix(self) -> Matrix:
        """The matrix of Λ_σ itself."""
        return self.solver.background(self._basis, self.phantom.outside).T + self.difference_matrix

    def eigenpairs(self, count: int | None = None) -> Eigenpairs:
        """The leading eigenpairs of Λ_σ - Λ_σ0.

        Mind the sign: for σ > σ0 inside the inclusion the current meets less resistance, so all λ are
        negative (the paper says positive). Of the true operator neither an antisymmetric part nor, where all
        inclusions conduct better than the body or all worse, an eigenvalue of the other sign than the largest
        can come, so their size is the noise floor, beside a few units of rounding. With inclusions of both
        kinds both signs are true, and the floor is far too high.
        """
        return eigenpairs(self.difference_matrix, self.solver.domain.boundary_weight, count)

    @property
    def _basis(self) -> Currents:
        size = self.solver.domain.boundary_size
        return project(torch.eye(size, dtype=torch.float64))


def eigenpairs(matrix: Matrix, weight: float, count: int | None = None) -> Eigenpairs:
    """The leading eigenpairs of a measured difference matrix D (f - f0 = D g), and its noise floor."""
    values, vectors = torch.linalg.eigh((matrix + matrix.T) / 2)
    order = values.abs().argsort(descending=True)[:count]
    lead = values[order[0]]
    wrong_sign = torch.relu(-values * lead.sign()).amax()
    rounding = _ROUNDINGS * torch.finfo(torch.float64).eps * lead.abs()
    antisymmetric = torch.linalg.matrix_norm((matrix - matrix.T) / 2, 2)
    floor = torch.stack([wrong_sign, rounding, antisymmetric]).amax()
    return Eigenpairs(values[order], vectors[:, order].T / weight**0.5, float(floor))
