"""Agreement of independent ensembles: R-hat and effective sample size that renumbering cannot fool.

The ellipses are exchangeable, so only functions of the whole inclusion are compared: its area, centre of mass
and second moments, the sorted positions and sizes of the ellipses, and the log likelihood. Each ensemble's chain
is cut in halves; the values are replaced by normal scores of their ranks, and of the ranks of their distances
from the median. With B the variance of the means of n draws and W the mean variance within the halves,

    R-hat = √((n - 1)/n + B / W).

The effective sample size is the number of draws over 1 + 2 Σ autocorrelations, summed as far as pairs of them
stay positive and falling, the disagreement of the chains included (both: Vehtari, Gelman, Simpson, Carpenter,
Bürkner, Bayesian Analysis 16, 2021). It fails when ensembles sit in different modes, weigh them differently, or
have not forgotten where they began. When an ensemble has several ladders, all from one place, their draws count as one
chain's: then R-hat is the nested one of Margossian, Hoffman, Sountsov, Riou-Durand, Vehtari and Gelman
(arXiv:2110.13017), which many short chains can bring down, but only if each forgets the common start.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float64
from torch import Tensor

from eitlens.phantom import Ellipse

AGREED = 1.05
"""R-hat below this in every function counts as converged."""
_FEWEST = 8  # draws a chain: two halves of four have variances at least
_CONSTANT = 1e-12  # a variance of normal scores below this is rounding
_TINY = 1e-300  # no division by zero

Values = Float64[Tensor, "measurements ensembles draws functions"]
PerMeasurement = Float64[Tensor, "measurements"]


@dataclass(frozen=True)
class Diagnostics:
    """Diagnostics, one number a measurement; `rhat` and `ess` are the worst over all functions compared."""

    rhat: PerMeasurement
    ess: PerMeasurement
    acceptance: PerMeasurement
    """Of the manifold steps at the last level."""
    trips: Tensor
    """[measurement, ensemble]: how many places have come from the top to the last level after the warm-up."""
    barrier: PerMeasurement
    """Sum of the shares of exchanges refused: there should be about twice as many levels."""
    arrived: Tensor
    """Whether the warm-up was over and every ensemble saw a place come from the top: if not, believe nothing."""
    sweeps: int
    seconds: float

    @property
    def converged(self) -> Tensor:
        """Tell whether the posterior itself was reached and the ensembles agree on it."""
        return self.arrived & (self.rhat < AGREED)


def functions(
    rows: Float64[Tensor, "*batch ellipses 5"], likelihood: Float64[Tensor, "*batch"]
) -> Float64[Tensor, "*batch functions"]:
    """Functions of the inclusion that do not depend on the numbering of its ellipses."""
    area = Ellipse.area(rows)
    x, y = rows[..., 0], rows[..., 1]
    moments = torch.stack([torch.ones_like(x), x, y, x * x, x * y, y * y], -1)
    whole = (area[..., None] * moments).sum(-2)
    parts = [values.sort(-1).values for values in (x, y, area)]
    return torch.cat([whole, *parts, likelihood[..., None]], -1)


def agreement(values: Values, ladders: int = 1) -> tuple[PerMeasurement, PerMeasurement]:
    """Compute the largest R-hat and the smallest effective sample size over the functions.

    The chains of an ensemble are next to each other, `ladders` of them.
    """
    if values.shape[2] < _FEWEST:
        nothing = values.new_zeros(len(values))
        return nothing + torch.inf, nothing
    half = values.shape[2] // 2
    split = torch.cat([values[:, :, :half], values[:, :, -half:]], 1)
    scores = _normal_scores(split)
    median = split.flatten(1, 2).median(1).values[:, None, None]
    folded = _normal_scores((split - median).abs())
    one, other = (torch.unflatten(part, 1, (-1, ladders)).flatten(2, 3) for part in (scores, folded))
    return torch.maximum(_rhat(one), _rhat(other)).amax(-1), _effective(scores).amin(-1)


def _normal_scores(values: Values) -> Values:
    place, order = values.flatten(1, 2).sort(1)
    count = place.shape[1]
    rank = torch.arange(1, count + 1, dtype=values.dtype, device=values.device)[:, None].expand_as(place)
    # Chains that stand still give ties, which must not count as order: they share the mean of their ranks.
    new = torch.cat([torch.ones_like(place[:, :1], dtype=torch.bool), place[:, 1:] > place[:, :-1]], 1)
    group = new.long().cumsum(1) - 1
    zero = torch.zeros_like(place)
    total, size = (zero.scatter_add(1, group, part) for part in (rank, torch.ones_like(rank)))
    rank = zero.scatter(1, order, torch.gather(total / size.clamp(min=1), 1, group))
    # Blom's plotting positions, as Vehtari and others use them.
    scores: Tensor = torch.special.ndtri((rank - 3 / 8) / (count + 1 / 4))
    return scores.reshape(values.shape)


def _rhat(values: Values) -> Float64[Tensor, "measurements functions"]:
    n = values.shape[2]
    within, between = values.var(2).mean(1), values.mean(2).var(1)
    ratio = torch.where(between > _CONSTANT, between / within.clamp(min=_CONSTANT), 0.0)
    return ((n - 1) / n + ratio).sqrt()


def _effective(values: Values) -> Float64[Tensor, "measurements functions"]:
    n = values.shape[2]
    spectrum = torch.fft.rfft(values - values.mean(2, keepdim=True), 2 * n, dim=2).abs().square()
    covariance = torch.fft.irfft(spectrum, 2 * n, dim=2)[:, :, :n].mean(1) / n
    within = covariance[:, 0] * n / (n - 1)
    total = (covariance[:, 0] + values.mean(2).var(1)).clamp(min=_TINY)
    correlation = 1 - (within[:, None] - covariance) / total[:, None]
    pairs = correlation[:, : n // 2 * 2].unflatten(1, (-1, 2)).sum(2)
    pairs = torch.where((pairs > 0).long().cumprod(1) > 0, pairs, 0.0).cummin(1).values
    length = (2 * pairs.sum(1) - 1).clamp(min=1.0)
    # What the prior knows exactly never changes, and there is nothing to learn about it.
    return values.shape[1] * n / torch.where(total > _CONSTANT, length, 1.0)
