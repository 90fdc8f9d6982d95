"""The direct sampling method (DSM), the ancestor of the paper's network.

Chow, Ito and Zou (Inverse Problems 30, 2014) image the inclusion by

    I(x) = |∇φ(x)| / ( |f - f0|_L² |η_x|_H^s ),     φ the harmonic extension of (-Δ_b)^γ (f - f0),

where η_x = d · ∇_x N(x, ·), the boundary trace of a dipole at x along d = ∇φ/|∇φ|, is what an inclusion at x
would send to the boundary: dividing by its size makes points near the boundary, which speak loudly,
comparable with the centre.
"""

import torch
from jaxtyping import Float64
from torch import Tensor

from eitlens.domain import Domain, check_boundary_values
from eitlens.domain.base import CPU
from eitlens.errors import InputError
from eitlens.forward.base import Data
from eitlens.forward.currents import arclength
from eitlens.memory import cached

Field = Float64[Tensor, "*batch nx ny"]


def direct_sampling(
    domain: Domain, difference: Data, s: float = 1.5, gamma: float = 0.0, modes: int = 60
) -> Field:
    """The DSM index from (…, L, N) boundary data: an image (…, nx, ny), the mean over the L currents.

    `s` is the Sobolev exponent of the normaliser and `gamma` the power of the boundary Laplacian on the data.
    Where f = f0 there is nothing to see and the index is 0.
    """
    data = check_boundary_values(domain, difference, "f - f0")
    if data.ndim < 2 or data.shape[-2] == 0:
        raise InputError(f"f - f0: expected (currents, boundary) values, got shape {tuple(data.shape)}")
    _, dx, dy = domain.extend_with_gradient(_boundary_power(domain, data, gamma))
    mxx, mxy, myy = probing_tensor(domain, s, modes, data.device)
    squared = dx.square() + dy.square()
    # |∇φ| / |η_x| with |η_x|² = dᵀ M d, d = ∇φ/|∇φ|: both over |∇φ|, so that no direction is needed where ∇φ
    # = 0.
    probe = (mxx * dx.square() + 2 * mxy * dx * dy + myy * dy.square()).sqrt()
    size = domain.boundary_norm(data)[..., None, None]
    index = torch.where((probe > 0) & (size > 0), squared / (probe * size).clamp(min=1e-300), 0.0)
    return index.mean(-3)


def probing_tensor(
    domain: Domain, s: float = 1.5, modes: int = 60, device: torch.device = CPU
) -> tuple[Float64[Tensor, "nx ny"], Float64[Tensor, "nx ny"], Float64[Tensor, "nx ny"]]:
    """The field M(x) with |η_x|²_H^s = dᵀ M(x) d for the dipole η_x along d: its entries xx, xy, yy.

    By reciprocity (η_x, e) = d · ∇ψ_e(x), ψ_e the harmonic extension of e, so with the orthonormal Fourier
    modes e_k of frequency κ_k in arclength, M = Σ_k κ_k^{2s} ∇ψ_k ∇ψ_kᵀ. Mode k reaches a distance of about
    1/κ_k into the body: `modes` frequencies resolve all points more than 4/κ_modes from the boundary.
    Sample-independent, computed once.
    """
    return _probing_tensor(domain, s, modes, device)


@cached
def _probing_tensor(
    domain: Domain, s: float, modes: int, device: torch.device
) -> tuple[Tensor, Tensor, Tensor]:
    if not 1 <= modes <= domain.boundary_size // 2 - 1:
        raise InputError(
            f"modes: expected 1 to {domain.boundary_size // 2 - 1} on this boundary, got {modes}"
        )
    currents = arclength(domain, 2 * modes).to(device)
    order = torch.arange(1, modes + 1, dtype=torch.float64, device=device).repeat_interleave(2)
    kappa = order * (2 * torch.pi / domain.perimeter)
    xx, xy, yy = (torch.zeros(domain.shape, dtype=torch.float64, device=device) for _ in range(3))
    for part, weight in zip(torch.split(currents, 16), torch.split(kappa ** (2 * s), 16), strict=True):
        _, dx, dy = domain.extend_with_gradient(part)
        xx += torch.einsum("k,kij,kij->ij", weight, dx, dx)
        xy += torch.einsum("k,kij,kij->ij", weight, dx, dy)
        yy += torch.einsum("k,kij,kij->ij", weight, dy, dy)
    return xx, xy, yy


def _boundary_power(domain: Domain, data: Data, gamma: float) -> Data:
    """(-Δ_b)^γ on the closed loop: κ^{2γ} in the Fourier modes of arclength."""
    if gamma == 0:
        return data
    size, spacing = domain.boundary_size, domain.boundary_weight / (2 * torch.pi)
    kappa = torch.fft.rfftfreq(size, spacing, dtype=torch.float64, device=data.device)
    factor = torch.where(kappa > 0, kappa ** (2 * gamma), 0.0)
    smoothed: Data = torch.fft.irfft(torch.fft.rfft(data) * factor, n=size)
    return smoothed
