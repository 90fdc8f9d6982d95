"""Boundary data back from their harmonic extension."""

from functools import lru_cache

import torch
from jaxtyping import Float64
from torch import Tensor

from eitlens.domain import Square


def neumann_data(
    domain: Square, phi: Float64[Tensor, "samples currents nx ny"]
) -> tuple[Float64[Tensor, "samples currents boundary"], float]:
    """The Neumann data w of harmonic functions φ given on the grid.

    The second value is the largest relative L² difference of φ and the extension of w, over samples and currents.

    φ is determined by its values on the boundary: solve T w = φ|∂Ω, where T = trace ∘ extension is the
    Neumann-to-Dirichlet map of the empty body. T is of order -1, so an error of φ there is amplified
    at most by about the number of nodes, and only in its roughest part.
    """
    level = domain.trace(phi).mean(-1)[..., None, None]
    given = phi - level
    trace = domain.trace(given).flatten(0, 1)
    data = torch.linalg.lu_solve(*_factors(domain), trace.T).T.reshape(*phi.shape[:2], domain.boundary_size)
    error = (domain.extend(data) - given).square().sum((-2, -1)).sqrt()
    norm = given.square().sum((-2, -1)).sqrt().clamp(min=1e-300)  # no data, no error
    return data, float((error / norm).max())


@lru_cache(maxsize=1)
def _factors(domain: Square) -> tuple[Tensor, Tensor]:
    """LU factors of T, kept for the next call: they take longer than all else.

    T kills constants: with the rank one added it is invertible, and the solution has zero mean.
    """
    size = domain.boundary_size
    matrix = domain.background(torch.eye(size, dtype=torch.float64)).T
    factors, pivots = torch.linalg.lu_factor(matrix + 1 / size)
    return factors, pivots
