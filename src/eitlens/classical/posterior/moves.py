"""Steps of a Markov chain at every particle: Langevin in the axes of the data, and jumps.

The posterior is narrow in some directions and as wide as the prior in others, differently at every place, and
the ellipses may be renumbered: no covariance of the population can describe it, the derivative of the data at
the particle can. In the axes of its Fisher information (prior variance 1, information μ_i along axis i)

    x_i' = x_i + (1 - √(1 - ε_i²)) ∂_i log π / (1 + μ_i) + ε_i ξ_i / √(1 + μ_i),   ε_i² = ε² (1 + μ_i)/(1 + ε² μ_i),

accepted by the rule of Metropolis and Hastings. For a Gaussian posterior every proposal is accepted, whatever
ε. A step is as long as ε, but along stiff axes no longer than the posterior is wide: there it is a Newton step
with fresh noise, which lets the chain follow a narrow curved posterior (one size for all axes, the Langevin
method in the Fisher metric of Girolami and Calderhead, J. R. Stat. Soc. B 73, 2011, accepted only steps four
times shorter; the split by what the data say is that of Cui, Law and Marzouk, J. Comput. Phys. 304, 2016).

A jump changes one or two ellipses only: the uniform numbers behind one ellipse, or some of them, move by up to a
random part of their range and are reflected at its ends, or two ellipses change places. It leaves the prior as it
is, so the likelihood alone decides, and needs no derivative.
"""

import math
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
# What a jump changes: the whole ellipse, its centre, its shape, its angle.
_PARTS = ((0, 1, 2, 3, 4), (0, 1), (2, 3, 4), (4,))
# The farthest it goes: between 0.03 of the range and all of it.
_NEAREST = math.log(0.03)


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


def langevin(
    target: Target, chains: Chains, level: Level, generator: torch.Generator, learning: float = _LEARNING
) -> Chains:
    """One Metropolis-adjusted Langevin step of every particle; ε follows the acceptance as fast as `learning`."""
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
    step = (chains.step * torch.exp(learning * (rate - _WANTED))).clamp(1e-3, 1.0)
    return Chains(chains.particles.where(moved, others), near.where(moved, there), step, rate)


def jump(target: Target, chains: Chains, level: Level, generator: torch.Generator) -> Chains:
    """Propose a jump of every particle: one ellipse, or part of it, or two that change places."""
    z = chains.particles.z
    proposal = _jumped(z, generator)
    allowed = target.coordinates.allowed(proposal)
    index = torch.nonzero(allowed.flatten()).flatten()
    if not len(index):
        return chains
    data = chains.particles.data.flatten(0, 1).index_copy(
        0, index, target.data(proposal.flatten(0, 1)[index])
    )
    likelihood = target.likelihood.value(data.reshape(chains.particles.data.shape), level)
    moved = allowed & (_log_uniform(likelihood, generator) < likelihood - chains.local.likelihood)
    others, there = _evaluate(target, chains, proposal, moved, level)
    return replace(chains, particles=others, local=there)


def _jumped(z: Tensor, generator: torch.Generator) -> Tensor:
    count = z.shape[-1] // PER_ELLIPSE
    which = _integers(count, z, generator)
    kind = _integers(len(_PARTS) + (count > 1), z, generator)
    table = torch.tensor([[k in part for k in range(PER_ELLIPSE)] for part in _PARTS], device=z.device)
    changed = table[kind[..., 0].clamp(max=len(_PARTS) - 1)].repeat(1, 1, count) & (_owner(z) == which)
    shaken = torch.where(changed, _shaken(z, generator), z)
    other = (which + 1 + _integers(max(count - 1, 1), z, generator)) % count
    return torch.where(kind < len(_PARTS), shaken, _exchanged(z, which, other))


def _integers(below: int, z: Tensor, generator: torch.Generator) -> Tensor:
    """One of 0, 1, …, below - 1 for each particle."""
    return torch.randint(below, (*z.shape[:-1], 1), generator=generator, device=z.device)


def _exchanged(z: Tensor, one: Tensor, other: Tensor) -> Tensor:
    """The coordinates of the centres of two ellipses exchanged."""
    owner, part = _owner(z), torch.arange(z.shape[-1], device=z.device) % PER_ELLIPSE
    source = torch.where(owner == one, other, torch.where(owner == other, one, owner))
    source = torch.where(part < 2, source, owner)
    return torch.gather(z, -1, PER_ELLIPSE * source + part)


def _owner(z: Tensor) -> Tensor:
    """The ellipse each coordinate belongs to."""
    return torch.arange(z.shape[-1], device=z.device) // PER_ELLIPSE


def _shaken(z: Tensor, generator: torch.Generator) -> Tensor:
    """Every coordinate moved by up to a part of the prior's range, in the numbers u of which the prior is uniform."""
    random = torch.rand(*z.shape[:-1], z.shape[-1] + 1, generator=generator, dtype=z.dtype, device=z.device)
    farthest = torch.exp(_NEAREST * random[..., -1:])
    shift = farthest * (2 * random[..., :-1] - 1)
    # Reflected at 0 and at 1.
    u = 1 - (1 - (torch.sigmoid(z) + shift).abs()).abs()
    angle = torch.arange(z.shape[-1], device=z.device) % PER_ELLIPSE == PER_ELLIPSE - 1
    return torch.where(angle, z + torch.pi / 2 * shift, torch.logit(u, 1e-12))


def _evaluate(
    target: Target, chains: Chains, proposal: Tensor, chosen: Bool[Tensor, "m c"], level: Level
) -> tuple[Particles, Local]:
    """The target at the chosen proposals; the others are not solved for and show the old place."""
    index = torch.nonzero(chosen.flatten()).flatten()
    if not len(index):
        return chains.particles, chains.local
    solved = target.particles(proposal.flatten(0, 1)[index][None])
    parts = [
        part.flatten(0, 1).index_copy(0, index, new[0]).reshape(part.shape)
        for part, new in zip(chains.particles, solved, strict=True)
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
