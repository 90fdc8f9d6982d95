"""Families of boundary currents, each of zero mean, as (L, N) values at the boundary nodes."""

import math
from collections.abc import Callable

import torch
from jaxtyping import Float64
from torch import Tensor

from eitlens.domain import Domain, check_boundary_values
from eitlens.errors import InputError
from eitlens.forward.base import Currents


def cosine(domain: Domain, count: int) -> Currents:
    """cos(lθ), l = 1 … count, θ the polar angle: the paper's currents."""
    return project(torch.cos(_frequencies(count) * domain.angle()))


def sine(domain: Domain, count: int) -> Currents:
    """sin(lθ), l = 1 … count."""
    return project(torch.sin(_frequencies(count) * domain.angle()))


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
    phase = (2 * torch.pi / domain.perimeter) * _frequencies(half) * domain.arclength()
    modes = torch.stack([torch.cos(phase), torch.sin(phase)], 1).flatten(0, 1)[:count]
    return math.sqrt(2 / domain.perimeter) * modes


def custom(domain: Domain, function: Callable[[Tensor, Tensor], Tensor]) -> Currents:
    """The current function(x, y) at the nodes, less its mean: (1, N), or (L, N) if it gives L at once."""
    x, y = domain.boundary().unbind(-1)
    values = torch.as_tensor(function(x, y), dtype=torch.float64)
    return project(check_boundary_values(domain, values, "custom current")).reshape(-1, domain.boundary_size)


def project(values: Float64[Tensor, "*batch boundary"]) -> Float64[Tensor, "*batch boundary"]:
    """The zero-mean part of boundary values."""
    return values - values.mean(-1, keepdim=True)


def _frequencies(count: int) -> Float64[Tensor, "count 1"]:
    return torch.arange(1, _positive(count) + 1, dtype=torch.float64)[:, None]


def _positive(count: int) -> int:
    if count < 1:
        raise InputError(f"expected at least one current, got {count}")
    return count
