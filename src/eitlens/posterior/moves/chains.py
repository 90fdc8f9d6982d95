"""The chains of all measurements: their particles (one a chain), and what a step from there needs."""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float64
from torch import Tensor

from eitlens.posterior.model.likelihood import Level
from eitlens.posterior.model.target import LocalModel, Particles, Target

_FIRST = 0.5  # the first step size, half as wide as the prior; the warm-up adapts it


@dataclass(frozen=True)
class Chains:
    """The particles of all measurements with everything a step needs, and the step size ε of each."""

    particles: Particles
    local: LocalModel
    step: Float64[Tensor, "measurements"]
    accepted: Float64[Tensor, "measurements"]

    @staticmethod
    def start(target: Target, z: Tensor, level: Level) -> "Chains":
        """Start chains at z, with a large first step."""
        particles = target.particles(z)
        one = torch.ones(len(z), dtype=torch.float64, device=z.device)
        return Chains(particles, target.local(particles, level), _FIRST * one, one)

    def at(self, target: Target, level: Level) -> "Chains":
        """Look at the same places at another level of noise."""
        return replace(self, local=target.local(self.particles, level))


def put(particles: Particles, chosen: Bool[Tensor, "m c"], others: Particles) -> Particles:
    """Put the others, in a row, into the places of the chosen."""
    index = torch.nonzero(chosen.flatten()).flatten()
    parts = (
        part.flatten(0, 1).index_copy(0, index, new[0]).reshape(part.shape)
        for part, new in zip(particles, others, strict=True)
    )
    return Particles(*parts)


def log_uniform(like: Tensor, generator: torch.Generator) -> Tensor:
    """Draw logs of uniform numbers, as many as there are values: below the log of a chance with that chance."""
    return torch.rand(like.shape, generator=generator, dtype=like.dtype, device=like.device).log()


def gumbel(like: Tensor, generator: torch.Generator) -> Tensor:
    """Draw Gumbel noise: where the log of p plus such noise is largest is a draw by p."""
    return -(-log_uniform(like, generator)).log()
