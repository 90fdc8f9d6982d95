"""The direct sampling method (DSM), the ancestor of the paper's network.

Chow, Ito and Zou (Inverse Problems 30, 2014) compare the data with η_x = d · ∇_x N(x, ·), the boundary trace of a
dipole at x along d: with what a small inclusion at x sends to the boundary. Their index is

    I(x) = |(f - f0, η_x)_γ| / ( |f - f0|_γ |η_x|_s ) = |∇φ(x)| / ( |f - f0|_γ |η_x|_s )

with the products (u, v)_γ = ((-Δ_b)^γ u, v) of the boundary, φ the harmonic extension of (-Δ_b)^γ (f - f0), and
d = ∇φ/|∇φ|. Dividing by the size of η_x makes points near the boundary, which speak loudly, comparable with the centre.

With γ = s, our choice, it is a correlation: by Cauchy and Schwarz I ≤ 1, and I(x) = 1 just where the data are those of
a dipole at x along ∇φ(x). So one small inclusion is seen where it is (on a disk exactly; on the square ∇φ is not
quite along the dipole, and up to a few hundredths are missing to 1). Other exponents promise nothing: with γ = 0 and
s = 3/2, the paper's, the index of a single inclusion is largest somewhere near the centre of the body
(validation/direct_sampling.py).

The products are those of the first `modes` frequencies of the boundary, for the data and for the dipoles. With γ > 0
high frequencies of the data weigh more, and beyond 16 there is mostly noise in them: they are left out. With γ = 0
they do no harm, and the size of a dipole needs them: 16 alone make the paper's index twice as large at a distance of
0.1 from the boundary of the square. So all are taken that the boundary tells apart.
"""

from typing import NamedTuple

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
_FEWER_MODES = 16  # where γ > 0
_MODES_AT_ONCE = 16  # for memory: 16 gradients at 201² nodes take 10 MB


class Probe(NamedTuple):
    """Dipoles that the data are compared with; they depend on the body alone and are computed once.

    Attributes:
        modes: (2K, N), the orthonormal Fourier modes e_k of the boundary.
        weights: (2K), κ_k^{2γ}, κ_k the frequency of e_k in arclength.
        xx, xy, yy: the entries of the field M(x) with |η_x|²_s = dᵀ M(x) d for the dipole η_x along d.
    """

    modes: Float64[Tensor, "modes boundary"]
    weights: Float64[Tensor, "modes"]
    xx: Float64[Tensor, "nx ny"]
    xy: Float64[Tensor, "nx ny"]
    yy: Float64[Tensor, "nx ny"]


def direct_sampling(
    domain: Domain,
    difference: Data,
    s: float = 1.0,
    gamma: float = 1.0,
    modes: int | None = None,
    weights: Float64[Tensor, "currents"] | None = None,
) -> Field:
    """The DSM index from (…, L, N) boundary data: an image (…, nx, ny), the mean over the L currents.

    All currents count the same, or by their `weights`.

    `s` is the exponent of the dipoles' size, `gamma` that of the product: equal, they make the index a correlation
    between 0 and 1. Higher ones are sharper and ask for less noise. Those of the paper are s = 3/2, γ = 0. `modes` is
    the number of frequencies: by default 16 for γ > 0, and all of the boundary for γ = 0.
    Where f = f0 there is nothing to see and the index is 0.

    >>> import eitlens as eit
    >>> square, phantom = eit.Square(32), eit.Phantom((eit.Ellipse((0.25, -0.5), (0.05, 0.05)),), (10.0,))
    >>> data = eit.BoundaryIntegralSolver(square).difference(phantom, eit.currents.cosine(square, 1))
    >>> image = eit.direct_sampling(square, data)
    >>> square.nodes().flatten(0, 1)[image.argmax()].tolist()
    [0.25, -0.5]
    """
    data = check_boundary_values(domain, difference, "f - f0")
    if data.ndim < 2 or data.shape[-2] == 0:
        raise InputError(f"f - f0: expected (currents, boundary) values, got shape {tuple(data.shape)}")
    index = compare(domain, data, _probe(domain, s, gamma, modes, data.device))
    if weights is None:
        return index.mean(-3)
    return torch.einsum("...lij,l->...ij", index, weights / weights.sum().clamp(min=1e-300))


def compare(domain: Domain, data: Float64[Tensor, "*batch boundary"], probe: Probe) -> Field:
    """Compute the index of each current by itself."""
    coefficients = domain.boundary_weight * (data @ probe.modes.mT)
    _, dx, dy = domain.extend_with_gradient((coefficients * probe.weights) @ probe.modes)
    size = (probe.weights * coefficients.square()).sum(-1).sqrt()[..., None, None]
    # |∇φ| / |η_x| with |η_x|² = dᵀ M d, d = ∇φ/|∇φ|: both over |∇φ|, so that no direction is needed where ∇φ = 0.
    dipole = (probe.xx * dx.square() + 2 * probe.xy * dx * dy + probe.yy * dy.square()).sqrt()
    seen = (dipole > 0) & (size > 0)
    index: Field = torch.where(seen, (dx.square() + dy.square()) / torch.where(seen, dipole * size, 1.0), 0.0)
    return index


def probing(
    domain: Domain,
    s: float = 1.0,
    gamma: float = 1.0,
    modes: int | None = None,
    device: torch.device = CPU,
) -> Probe:
    """Compute the dipoles that `compare` needs for the exponents s and γ and the first `modes` frequencies.

    By reciprocity (η_x, e) = d · ∇ψ_e(x), ψ_e the harmonic extension of e, so M = Σ_k κ_k^{2s} ∇ψ_k ∇ψ_kᵀ. Mode k
    reaches a distance of about 1/κ_k into the body: `modes` frequencies are all there is of a dipole more than
    4/κ_modes from the boundary.
    """
    return Probe(*(part.clone() for part in _probe(domain, s, gamma, modes, device)))


@cached
def _probe(domain: Domain, s: float, gamma: float, modes: int | None, device: torch.device) -> Probe:
    most = domain.boundary_size // 2 - 1
    if modes is None:
        modes = min(_FEWER_MODES, most) if gamma > 0 else most
    if not 1 <= modes <= most:
        raise InputError(f"modes: expected 1 to {most} on this boundary, got {modes}")
    currents = arclength(domain, 2 * modes).to(device)
    order = torch.arange(1, modes + 1, dtype=torch.float64, device=device).repeat_interleave(2)
    kappa = order * (2 * torch.pi / domain.perimeter)
    xx, xy, yy = (torch.zeros(domain.shape, dtype=torch.float64, device=device) for _ in range(3))
    for part, weight in zip(
        torch.split(currents, _MODES_AT_ONCE), torch.split(kappa ** (2 * s), _MODES_AT_ONCE), strict=True
    ):
        _, dx, dy = domain.extend_with_gradient(part)
        xx += torch.einsum("k,kij,kij->ij", weight, dx, dx)
        xy += torch.einsum("k,kij,kij->ij", weight, dx, dy)
        yy += torch.einsum("k,kij,kij->ij", weight, dy, dy)
    return Probe(currents, kappa ** (2 * gamma), xx, xy, yy)
