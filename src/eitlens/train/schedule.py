"""The 1cycle schedule as a pure function of progress: nothing to remember, nothing to resume."""

import math
from dataclasses import dataclass

from eitlens.errors import InputError


@dataclass(frozen=True)
class Schedule:
    """Learning rate and β₁ at progress s ∈ (0, 1], the part of the run done when the step is.

    The rate rises along half a cosine from lr / start to lr at s = `peak`, then falls to lr / end; β₁ moves
    the other way, from `beta1` to `beta1_low` and back. Step i of N has s = (i + 1)/N: with the paper's
    numbers (N = 43,200, peak 0.2) the rate is largest at step 8,639, the end of epoch 10, and ends at 10⁻⁶.
    A run of unknown length has its s from the clock.
    """

    lr: float = 1e-3
    start: float = 1e3
    peak: float = 0.2
    end: float = 1e3
    beta1: float = 0.95
    beta1_low: float = 0.85

    def __post_init__(self) -> None:
        for name in ("lr", "start", "end"):
            if not 0 < getattr(self, name) < math.inf:
                raise InputError(f"schedule: {name} must be a positive number, got {getattr(self, name)}")
        for name in ("beta1", "beta1_low"):
            if not 0 <= getattr(self, name) < 1:
                raise InputError(f"schedule: {name} must lie in [0, 1), got {getattr(self, name)}")
        if not 0 < self.peak < 1:
            raise InputError(f"schedule: peak must lie in (0, 1), got {self.peak}")

    def __call__(self, progress: float) -> tuple[float, float]:
        """(learning rate, β₁)."""
        s = min(max(progress, 0.0), 1.0)
        if s <= self.peak:
            part, first = s / self.peak, self.lr / self.start
            return _cosine(first, self.lr, part), _cosine(self.beta1, self.beta1_low, part)
        part, last = (s - self.peak) / (1 - self.peak), self.lr / self.end
        return _cosine(self.lr, last, part), _cosine(self.beta1_low, self.beta1, part)


def _cosine(first: float, last: float, part: float) -> float:
    """From first to last along half a cosine."""
    return last + (first - last) / 2 * (1 + math.cos(math.pi * part))
