"""Whether independent populations agree: R-hat and effective sample size that renumbering cannot fool.

The ellipses are exchangeable, so only functions of the whole inclusion are compared: its area, centre of mass
and second moments, the sorted positions and sizes of the ellipses, and the log likelihood. Each island of the
sampler is one long chain (a superchain): with B the variance of the islands' means and W the mean variance
within an island, pooled over its particles and draws,

    R-hat = √(1 + B / W),     effective sample size = islands · W / B

(the nested R-hat of Margossian, Hoffman, Sountsov, Riou-Durand, Vehtari and Gelman, Bayesian Analysis, 2024).
It fails when islands sit in different modes, weigh them differently, or have not forgotten where they began.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float64
from torch import Tensor

from eitlens.phantom import Ellipse

AGREED = 1.05
"""R-hat below this in every function counts as converged."""


@dataclass(frozen=True)
class Diagnostics:
    """One number a measurement; `rhat` and `ess` are the worst over all functions compared."""

    rhat: Float64[Tensor, "measurements"]
    ess: Float64[Tensor, "measurements"]
    acceptance: Float64[Tensor, "measurements"]
    evidence: Float64[Tensor, "measurements islands"]
    """log p(y) as each island estimates it, up to one constant a measurement."""
    arrived: Tensor
    """Whether the last level of noise was reached: if not, the samples are of a blurred posterior."""
    seconds: float

    @property
    def converged(self) -> Tensor:
        """Whether the posterior itself was reached and the islands agree on it."""
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


def agreement(
    values: Float64[Tensor, "measurements islands draws functions"],
) -> tuple[Float64[Tensor, "measurements"], Float64[Tensor, "measurements"]]:
    """The largest R-hat and the smallest effective sample size over the functions."""
    between = values.mean(2).var(1)
    within = values.var(2).mean(1).clamp(min=1e-300)
    ratio = (between / within).clamp(min=1 / values.shape[2])
    return (1 + ratio).sqrt().amax(-1), (values.shape[1] / ratio).amin(-1)
