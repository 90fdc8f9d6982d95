"""Families of boundary currents, each of zero mean, as (L, N) values at the boundary nodes.

>>> eit.currents.cosine(eit.Square(200), 3).shape
torch.Size([3, 800])
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

import torch
from jaxtyping import Float64
from torch import Tensor

from eitlens import checks
from eitlens.checks import at_least, choose
from eitlens.domain import Domain, check_boundary_values
from eitlens.errors import InputError
from eitlens.forward.base import Currents

Family = Literal["cosine", "sine", "trigonometric", "arclength"]


def cosine(domain: Domain, count: int) -> Currents:
    """cos(lθ), l = 1 … count, θ the polar angle: the currents of our runs. At most N/2 of them on N nodes.

    The paper does not say which currents it injects.
    """
    return project(torch.cos(_frequencies(domain, count, domain.boundary_size // 2) * domain.angle()))


def sine(domain: Domain, count: int) -> Currents:
    """sin(lθ), l = 1 … count; l < N/2, as sin(Nθ/2) vanishes at N equally spaced nodes."""
    return project(torch.sin(_frequencies(domain, count, (domain.boundary_size - 1) // 2) * domain.angle()))


def trigonometric(domain: Domain, count: int) -> Currents:
    """The pairs cos θ, sin θ, cos 2θ, sin 2θ, …: without a preferred direction when `count` is even."""
    half = (_positive(count) + 1) // 2
    return torch.stack([cosine(domain, half), sine(domain, half)], 1).flatten(0, 1)[:count]


def arclength(domain: Domain, count: int) -> Currents:
    """The modes cos κ₁s, sin κ₁s, cos κ₂s, …, κ_k = 2πk/P in arclength s, orthonormal in L²(∂Ω)."""
    half = (_positive(count) + 1) // 2
    most = (domain.boundary_size - 1) // 2
    if half > most:
        raise InputError(
            f"{domain.boundary_size} boundary nodes tell {2 * most} modes apart, got a count of {count}"
        )
    phase = (2 * torch.pi / domain.perimeter) * _frequencies(domain, half, most) * domain.arclength()
    modes = torch.stack([torch.cos(phase), torch.sin(phase)], 1).flatten(0, 1)[:count]
    return math.sqrt(2 / domain.perimeter) * modes


def custom(domain: Domain, function: Callable[[Tensor, Tensor], Tensor]) -> Currents:
    """The current function(x, y) at the nodes, less its mean: (1, N), or (L, N) if it gives L at once."""
    x, y = domain.boundary().unbind(-1)
    values = check_boundary_values(domain, function(x, y), "custom current")
    return project(values).reshape(-1, domain.boundary_size)


def project(values: Float64[Tensor, "*batch boundary"]) -> Float64[Tensor, "*batch boundary"]:
    """The zero-mean part of boundary values."""
    given = checks.real(values, "boundary values")
    return given - given.mean(-1, keepdim=True)


FAMILIES: dict[str, Callable[[Domain, int], Currents]] = {
    "cosine": cosine,
    "sine": sine,
    "trigonometric": trigonometric,
    "arclength": arclength,
}


@dataclass(frozen=True)
class CurrentsConfig:
    """A family of currents and how many of it: by default the paper's three."""

    family: str = "cosine"
    count: int = 3

    def __post_init__(self) -> None:
        choose("currents: family", self.family, get_args(Family))
        at_least("currents: count", self.count, 1)

    def build(self, domain: Domain, device: torch.device | None = None) -> Currents:
        """The currents (L, N) at the boundary nodes."""
        return FAMILIES[self.family](domain, self.count).to(device)


def _frequencies(domain: Domain, count: int, most: int) -> Float64[Tensor, "count 1"]:
    """1 … count; beyond `most` the values at the nodes would be those of a lower frequency."""
    if _positive(count) > most:
        raise InputError(
            f"{domain.boundary_size} boundary nodes tell frequencies up to {most} apart, got {count}: "
            "take fewer currents or more nodes"
        )
    return torch.arange(1, count + 1, dtype=torch.float64)[:, None]


def _positive(count: int) -> int:
    if checks.whole(count, "currents: count") < 1:
        raise InputError(f"expected at least one current, got {count}")
    return count
