"""The unit disk with a concentric inclusion: its Neumann-to-Dirichlet map and its Picard sum in closed form.

Let σ be `inside` for |x| < ρ and 1 around it. Λ_σ has the eigenfunctions cos lθ / √π and sin lθ / √π, both with

    λ_l = (1/l) (1 + μ ρ^{2l}) / (1 - μ ρ^{2l}),   μ = (1 - σ) / (1 + σ).

So m_l = l λ_l gives (m_l - 1) / (m_l + 1) = μ ρ^{2l}, and two of these numbers give ρ and σ. This is the example of the
paper's appendix B, which prints these formulas differently: docs/theory.md has both.

The Picard sum of Theorem 1 (`eitlens.classical.theorem1`) over both eigenfunctions of the first K frequencies is

    Θ(r) = Σ_{l <= K} l (1 - μ ρ^{2l}) / (π |μ| ρ²) (r/ρ)^{2(l-1)},

for any K, without the rounding that stops an eigenvalue solver at 10⁻¹⁶. For K → ∞ it is bounded for r < ρ alone, and
there it grows like the inverse square of the distance to the interface: it has no largest value in the inclusion.
"""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from eitlens.errors import InputError

Radii = npt.NDArray[np.float64]


class Inclusion(NamedTuple):
    """The radius of a concentric inclusion in the unit disk, and its conductivity in a background of 1."""

    radius: float
    inside: float

    @property
    def contrast(self) -> float:
        """The number μ."""
        return (1 - self.inside) / (1 + self.inside)


def eigenvalue(order: int, inclusion: Inclusion) -> float:
    """λ_l of Λ_σ itself, for cos lθ and sin lθ; without an inclusion it is 1/l."""
    change = inclusion.contrast * inclusion.radius ** (2 * order)
    return (1 + change) / (1 - change) / order


def recover(first: float, second: float) -> Inclusion:
    """The inclusion from λ_1 and λ_2 of Λ_σ: from m_1 = λ_1 and m_2 = 2 λ_2."""
    change = [(m - 1) / (m + 1) for m in (first, 2 * second)]
    if not change[0] or not 0 < change[1] / change[0] < 1:
        raise InputError(
            f"expected eigenvalues of a concentric inclusion, of one sign less 1 and ½, got {first} and {second}"
        )
    contrast = change[0] ** 2 / change[1]
    return Inclusion(math.sqrt(change[1] / change[0]), (1 - contrast) / (1 + contrast))


def picard(r: Radii, inclusion: Inclusion, orders: int) -> Radii:
    """Θ(r) of the first `orders` frequencies, which is 2 `orders` eigenpairs; infinite where it overflows."""
    rho, mu = inclusion.radius, inclusion.contrast
    ratio, total = (r / rho) ** 2, np.zeros_like(r)
    with np.errstate(over="ignore"):
        for order in range(orders, 0, -1):
            total = total * ratio + order * (1 - mu * rho ** (2 * order))
        return total / (math.pi * abs(mu) * rho**2)


def picard_limit(r: Radii, inclusion: Inclusion) -> Radii:
    """Θ(r) of all frequencies, for r < ρ."""
    rho, mu = inclusion.radius, inclusion.contrast
    own, mirrored = (1 - (r / rho) ** 2) ** -2, (1 - r**2) ** -2
    limit: Radii = (own - mu * rho**2 * mirrored) / (math.pi * abs(mu) * rho**2)
    return limit
