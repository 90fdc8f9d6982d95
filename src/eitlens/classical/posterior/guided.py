"""Proposals of a guide: phantoms, or the last ellipses of one, drawn anew by a learned density q(u | y, s).

Under the prior the numbers u of a phantom are uniform, so a proposal u' for u is accepted with min(1, r),

    log r = ℓ_s(u') - ℓ_s(u) + Σ_t [log q(u_t | …) - log q(u'_t | …)],

the sum over the numbers that were drawn. q speaks of ellipses in an order, the posterior does not care: the current
phantom is put in that order first, and a proposal that is not in it is refused. Whatever q is, the limit is the
posterior; a good one gets there soon.
"""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float64
from torch import Tensor

from eitlens.classical.posterior.coordinates import PER_ELLIPSE
from eitlens.classical.posterior.likelihood import Level, Likelihood
from eitlens.classical.posterior.moves import Proposal
from eitlens.classical.posterior.ordered import from_numbers, in_order, ordered, to_numbers
from eitlens.classical.posterior.target import Target


@runtime_checkable
class Guide(Protocol):
    """A density of ordered numbers given data, as `eitlens.models.guide`."""

    @property
    def flattest(self) -> float:
        """The largest level s it knows."""

    def read(self, measured: Tensor, tau: Tensor, level: Tensor) -> Tensor:
        """What it sees of data (n, currents, boundary) at noise τ and level s."""

    def log_density(self, reading: Tensor, numbers: Tensor) -> Tensor:
        """The log of every factor."""

    def complete(
        self, reading: Tensor, numbers: Tensor, kept: Tensor, generator: torch.Generator
    ) -> tuple[Tensor, Tensor]:
        """The first `kept` numbers as they are, the others drawn; with the log of every factor."""


@dataclass(frozen=True)
class Guided:
    """A guide that has read the data of all chains at their levels."""

    guide: Guide
    reading: Tensor

    @staticmethod
    def read(guide: Guide, likelihood: Likelihood, level: Level) -> "Guided":
        """Each measurement at its level."""
        return Guided(guide, guide.read(likelihood.measured, likelihood.tau, level))

    def propose(
        self, target: Target, z: Float64[Tensor, "m c parameters"], generator: torch.Generator
    ) -> Proposal:
        """All ellipses anew, or the last few, as often."""
        shape, device = z.shape[:2], z.device
        now = ordered(target.domain, target.coordinates, z).flatten(0, 1)
        ellipses = z.shape[-1] // PER_ELLIPSE
        kept = PER_ELLIPSE * torch.randint(ellipses, (len(now),), generator=generator, device=device)
        reading = self.reading.repeat_interleave(shape[1], 0)
        numbers = to_numbers(now).to(reading.dtype)
        drawn, density = self.guide.complete(reading, numbers, kept, generator)
        fresh = torch.arange(z.shape[-1], device=device) >= kept[:, None]
        gain = torch.where(fresh, self.guide.log_density(reading, numbers) - density, 0.0).double().sum(-1)
        place = torch.where(fresh, from_numbers(drawn.double()), now)
        possible = in_order(target.domain, target.coordinates, place) & target.coordinates.allowed(place)
        return Proposal(*(torch.unflatten(part, 0, shape) for part in (place, possible, gain)))
