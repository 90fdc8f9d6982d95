"""The code of data at few points, as from electrodes.

`eitlens.feature.gaussian` estimates the noise by counting, mode by mode, how much of the data its modes can explain.
That is right for hundreds of nodes a current. At tens of points the modes are no longer apart: it counts more than
there are data, and finds any noise at all. Here the same posterior is computed by dense algebra between the points,
which is quick as long as they are few. With C = AᵀA the covariance of the data over bodies and v = τ² E d² + φ² the
variance of the noise,

    fit = m + C (C + diag v)⁻¹ (y - m),    h = diag C (C + diag v)⁻¹,    Σ s r² / v = Σ s (1 - h),    s = E d² / v,

where r are the residuals and h the leverages: r² is v (1 - h) on average. τ and E d² are found by alternation, as
there. The deviations keep their form, because the network has learned to read them.
"""

import torch
from jaxtyping import Float64
from torch import Tensor

from eitlens.feature.gaussian import FIRST_TAU, LEAST_TAU, OFFSET, Code, Data, GaussianPrior

_ROUNDS, _LARGEST_TAU = 6, 1.0  # each round costs a solve; noise of the size of the data
Values = Float64[Tensor, "values"]
Square = Float64[Tensor, "values values"]


@torch.no_grad()
def dense_code(prior: GaussianPrior, difference: Data) -> Code:
    """The code of (B, L, N) differences, nan where not measured, to all digits whatever the points."""
    found = [_code(prior, one.flatten()) for one in difference]
    mean, deviation, tau = (torch.stack(parts) for parts in zip(*found, strict=True))
    return Code(mean, deviation, tau)


def _code(prior: GaussianPrior, data: Values) -> tuple[Tensor, Tensor, Tensor]:
    here = torch.isfinite(data)
    mean, modes = prior.mean.flatten()[here], prior.modes.flatten(1)[:, here]
    rms = prior.rms[:, None].expand_as(prior.mean).flatten()[here]
    y, floor = data[here] - mean, (prior.floor * rms).square()
    covariance = modes.T @ modes + _constants(prior, here)
    tau, signal = y.new_tensor(FIRST_TAU**2), rms.square()
    for _ in range(_ROUNDS):
        noise = tau * signal + floor
        fit, leverage, spread = _posterior(covariance, noise, y)
        signal = (fit + mean).square() + spread
        share = signal / noise
        seen, free = (share * (y - fit).square() / noise).sum(), (share * (1 - leverage)).sum()
        tau = (tau * seen / free).clamp(LEAST_TAU**2, _LARGEST_TAU**2)
    noise = tau * signal + floor
    z = modes @ torch.linalg.solve(covariance + noise.diag(), y)
    return z, (1 + modes.square() @ (1 / noise)).rsqrt(), tau.sqrt()


def _constants(prior: GaussianPrior, here: Tensor) -> Square:
    """The covariance of a constant in each current."""
    current = torch.arange(len(prior.mean), device=here.device)[:, None].expand_as(prior.mean).flatten()[here]
    same = current[:, None] == current
    return same * (OFFSET * prior.rms[current]).square()


def _posterior(covariance: Square, noise: Values, y: Values) -> tuple[Values, Values, Values]:
    """The fit, the leverages, and the variance that is left of the data without their noise."""
    factor = torch.linalg.cholesky(covariance + noise.diag())
    gain = torch.cholesky_solve(covariance, factor)
    spread = (covariance.diag() - (covariance * gain).sum(0)).clamp(min=0)
    return gain.T @ y, gain.diag(), spread
