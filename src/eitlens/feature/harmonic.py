"""The paper's feature map: the harmonic extension φ of f - f0 turns boundary data into 2-D channels."""

import torch
from jaxtyping import Float, Float64
from torch import Tensor

from eitlens.domain import Domain, check_boundary_values


def harmonic_extension(
    domain: Domain, difference: Float[Tensor, "*batch currents boundary"], gradient: bool = False
) -> Float64[Tensor, "*batch channels nx ny"]:
    """Solve Δφ_l = 0, ∂φ_l/∂n = f_l - f0_l, ∮φ_l = 0 for each current.

    (…, L, N) boundary values give (…, L, nx, ny); with `gradient` (…, 3L, nx, ny), in the order φ_1 … φ_L,
    ∂φ_1/∂x … ∂φ_L/∂x, ∂φ_1/∂y … ∂φ_L/∂y. Linear in the data, so noise in f stays noise of its size in φ,
    smoothed; differentiable; the gradient is in closed form and holds up to the boundary, where its normal
    part is f - f0.

    >>> square = eit.Square(32)
    >>> eit.harmonic_extension(square, eit.currents.cosine(square, 3), gradient=True).shape
    torch.Size([9, 33, 33])
    """
    data = check_boundary_values(domain, difference, "f - f0")
    if not gradient:
        return domain.extend(data)
    value, dx, dy = domain.extend_with_gradient(data)
    return torch.cat([value, dx, dy], -3)
