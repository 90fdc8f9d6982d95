"""Manifold steps: steps of every particle along the surface of the data.

The posterior is narrow in some directions and as wide as the prior in others, differently at every place, and
the ellipses may be renumbered: no covariance of the population can describe it, the derivative of the data at
the particle can. A manifold step draws a velocity at z,

    v = b + N(0, G⁻¹),     G = P/ε² + Jᵀ W J,

follows the tangent of the surface {(z, d(z))} and returns to it along a normal at z, to z' (`surface`). Where the data
say nothing v is ε times as long as the prior is wide, and as long as the posterior is wide where they say much. The
drift b is along each axis of the information what makes the step exact for a normal distribution: (1 - √(1 - ε_i²)) of
a Newton step, ε_i the step in units of the posterior's width. The velocity v' that leads back from z' must be found to
lead to z by the same iteration. Velocities are normal in the tangent space, and the surface is √det G times as large
as what is below it: so a manifold step is accepted with min(1, r),

    log r = log π(z') - ½ log det G' - ½ |v' - b'|²_G' - (the same at z with v),

as shown by Zappa, Holmes-Cerfon and Goodman (Comm. Pure Appl. Math. 71, 2018) for an exact z'; here it is known to a
thousandth of a standard deviation of v, which moves log r by 0.0005. For a Gaussian posterior every one is accepted,
whatever ε ≤ 1. Without the way back to the surface the same proposal is a Langevin step.
"""

from functools import partial

import torch
from jaxtyping import Bool, Float64
from torch import Tensor

from eitlens.posterior.model.likelihood import Level
from eitlens.posterior.model.target import LocalModel, Particles, Target
from eitlens.posterior.moves.chains import Chains, log_uniform, put
from eitlens.posterior.moves.surface import TOLERANCE, Frame, components_to, project

# A drift longer than this, in standard deviations of the velocity, is cut: far from a mode the quadratic model holds
# only nearby.
_LONGEST_DRIFT = 8.0
# The share of steps to be accepted, to which ε adapts: between the 0.23 of random walks and the 0.57 of Langevin steps.
_WANTED = 0.35
_SPREAD = 0.4  # of the logarithm of a step's size: most are within a factor of 1.5 of ε
_RETURNED = 10 * TOLERANCE  # who returns to within this, in standard deviations of a step, has returned
_LEAST_STEP = 1e-2  # of ε: a chain that needs less stands still anyway, and would not recover
_TINY = 1e-300  # no division by zero


def manifold_step(
    target: Target, chains: Chains, level: Level, generator: torch.Generator, learning: float
) -> Chains:
    """Make one manifold step of every particle; ε follows the acceptance as fast as `learning`."""
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
    moved = landed & (log_uniform(ratio, generator) < ratio)
    returned, arrived = project(target, others, turned, back, level, moved)
    moved = moved & arrived & (frame.into(returned - here.z).norm(dim=-1) < _RETURNED)
    chance = torch.where(landed, ratio.clamp(max=0).exp(), 0.0).mean(1)
    step = chains.step * torch.exp(learning * (chance - _WANTED))
    rate = moved.double().mean(1)
    particles = Particles(*map(partial(_replaced, moved), here, others))
    local = LocalModel(*map(partial(_replaced, moved), near, there))
    return Chains(particles, local, step.clamp(_LEAST_STEP, 1.0), rate)


def _replaced(moved: Bool[Tensor, "m c"], old: Tensor, new: Tensor) -> Tensor:
    return torch.where(moved.reshape(*moved.shape, *[1] * (old.ndim - moved.ndim)), new, old)


def _reach(chains: Chains, generator: torch.Generator) -> Float64[Tensor, "m c 1"]:
    """A random size about ε, drawn first, lets some particles go far and some through narrow places."""
    shape, like = chains.particles.z.shape[:2], chains.step
    jitter = torch.randn(shape, generator=generator, dtype=like.dtype, device=like.device)
    return (like[:, None] * torch.exp(_SPREAD * jitter)).clamp(max=1.0)[..., None]


def _drift(local: LocalModel, frame: Frame) -> Float64[Tensor, "m c parameters"]:
    """The components of b."""
    square = (frame.width.square() * (1 + local.information)).clamp(max=1.0)
    drift = (1 - (1 - square).sqrt()) * local.slope / (1 + local.information) / frame.width
    length = drift.norm(dim=-1, keepdim=True)
    scale: Tensor = (_LONGEST_DRIFT / length.clamp(min=_TINY)).clamp(max=1.0)
    return drift * scale


def _on_surface(local: LocalModel, frame: Frame, velocity: Tensor) -> Float64[Tensor, "m c"]:
    """The log of π / √det G times the density of a velocity."""
    noise = velocity - _drift(local, frame)
    return local.density - frame.log_stretch() - 0.5 * noise.square().sum(-1)


def _evaluate(
    target: Target, chains: Chains, proposal: Tensor, chosen: Bool[Tensor, "m c"], level: Level
) -> tuple[Particles, LocalModel]:
    """The target at the chosen proposals; the others are not solved for and show the old place."""
    if not bool(chosen.any()):
        return chains.particles, chains.local
    particles = put(chains.particles, chosen, target.particles(proposal[chosen][None]))
    return particles, target.local(particles, level)
