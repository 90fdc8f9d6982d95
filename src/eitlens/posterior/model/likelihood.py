"""The paper's multiplicative noise as a likelihood, its zero-mean projection included.

The measurement is y = P((1 + τ G) d): d = f - f0, G standard normal at each of the N nodes, P the projection
to zero mean, for each current by itself. With D = diag(v), v_k = τ² d_k², its covariance P D P is singular
along the constants. Writing y - d + c = D^½ G with the lost constant c and integrating c out gives the density
on the zero-mean functions in closed form: with w = 1/v, r = y - d and the weighted mean m = Σ w r / Σ w,

    log p(y | d) = -½ Σ w (r - m)² - ½ Σ log v - ½ log Σ w + const.

Where d vanishes so does its noise, and a node there would tell the place of the zero to any accuracy, which no
instrument does and no solver of finite tolerance may claim. So we add white noise of size s · rms(y):

    v_k = τ² d_k² + s² rms(y)².

Its smallest value, `FLOOR` · τ, is as large as the paper's own noise at about one node in 800 (0.6, 1.6 and 0.9
for the currents 1, 2 and 3). Large values of s make the likelihood flat: s falling from large to small
is the road from the prior to the posterior (`tempering`), along which, other than along powers of the likelihood, the
nodes near the zeros of d never dominate.
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Float64, Int64
from torch import Tensor

FLOOR = 2e-3
"""The white noise that is left in the end, in units of τ · rms(y)."""

Level = Float64[Tensor, "measurements"]
Predicted = Float64[Tensor, "measurements particles currents boundary"]


class LikelihoodSlope(NamedTuple):
    """The log likelihood and its slope in d."""

    value: Float64[Tensor, "measurements particles"]
    slope: Predicted


@dataclass(frozen=True)
class Likelihood:
    """The log of p(y | d) of measurements y, each against its own particles, at a level s of extra white noise."""

    measured: Float64[Tensor, "measurements currents boundary"]
    tau: Float64[Tensor, "measurements"]
    floor: float = FLOOR

    @property
    def last(self) -> Level:
        """The final level of s."""
        return self.floor * self.tau

    def taken(self, index: Int64[Tensor, "others"]) -> "Likelihood":
        """Take some of the measurements, any number of times each."""
        return Likelihood(self.measured[index], self.tau[index], self.floor)

    def repeated(self, times: int) -> "Likelihood":
        """Repeat each measurement so many times in a row."""
        return self.taken(torch.arange(len(self.tau), device=self.tau.device).repeat_interleave(times))

    def value(self, predicted: Predicted, level: Level) -> Float64[Tensor, "measurements particles"]:
        """The log of p(y | d), the constant left out."""
        v = self._variance(predicted, level)
        w = 1 / v
        return _log_density(v, w, w * self._residual(predicted, w).square())

    def local(self, predicted: Predicted, level: Level) -> LikelihoodSlope:
        """The value with its derivative in d."""
        v = self._variance(predicted, level)
        w = 1 / v
        residual = self._residual(predicted, w)
        scaled = w * residual.square()
        d_variance = 2 * self._per_measurement(self.tau).square() * predicted
        share = w / w.sum(-1, keepdim=True)
        slope = w * residual + 0.5 * w * (scaled - 1 + share) * d_variance
        return LikelihoodSlope(_log_density(v, w, scaled), slope)

    def weight(self, level: Level) -> Float64[Tensor, "measurements currents boundary"]:
        """1/v with the measurement in place of d: how well each node is known, the same for all particles."""
        return 1 / self._variance(self.measured[:, None], level)[:, 0]

    def misfit(self, predicted: Predicted) -> Float64[Tensor, "measurements particles"]:
        """χ² a node: Σ w (r - m)² / (L (N - 1)), about 1 where the data are explained to their noise."""
        w = 1 / self._variance(predicted, self.last)
        chi = (w * self._residual(predicted, w).square()).sum((-2, -1))
        return chi / (predicted.shape[-2] * (predicted.shape[-1] - 1))

    def _variance(self, predicted: Predicted, level: Level) -> Predicted:
        size = self.measured.square().mean(-1, keepdim=True)[:, None]
        extra = self._per_measurement(level).square() * size
        return (self._per_measurement(self.tau) * predicted).square() + extra

    def _residual(self, predicted: Predicted, w: Predicted) -> Predicted:
        r = self.measured[:, None] - predicted
        return r - (w * r).sum(-1, keepdim=True) / w.sum(-1, keepdim=True)

    @staticmethod
    def _per_measurement(values: Tensor) -> Float64[Tensor, "measurements 1 1 1"]:
        return values[:, None, None, None]


def _log_density(v: Predicted, w: Predicted, scaled: Predicted) -> Float64[Tensor, "measurements particles"]:
    """-½ Σ w (r - m)² - ½ Σ log v - ½ log Σ w, given w (r - m)² at each node."""
    return -0.5 * ((scaled + v.log()).sum(-1) + w.sum(-1).log()).sum(-1)
