"""The index function of the paper's Theorem 1: the inclusion from the full Neumann-to-Dirichlet map.

With the eigenpairs (λ_l, g_l) of Λ_σ - Λ_σ0 and ψ_l the harmonic extension of g_l, the Picard sum

    Θ_L(x) = Σ_{l <= L} |∇ψ_l(x)|² / |λ_l|

stays bounded as L grows if x is in the inclusion D and diverges if it is not. (The paper writes it with φ_l =
λ_l ψ_l, the extension of (Λ_σ - Λ_σ0) g_l, over |λ_l|³, and one direction d; we add up two orthogonal
directions. Its λ_l are called positive but are negative for σ > σ0: only |λ_l| enters.) Then

    I_L = 1 - (2/π) arctan( (π ε / 2ρ) Θ_L ),     ρ > Θ_L,

tends to 1 - O(ε) in D and to 0 outside, uniformly on sets that keep a distance from the interface. Not so on the
whole body, as the theorem says: I_L is continuous and the indicator jumps, and Θ_L has no bound in D that holds for all
L. What that means in numbers: docs/theory.md.
"""

import math

import torch
from jaxtyping import Float64
from torch import Tensor

from eitlens.domain import Domain
from eitlens.errors import InputError
from eitlens.forward.ntd import Eigenpairs

Field = Float64[Tensor, "nx ny"]
_PAIRS_AT_ONCE = 16  # for memory: 16 gradients at 201² nodes take 10 MB


def picard_sum(domain: Domain, pairs: Eigenpairs, count: int | None = None) -> Field:
    """The sum Θ_L with L = `count`, or as many eigenpairs as stand above the noise floor if that is fewer.

    Infinite at nodes that are not in the body.

    >>> import eitlens as eit
    >>> square, phantom = eit.Square(16), eit.Phantom((eit.Ellipse((0.25, 0.0), (0.4, 0.4)),), (10.0,))
    >>> pairs = eit.NeumannToDirichlet(eit.BoundaryIntegralSolver(square), phantom).eigenpairs()
    >>> theta = eit.picard_sum(square, pairs)
    >>> bool(theta[10, 8] < theta[2, 8])  # (0.25, 0) lies in the inclusion, (-0.75, 0) does not
    True
    """
    usable = int((pairs.values.abs() > pairs.floor).sum())
    kept = usable if count is None else min(count, usable)
    if kept == 0:
        raise InputError("no eigenvalue stands above the noise floor: is there an inclusion at all?")
    total = torch.zeros(domain.shape, dtype=torch.float64, device=pairs.values.device)
    for part in torch.split(torch.arange(kept), _PAIRS_AT_ONCE):
        values, functions = pairs.values[part], pairs.functions[part]
        _, dx, dy = domain.extend_with_gradient(functions)
        total += torch.einsum("l,lij->ij", 1 / values.abs(), dx.square() + dy.square())
    return total.masked_fill(~domain.inside(total.device), torch.inf)


def index_function(
    theta: Field, epsilon: float = 0.1, rho: float | None = None, fraction: float = 0.1
) -> Field:
    """The index function I_L in [0, 1], near 1 inside. Without `rho`, what Θ_L stays below on `fraction` of the body.

    >>> import eitlens as eit
    >>> theta = torch.tensor([[1.0, 10.0], [100.0, 1000.0]], dtype=torch.float64)
    >>> [round(float(value), 2) for value in eit.index_function(theta, rho=1.0).flatten()]
    [0.9, 0.36, 0.04, 0.0]
    """
    if rho is None:
        rho = float(theta[theta.isfinite()].quantile(fraction))
    if not (0 < epsilon < 1 and rho > 0):
        raise InputError(f"expected 0 < epsilon < 1 and rho > 0, got {epsilon} and {rho}")
    return 1 - (2 / math.pi) * torch.atan(math.pi * epsilon / (2 * rho) * theta)
