"""The scattering transform t(k) of a conductivity in the unit disk, from its Dirichlet-to-Neumann map.

For complex k there is one solution ψ of div(σ∇ψ) = 0 in the plane, σ = 1 outside the disk, that is e^{ikz} far away.
With Λ_σ the map from boundary values to the normal current density and Λ_1 that of the empty disk,

    t(k) = ∫ e^{ik̄z̄} (Λ_σ - Λ_1) ψ(·, k) ds,        ψ = e^{ikz} - ∫ G_k(z - ζ) (Λ_σ - Λ_1) ψ ds(ζ)  on the circle,

G_k being Faddeev's Green's function. It is G_k(z) = -(1/2π) Re Ei(ikz) (Boiti, Leon, Manna, Pempinelli 1987), so that

    G_k(z) = -(1/2π) [γ + log|kz| + Re Σ_{n≥1} (ikz)^n / (n n!)].

On the circle the logarithm maps e^{inθ} to e^{inθ} / (2|n|), constants do not matter, as no net current flows, and the
series of (z - ζ)^n splits into z^j ζ^l: in Fourier modes the equation for ψ is a small linear system in closed form.
`exp` leaves the integral away, ψ = e^{ikz}, which is called t^exp: to first order in Λ_σ - Λ_1 the same. For a
radial σ, where Λ_σ e^{inθ} = λ_|n| e^{inθ}, it is the series

    t^exp(k) = 2π Σ_{n≥1} (-1)^n |k|^{2n} (λ_n - n) / (n!)²,

since e^{ikz} = Σ (ik)^n e^{inθ} / n! and e^{ik̄z̄} = Σ (ik̄)^n e^{-inθ} / n!. Where σ = a within the radius ρ and 1
beyond, λ_n = n (1 + μρ^{2n}) / (1 - μρ^{2n}), μ = (a - 1) / (a + 1).

References: A. Nachman, Ann. Math. 143 (1996); K. Knudsen, M. Lassas, J. L. Mueller, S. Siltanen, Inverse Probl.
Imaging 3 (2009).
"""

from typing import Literal

import torch
from jaxtyping import Complex128
from torch import Tensor

Traces = Literal["exact", "exp"]
"""Boundary values of ψ: from the integral equation, or e^{ikz} in their place."""
Modes = Complex128[Tensor, "modes modes"]
_AT_ONCE = 256  # values of k, whose systems of 64 modes take 16 MB


def scattering_transform(
    difference: Modes, k: Complex128[Tensor, "points"], traces: Traces = "exact"
) -> Complex128[Tensor, "points"]:
    """Compute t(k) from Λ_σ - Λ_1 as a matrix between the modes e^{inθ}, n = -N … N.

    >>> n = torch.arange(-16, 17, dtype=torch.float64).abs()  # σ = 2 within the radius ½
    >>> change = n * (1 + 0.25**n / 3) / (1 - 0.25**n / 3) - n
    >>> k = torch.tensor([0.5, 1.0, 2.0], dtype=torch.complex128)
    >>> t = scattering_transform(torch.diag(change).to(k.dtype), k)
    >>> [round(value, 3) for value in t.real.tolist()]
    [-0.258, -0.892, -1.92]
    """
    return torch.cat([_scattered(difference, part, traces) for part in torch.split(k, _AT_ONCE)])


def _scattered(difference: Modes, k: Complex128[Tensor, "points"], traces: Traces) -> Tensor:
    top = len(difference) // 2
    powers = _powers(k, top)
    psi = torch.cat([powers.new_zeros(len(k), top), powers], 1)
    if traces == "exact":
        eye = torch.eye(len(difference), dtype=k.dtype, device=k.device)
        psi = torch.linalg.solve(eye + _faddeev(k, top) @ difference, psi)
    measured = (psi @ difference.mT)[:, top:]
    return 2 * torch.pi * (_powers(k.conj(), top) * measured).sum(1)


def _powers(k: Complex128[Tensor, "points"], top: int) -> Complex128[Tensor, "points orders"]:
    """(ik)^n / n!, n = 0 … N: the coefficients of e^{ikz}."""
    order = torch.arange(1, top + 1, dtype=torch.float64, device=k.device)
    return torch.cat([torch.ones_like(k)[:, None], torch.cumprod(1j * k[:, None] / order, 1)], 1)


def _faddeev(k: Complex128[Tensor, "points"], top: int) -> Complex128[Tensor, "points modes modes"]:
    """The single layer of G_k between the modes, but for constants."""
    n = torch.arange(top + 1, dtype=torch.float64, device=k.device)
    powers = _powers(k, top)
    sign = torch.where(n % 2 == 0, 1.0, -1.0)
    series = powers[:, :, None] * (powers * sign)[:, None] / (n[:, None] + n).clamp(min=1) / -2
    series[:, 0, 0] = 0
    size = 2 * top + 1
    matrix = torch.zeros(len(k), size, size, dtype=k.dtype, device=k.device)
    matrix[:, top:, : top + 1] += series.flip(2)  # z^j ζ^l takes mode -l to mode j
    matrix[:, : top + 1, top:] += series.conj().flip(1)  # and its conjugate l to -j
    logarithm = torch.cat([n[1:].flip(0), n[1:2], n[1:]]) if top else n
    diagonal = 1 / (2 * logarithm)
    diagonal[top] = 0
    return matrix + torch.diag(diagonal).to(k.dtype)
