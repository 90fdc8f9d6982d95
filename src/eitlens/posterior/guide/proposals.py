"""Proposals of a guide: phantoms, or the last ellipses of one, drawn anew by a learned density q(u | y, s).

Under the prior the numbers u of a phantom are uniform, so a proposal u' for u is accepted with min(1, r),

    log r = ℓ_s(u') - ℓ_s(u) + Σ_t [log q(u_t | …) - log q(u'_t | …)],

the sum over the numbers that were drawn. q speaks of ellipses in an order, the posterior does not care: the current
phantom is put in that order first, and a proposal that is not in it is refused. Whatever q is, the limit is the
posterior; a good one gets there soon.
"""

from dataclasses import dataclass
from functools import partial
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float64
from torch import Tensor

from eitlens.phantom.samplers import PER_ELLIPSE
from eitlens.posterior.model.coordinates import from_numbers, in_order, ordered, to_numbers
from eitlens.posterior.model.likelihood import Level, Likelihood
from eitlens.posterior.model.target import Target
from eitlens.posterior.moves.jumps import Proposal, Proposer

_WELL_KNOWN = 0.04  # below this level fresh ones of the first half of the ellipses are hardly ever accepted


@runtime_checkable
class ProposalDensity(Protocol):
    """A density of ordered numbers given data, from which phantoms are proposed: `network.Guide`, or another."""

    @property
    def flattest(self) -> float:
        """The largest level s it knows."""

    def read(self, measured: Tensor, tau: Tensor, level: Tensor) -> Tensor:
        """Read data (n, currents, boundary) at noise τ and level s."""

    def renew(
        self, reading: Tensor, numbers: Tensor, kept: Tensor, tries: int, generator: torch.Generator
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Keep the first `kept` numbers and draw the others, [row, try]; with the log of all factors, also before."""


@dataclass(frozen=True)
class Guidance:
    """A guide and how it is asked: `tries` proposals at once, from the level `top` downwards."""

    guide: ProposalDensity
    tries: int
    top: float

    def proposer(self, likelihood: Likelihood, level: Level) -> Proposer:
        """Read each measurement at its level, and propose by what was read."""
        return partial(self._propose, self.guide.read(likelihood.measured, likelihood.tau, level), level)

    def _propose(
        self, reading: Tensor, level: Level, target: Target, z: Tensor, generator: torch.Generator
    ) -> Proposal:
        """Propose all ellipses anew, or the last few, as often; the same for all tries."""
        now = ordered(target.domain, target.coordinates, z).flatten(0, 1)
        kept = PER_ELLIPSE * _kept(level, z, generator).flatten()
        reading = reading.repeat_interleave(z.shape[1], 0)
        numbers = to_numbers(now).to(reading.dtype)
        drawn, density, before = self.guide.renew(reading, numbers, kept, self.tries, generator)
        fresh = torch.arange(z.shape[-1], device=z.device) >= kept[:, None]
        place = torch.where(fresh[:, None], from_numbers(drawn.double()), now[:, None])
        possible = in_order(target.domain, target.coordinates, place) & target.coordinates.allowed(place)
        gain = torch.where(fresh[:, None], before[:, None] - density, 0.0).double().sum(-1)
        return Proposal(*(torch.unflatten(part, 0, z.shape[:2]) for part in (place, possible, gain)))


def _kept(level: Level, z: Float64[Tensor, "m c parameters"], generator: torch.Generator) -> Tensor:
    """Draw how many ellipses stay."""
    ellipses = z.shape[-1] // PER_ELLIPSE
    fewest = torch.where(level < _WELL_KNOWN, ellipses // 2, 0)[:, None]
    share = torch.rand(z.shape[:2], generator=generator, device=z.device)
    return fewest + (share * (ellipses - fewest)).long().clamp(max=ellipses - 1)
