"""One step of a Markov chain at every particle: a Langevin proposal in the axes of the data.

The posterior is narrow in some directions and as wide as the prior in others, differently at every place, and
the ellipses may be renumbered: no covariance of the population can describe it, the derivative of the data at
the particle can. In the axes of its Fisher information (prior variance 1, information μ_i along axis i)

    x_i' = x_i + (1 - √(1 - ε_i²)) ∂_i log π / (1 + μ_i) + ε_i ξ_i / √(1 + μ_i),   ε_i² = ε² (1 + μ_i)/(1 + ε² μ_i),

accepted by the rule of Metropolis and Hastings. For a Gaussian posterior every proposal is accepted, whatever
ε. A step is as long as ε, but along stiff axes no longer than the posterior is wide: there it is a Newton step
with fresh noise, which lets the chain follow a narrow curved posterior (one size for all axes, the Langevin
method in the Fisher metric of Girolami and Calderhead, J. R. Stat. Soc. B 73, 2011, accepted only steps four
times shorter; the split by what the data say is that of Cui, Law and Marzouk, J. Comput. Phys. 304, 2016).

Every few steps one ellipse is drawn anew from the prior instead, which carries particles from mode to mode
as long as the level of white noise is high.
"""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float64
from torch import Tensor

from eitlens.classical.posterior.coordinates import PER_ELLIPSE
from eitlens.classical.posterior.likelihood import Level
from eitlens.classical.posterior.target import Local, Particles, Target

# A Newton step longer than this, in standard deviations of the proposal's metric, is cut: far from a mode the
# quadratic model holds only nearby.
_LONGEST_DRIFT = 6.0
_WANTED, _LEARNING = 0.55, 0.4
_SPREAD = 0.4


@dataclass(frozen=True)
class Chains:
    """The particles of all measurements with everything a step needs, and the step size ε of each."""

    particles: Particles
    local: Local
    step: Float64[Tensor, "measurements"]
    accepted: Float64[Tensor, "measurements"]

    @staticmethod
    def start(target: Target, z: Tensor, level: Level) -> "Chains":
        """Chains at z, with a large first step."""
        particles = target.particles(z)
        one = torch.ones(len(z), dtype=torch.float64, device=z.device)
        return Chains(particles, target.local(particles, level), one, one)

    def at(self, target: Target, level: Level) -> "Chains":
        """The same places seen at another level."""
        return replace(self, local=target.local(self.particles, level))


def langevin(target: Target, chains: Chains, level: Level, generator: torch.Generator) -> Chains:
    """One Metropolis-adjusted Langevin step of every particle; ε follows the acceptance."""
    z, near = chains.particles.z, chains.local
    noise = torch.randn(z.shape, generator=generator, dtype=z.dtype, device=z.device)
    # A random size about ε, drawn before the proposal, lets some particles go far and some through narrow
    # places.
    jitter = torch.randn(z.shape[:2], generator=generator, dtype=z.dtype, device=z.device)
    reach = (chains.step[:, None] * torch.exp(_SPREAD * jitter))[..., None]
    mean, width = _proposal(near, reach)
    proposal = z + _out_of_axes(target, near, mean + width * noise)
    allowed = target.coordinates.allowed(proposal)
    others, there = _evaluate(target, chains, proposal, allowed, level)
    mean_back, width_back = _proposal(there, reach)
    back = _into_axes(target, there, z - proposal)
    ratio = there.density - near.density + _log_normal(back - mean_back, width_back)
    ratio = ratio - _log_normal(width * noise, width)
    moved = allowed & (_log_uniform(ratio, generator) < ratio)
    rate = moved.double().mean(1)
    step = (chains.step * torch.exp(_LEARNING * (rate - _WANTED))).clamp(1e-3, 1.0)
    return Chains(chains.particles.where(moved, others), near.where(moved, there), step, rate)


def redraw(target: Target, chains: Chains, level: Level, generator: torch.Generator) -> Chains:
    """Propose one ellipse of every particle anew from the prior: the likelihood alone decides."""
    z = chains.particles.z
    fresh = _prior_ellipse(z, generator)
    which = torch.randint(z.shape[-1] // PER_ELLIPSE, z.shape[:2], generator=generator, device=z.device)
    ellipse = torch.arange(z.shape[-1], device=z.device) // PER_ELLIPSE
    proposal = torch.where(ellipse == which[..., None], fresh, z)
    allowed = target.coordinates.allowed(proposal)
    others, there = _evaluate(target, chains, proposal, allowed, level)
    ratio = there.likelihood - chains.local.likelihood
    moved = allowed & (_log_uniform(ratio, generator) < ratio)
    return replace(
        chains, particles=chains.particles.where(moved, others), local=chains.local.where(moved, there)
    )


def _prior_ellipse(z: Tensor, generator: torch.Generator) -> Tensor:
    """Coordinates of ellipses of the prior, each by itself: logistic numbers and a uniform angle."""
    u = torch.rand(z.shape, generator=generator, dtype=z.dtype, device=z.device)
    angle = torch.arange(z.shape[-1], device=z.device) % PER_ELLIPSE == PER_ELLIPSE - 1
    return torch.where(angle, 2 * torch.pi * u, torch.logit(u, 1e-12))


def _evaluate(
    target: Target, chains: Chains, proposal: Tensor, allowed: Bool[Tensor, "m c"], level: Level
) -> tuple[Particles, Local]:
    """The target at the proposals; those not allowed are not solved for and show the old place."""
    z = torch.where(allowed[..., None], proposal, chains.particles.z)
    index = torch.nonzero(allowed.flatten()).flatten()
    solved = target.particles(z.flatten(0, 1)[index][None])
    old = chains.particles
    parts = [
        part.flatten(0, 1).index_copy(0, index, new[0]).reshape(part.shape)
        for part, new in zip(old, solved, strict=True)
    ]
    particles = Particles(*parts)
    return particles, target.local(particles, level)


def _proposal(local: Local, reach: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and width of the step along each axis, with the size ε_i² = ε²(1 + μ)/(1 + ε² μ)."""
    stiff = 1 + local.information
    square = reach.square() * stiff / (1 + reach.square() * local.information)
    width = (square / stiff).sqrt()
    mean = (1 - (1 - square).clamp(min=0).sqrt()) * local.slope / stiff
    length = (mean / width).norm(dim=-1, keepdim=True)
    return mean * (_LONGEST_DRIFT / length.clamp(min=1e-300)).clamp(max=1.0), width


def _out_of_axes(target: Target, local: Local, values: Tensor) -> Tensor:
    scale = target.coordinates.precision(values.device).rsqrt()
    return scale * (local.axes @ values[..., None])[..., 0]


def _into_axes(target: Target, local: Local, values: Tensor) -> Tensor:
    scale = target.coordinates.precision(values.device).rsqrt()
    return ((values / scale)[..., None, :] @ local.axes)[..., 0, :]


def _log_normal(values: Tensor, width: Tensor) -> Tensor:
    return -(0.5 * (values / width).square() + width.log()).sum(-1)


def _log_uniform(like: Tensor, generator: torch.Generator) -> Tensor:
    return torch.rand(like.shape, generator=generator, dtype=like.dtype, device=like.device).log()
