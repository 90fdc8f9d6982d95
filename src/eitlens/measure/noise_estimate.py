"""The noise level of boundary data, from the data alone.

f - f0 is smooth between corners, and noise is not: the misfit of a value with the cubic through its four
neighbours, r_i = v_i - Σ w_j v_j, is noise but for terms of fourth order in the distance of the points. For the noise
(1 + τ G) v it has the variance τ² (v_i² + Σ w_j² v_j²). The noisy values at hand have squares larger by 1 + τ², so the
ratio t² of the two sums is τ² / (1 + τ²).
"""

import math

import torch
from jaxtyping import Float64
from torch import Tensor

from eitlens.domain import Domain
from eitlens.domain.boundary import sides

# Wider apart, the curvature of the data looks like noise; fewer tell τ to no better than 20 %.
WIDEST, FEWEST = 0.07, 16
_OFFSETS = (-2, -1, 1, 2)  # of the four neighbours that a cubic goes through
_LEAST = 1e-2  # pure noise has a ratio near 1: τ is then 10 at most


def estimate(values: Float64[Tensor, "points"], s: Float64[Tensor, "points"], domain: Domain) -> float | None:
    """τ, or None where neighbours are more than 0.07 apart in the median or there are fewer than 16 to use.

    At 0.06 the clean data of the paper's phantoms look like τ = 0.0003 to 0.004, at n = 200 like less than 1e-4.
    """
    order = torch.argsort(s)
    s, v = s[order], values[order]
    windows = torch.arange(len(s) - 4)[:, None] + torch.arange(5)
    x, y = s[windows], v[windows]
    # A corner belongs to both sides; windows may end at one but not reach across.
    smooth = torch.zeros(len(x), dtype=torch.bool)
    for start, stop in sides(domain):
        smooth |= (x[:, 0] >= start) & (x[:, 3] < stop) & (x[:, 4] <= stop + 1e-9)  # rounding
    spacing = float(torch.diff(s).median()) if len(s) > 1 else float("inf")
    if int(smooth.sum()) < FEWEST or spacing > WIDEST:
        return None
    x, y = x[smooth], y[smooth]
    weight = _cubic(x)
    around = y[:, [2 + k for k in _OFFSETS]]
    residual = y[:, 2] - (weight * around).sum(1)
    variance = (y[:, 2].square() + (weight * around).square().sum(1)).sum()
    ratio = float(residual.square().sum() / variance) if float(variance) > 0 else 0.0
    return math.sqrt(ratio / max(1 - ratio, _LEAST))


def _cubic(x: Float64[Tensor, "windows 5"]) -> Float64[Tensor, "windows 4"]:
    """Lagrange weights of the four neighbours for the point in the middle."""
    middle, others = x[:, 2:3], x[:, [2 + k for k in _OFFSETS]]
    weights = []
    for j in range(4):
        rest = [k for k in range(4) if k != j]
        top = (middle - others[:, rest]).prod(1)
        weights.append(top / (others[:, j : j + 1] - others[:, rest]).prod(1))
    return torch.stack(weights, 1)
