"""The noise of the boundary data, sample by sample: a pure function of (seed, epoch, index)."""

import math
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float64, Int64
from torch import Tensor

from eitlens import random
from eitlens.checks import choose, physics
from eitlens.errors import InputError
from eitlens.forward import add_noise, add_white_noise
from eitlens.forward.base import Data
from eitlens.random import mixed


@dataclass(frozen=True)
class Noise:
    """The paper's noise (1 + τ G)(f - f0) with a τ for each sample.

    `levels` is one τ for all (`(0.0,)` is no noise), several to choose from with equal probability, or two ends:
    of a uniform distribution with `draw="range"`; with `draw="spread"` a third of the samples has no noise, a
    third a τ between the ends uniform in log τ, and a third one uniform between 0 and the upper end.

    With `white`, two ends, there is white noise, too: of a size between them over that of the data, uniform in its
    logarithm. A third of the samples then has the paper's noise alone, a third white noise alone, a third both.
    """

    levels: tuple[float, ...] = (0.0,)
    draw: Literal["set", "range", "spread"] = "set"
    white: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        choose("noise: draw", self.draw, ("set", "range", "spread"))
        levels = physics(self.levels, "noise: levels")
        if levels.ndim != 1 or not len(levels) or not bool(((levels >= 0) & levels.isfinite()).all()):
            raise InputError(f"noise: levels must be a list of finite numbers >= 0, got {self.levels!r}")
        object.__setattr__(self, "levels", tuple(levels.tolist()))
        if self.draw != "set" and (len(self.levels) != 2 or self.levels[0] > self.levels[1]):
            raise InputError(f"noise: a {self.draw} has two ends, low <= high, got {list(self.levels)}")
        if self.draw == "spread" and self.levels[0] <= 0:
            raise InputError(f"noise: a spread begins above 0, got {list(self.levels)}")
        if self.white is not None:
            low, high = (float(end) for end in physics(self.white, "noise: white").tolist())
            object.__setattr__(self, "white", (low, high))
            if not 0 < low <= high < math.inf:
                raise InputError(f"noise: white noise has two ends, 0 < low <= high, got {[low, high]}")

    @property
    def silent(self) -> bool:
        """Whether no sample has any noise."""
        return max(self.levels) == 0 and self.white is None

    def tau(self, seed: int, epoch: int, index: Int64[Tensor, "samples"]) -> Float64[Tensor, "samples"]:
        """τ of each sample."""
        if len(self.levels) == 1:
            return torch.full(index.shape, self.levels[0], dtype=torch.float64, device=index.device)
        u = random.uniform(mixed(seed, "tau", epoch), index, 1)[:, 0]
        if self.draw == "range":
            return self.levels[0] + (self.levels[1] - self.levels[0]) * u
        if self.draw == "spread":
            low, high = self.levels
            log, flat = low * (high / low) ** (3 * u - 1), high * (3 * u - 2)
            return torch.where(u < 1 / 3, torch.zeros_like(u), torch.where(u < 2 / 3, log, flat))
        levels = torch.tensor(self.levels, dtype=torch.float64, device=index.device)
        return levels[(u * len(self.levels)).long()]

    def apply(self, difference: Data, seed: int, epoch: int, index: Int64[Tensor, "samples"]) -> Data:
        """The data with their noise: fresh every epoch, fixed for validation and test (always epoch 0)."""
        if self.silent:
            return difference
        tau = self.tau(seed, epoch, index)
        if self.white is None:
            return add_noise(difference, tau, mixed(seed, "noise", epoch), index)
        u = random.uniform(mixed(seed, "white", epoch), index, 2)
        low, high = (math.log10(end) for end in self.white)
        decibel = torch.where(u[:, 0] < 1 / 3, math.inf, -20 * (low + (high - low) * u[:, 1]))
        alone = (u[:, 0] >= 1 / 3) & (u[:, 0] < 2 / 3)
        noise = torch.where(alone, 0.0, tau)
        noisy = add_noise(difference, noise, mixed(seed, "noise", epoch), index)
        # White noise is of a size relative to the clean data, and independent of the other.
        white = add_white_noise(difference, decibel, mixed(seed, "white noise", epoch), index) - difference
        return noisy + white
