"""A solver: the Neumann-to-Dirichlet map σ, g ↦ f of a body, one file per way to compute it.

    div(σ ∇u) = 0 in Ω,   σ ∂u/∂n = g on ∂Ω,   ∮u = 0;   f = u on ∂Ω = Λ_σ g.

What carries the image is the difference f - f0 with the same current in the body without inclusions, f0 =
Λ_σ0 g.
"""

import math
from abc import ABC, abstractmethod
from typing import ClassVar

import torch
from jaxtyping import Float, Float64
from torch import Tensor

from eitlens import checks
from eitlens.domain import Disk, Domain, check_boundary_values
from eitlens.errors import InputError
from eitlens.phantom import Phantoms, as_batch

# Of any precision when they come from a user; what the library returns is float64.
Currents = Float[Tensor, "*phantoms currents boundary"]
Data = Float[Tensor, "*batch currents boundary"]
Modes = Float64[Tensor, "*batch waves waves"]


_LARGEST = 1e100
"""Of a current, and one over it the least: their squares are still numbers."""


class Solver(ABC):
    """A Neumann-to-Dirichlet solver on one domain.

    >>> eit.GridSolver.order, eit.BoundaryIntegralSolver.order
    (2.0, 4.0)
    """

    domain: Domain
    order: ClassVar[float]
    """Declared order of convergence of the boundary data as the loop and the grid are refined; tested."""

    @abstractmethod
    def difference(self, conductivity: Phantoms, currents: Currents) -> Data:
        """The data f - f0: (L, N) for one phantom and L currents, (B, L, N) for a list or batch of B.

        `currents` is (L, N) for the same currents everywhere, or (B, L, N); the result is where the currents
        are.
        """

    def background(self, currents: Currents, outside: float | Float64[Tensor, "batch"] = 1.0) -> Data:
        """f0 = Λ_σ0 g for the uniform conductivity `outside`."""
        g = check_currents(self.domain, currents)
        return per_conductivity(self.domain.background(g), outside)

    def modes(self, conductivity: Phantoms, count: int) -> Modes:
        """Λ_σ - Λ_σ0 of the unit disk as a symmetric matrix (2K, 2K), or (B, 2K, 2K), between waves on the circle.

        The waves, cos kθ / √π for k = 1 … K = `count` and then sin kθ / √π, have unit length. On another body θ is
        the angle after the Riemann map, and a wave is that current density on the circle.
        """
        if self.domain.name != Disk.name:
            raise InputError(f"{type(self).__name__} knows the waves of a disk, not of a {self.domain.name}")
        theta = self.domain.angle(as_batch(conductivity).device)
        order = torch.arange(1, count + 1, dtype=torch.float64, device=theta.device)[:, None] * theta
        waves = torch.cat([order.cos(), order.sin()]) / math.sqrt(math.pi)
        data = self.difference(conductivity, waves - waves.mean(-1, keepdim=True))
        return self.domain.boundary_weight * data @ waves.mT


def per_conductivity(trace: Data, outside: float | Float64[Tensor, "batch"]) -> Data:
    """The trace for conductivity 1 over another, one for all bodies or one each."""
    sigma = checks.positive(torch.as_tensor(outside, dtype=torch.float64, device=trace.device), "outside")
    return trace / (sigma if sigma.ndim == 0 else sigma[:, None, None])


def check_currents(
    domain: Domain, currents: Tensor, phantoms: int | None = None
) -> Float64[Tensor, "*phantoms currents boundary"]:
    """Currents as float64, refused when not finite, not on the boundary nodes or not of zero mean."""
    given = checks.real(currents, "currents")
    g = check_boundary_values(domain, given, "currents")
    if g.ndim not in (2, 3) or g.shape[-2] == 0 or (g.ndim == 3 and phantoms not in (None, len(g))):
        expected = (
            f"(currents, {domain.boundary_size}) values, the same for all phantoms, or such for each of them"
        )
        raise InputError(f"currents: expected {expected}, got shape {tuple(g.shape)}")
    size = g.detach().abs().amax(-1)
    if bool(((size > 0) & ((size < 1 / _LARGEST) | (size > _LARGEST))).any()):
        sizes = size[size > 0]
        worst = float(sizes[sizes.log().abs().argmax()])
        raise InputError(f"currents: one has a size of {worst:.3g}: is the unit right?")
    allowed = max(1e-10, torch.finfo(given.dtype).eps if given.is_floating_point() else 0.0)
    # A current that is the difference of large ones keeps their rounding.
    mean, slack = g.detach().mean(-1).abs(), allowed * size + torch.finfo(g.dtype).eps * size.amax()
    if bool((mean > slack).any()):
        raise InputError(
            "currents must have zero mean on the boundary (what goes in comes out), "
            f"got a mean of {float(mean[mean > slack].amax()):.3g}: eitlens.currents.project(g) takes it off"
        )
    # What has a mean of zero has none once it is rounded node by node to fewer digits.
    return g if allowed == 1e-10 else g - g.mean(-1, keepdim=True)
