"""Steps of a Markov chain at every particle: slides along the surface of the data, and jumps.

The posterior is narrow in some directions and as wide as the prior in others, differently at every place, and
the ellipses may be renumbered: no covariance of the population can describe it, the derivative of the data at
the particle can. A slide draws a velocity at z,

    v = b + N(0, G⁻¹),     G = P/ε² + Jᵀ W J,

follows the tangent of the surface {(z, d(z))} and returns to it along a normal at z, to z' (`surface`). Where the data
say nothing v is ε times as long as the prior is wide, and as long as the posterior is wide where they say much. The
drift b is along each axis of the information what makes the step exact for a normal distribution: (1 - √(1 - ε_i²)) of
a Newton step, ε_i the step in units of the posterior's width. The velocity v' that leads back from z' must be found to
lead to z by the same iteration. Velocities are normal in the tangent space, and the surface is √det G times as large
as what is below it: so a slide is accepted with min(1, r),

    log r = log π(z') - ½ log det G' - ½ |v' - b'|²_G' - (the same at z with v),

as shown by Zappa, Holmes-Cerfon and Goodman (Comm. Pure Appl. Math. 71, 2018). For a Gaussian posterior every slide is
accepted, whatever ε ≤ 1. Without the way back to the surface the same proposal is a Langevin step.

A jump changes one or two ellipses only: the uniform numbers behind one ellipse, or some of them, move by up to a
random part of their range and are reflected at its ends, or two ellipses change places. It leaves the prior as it
is, so the likelihood alone decides, and needs no derivative.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float64
from torch import Tensor

from eitlens.classical.posterior.coordinates import PER_ELLIPSE
from eitlens.classical.posterior.likelihood import Level
from eitlens.classical.posterior.surface import TOLERANCE, Frame, components_to, project
from eitlens.classical.posterior.target import Local, Particles, Target

# A drift longer than this, in standard deviations of the velocity, is cut: far from a mode the quadratic model holds
# only nearby.
_LONGEST_DRIFT = 8.0
_FIRST, _WANTED, _LEARNING = 0.5, 0.35, 0.4
_SPREAD = 0.4
# Who returns to within this, in standard deviations of a step, has returned.
_RETURNED = 10 * TOLERANCE
# What a jump changes: the whole ellipse, its centre, its shape, its angle.
_PARTS = ((0, 1, 2, 3, 4), (0, 1), (2, 3, 4), (4,))
# The farthest it goes: between 0.03 of the range and all of it.
_NEAREST = math.log(0.03)
_JUMPS = 3
# Above this level the posterior is wide and jumps succeed, which they hardly ever do below.
_EASY = 0.1
_SHORTEST = 1e-2


class Proposal(NamedTuple):
    """Where to jump, whether one may, and what the likelihood ratio lacks of the log of r."""

    z: Float64[Tensor, "m c parameters"]
    possible: Bool[Tensor, "m c"]
    bonus: Float64[Tensor, "m c"]


Proposer = Callable[[Target, Tensor, torch.Generator], Proposal]


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
        return Chains(particles, target.local(particles, level), _FIRST * one, one)

    def at(self, target: Target, level: Level) -> "Chains":
        """The same places seen at another level."""
        return replace(self, local=target.local(self.particles, level))


def slide(
    target: Target, chains: Chains, level: Level, generator: torch.Generator, learning: float = _LEARNING
) -> Chains:
    """One slide of every particle; ε follows the acceptance as fast as `learning`."""
    here, near = chains.particles, chains.local
    reach = _reach(chains, generator)
    frame = Frame.build(target, near, reach)
    noise = torch.randn(here.z.shape, generator=generator, dtype=here.z.dtype, device=here.z.device)
    velocity = _drift(near, frame) + noise
    everyone = torch.ones_like(reach[..., 0], dtype=torch.bool)
    place, landed = project(target, here, frame, velocity, level, everyone)
    others, there = _evaluate(target, chains, place, landed, level)
    turned = Frame.build(target, there, reach)
    back = components_to(target, others, turned, here, level)
    ratio = _on_surface(there, turned, back) - _on_surface(near, frame, velocity)
    moved = landed & (_log_uniform(ratio, generator) < ratio)
    returned, arrived = project(target, others, turned, back, level, moved)
    moved = moved & arrived & (frame.into(returned - here.z).norm(dim=-1) < _RETURNED)
    step = chains.step * torch.exp(learning * _excess(ratio, landed))
    rate = moved.double().mean(1)
    return Chains(here.where(moved, others), near.where(moved, there), step.clamp(_SHORTEST, 1.0), rate)


def _reach(chains: Chains, generator: torch.Generator) -> Float64[Tensor, "m c 1"]:
    """A random size about ε, drawn first, lets some particles go far and some through narrow places."""
    shape, like = chains.particles.z.shape[:2], chains.step
    jitter = torch.randn(shape, generator=generator, dtype=like.dtype, device=like.device)
    return (like[:, None] * torch.exp(_SPREAD * jitter)).clamp(max=1.0)[..., None]


def _drift(local: Local, frame: Frame) -> Float64[Tensor, "m c parameters"]:
    """The components of b."""
    square = (frame.width.square() * (1 + local.information)).clamp(max=1.0)
    drift = (1 - (1 - square).sqrt()) * local.slope / (1 + local.information) / frame.width
    length = drift.norm(dim=-1, keepdim=True)
    scale: Tensor = (_LONGEST_DRIFT / length.clamp(min=1e-300)).clamp(max=1.0)
    return drift * scale


def _on_surface(local: Local, frame: Frame, velocity: Tensor) -> Float64[Tensor, "m c"]:
    """The log of π / √det G times the density of a velocity."""
    noise = velocity - _drift(local, frame)
    return local.density - frame.log_stretch() - 0.5 * noise.square().sum(-1)


def _excess(ratio: Tensor, landed: Bool[Tensor, "m c"]) -> Float64[Tensor, "m"]:
    """How far the chance of acceptance is above the wanted one."""
    return torch.where(landed, ratio.clamp(max=0).exp(), 0.0).mean(1) - _WANTED


def jump(
    target: Target, chains: Chains, level: Level, generator: torch.Generator, proposers: list[Proposer]
) -> Chains:
    """A jump of every proposer in turn, for which the likelihood alone is needed."""
    z, data, likelihood = chains.particles.z, chains.particles.data, chains.local.likelihood
    ever = torch.zeros_like(likelihood, dtype=torch.bool)
    for propose in proposers:
        place, possible, bonus = propose(target, z, generator)
        other = _with_data(target, data, place, possible)
        there = target.likelihood.value(other, level)
        moved = possible & (_log_uniform(there, generator) < there - likelihood + bonus)
        z, data = torch.where(moved[..., None], place, z), torch.where(moved[..., None, None], other, data)
        likelihood, ever = torch.where(moved, there, likelihood), ever | moved
    if not bool(ever.any()):
        return chains
    particles = _put(chains.particles, ever, target.sketched(z[ever][None], data[ever][None]))
    return replace(chains, particles=particles, local=target.local(particles, level))


def shakes(level: Level) -> list[Proposer]:
    """Some jumps at the upper levels: one ellipse, or part of it, or two that change places."""

    def shake(target: Target, z: Tensor, generator: torch.Generator) -> Proposal:
        place = _jumped(z, generator)
        possible = target.coordinates.allowed(place) & (level > _EASY)[:, None]
        return Proposal(place, possible, torch.zeros_like(z[..., 0]))

    return [shake] * _JUMPS


def _with_data(target: Target, data: Tensor, z: Tensor, chosen: Bool[Tensor, "m c"]) -> Tensor:
    """The data of the chosen z, and the old ones elsewhere."""
    index = torch.nonzero(chosen.flatten()).flatten()
    if not len(index):
        return data
    return data.flatten(0, 1).index_copy(0, index, target.data(z.flatten(0, 1)[index])).reshape(data.shape)


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
    if not bool(chosen.any()):
        return chains.particles, chains.local
    particles = _put(chains.particles, chosen, target.particles(proposal[chosen][None]))
    return particles, target.local(particles, level)


def _put(particles: Particles, chosen: Bool[Tensor, "m c"], others: Particles) -> Particles:
    """The others, in a row, in the places of the chosen."""
    index = torch.nonzero(chosen.flatten()).flatten()
    parts = (
        part.flatten(0, 1).index_copy(0, index, new[0]).reshape(part.shape)
        for part, new in zip(particles, others, strict=True)
    )
    return Particles(*parts)


def _log_uniform(like: Tensor, generator: torch.Generator) -> Tensor:
    return torch.rand(like.shape, generator=generator, dtype=like.dtype, device=like.device).log()
