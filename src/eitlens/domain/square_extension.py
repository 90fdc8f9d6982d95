"""Harmonic extension from the boundary of the square: Δφ = 0, ∂φ/∂n = w, ∮φ = 0.

On each side the nodal values of w are interpolated by cosines. For cos(a(x+1)), a = mπ/2, on the top side,

    φ = cos(a(x+1)) cosh(a(y+1)) / (a sinh 2a),

and the other sides follow by symmetry; each has zero flux through the other three. The four constants (m =
0), whose total flux is zero, give the quadratic p(x² - y²)/2 + q x + r y. The sum is exactly harmonic and its
gradient is known in closed form up to the boundary, where ∂φ/∂n equals w at every node. Evaluating it on the
grid is a handful of dense matrix products, linear in w.
"""

from typing import NamedTuple

import torch
from jaxtyping import Float64
from torch import Tensor

from eitlens.domain import cosine
from eitlens.domain.base import Extension
from eitlens.memory import cached

Coefficients = Float64[Tensor, "*batch modes"]
Field = Float64[Tensor, "*batch nx ny"]


class _Sides(NamedTuple):
    """Values (or cosine coefficients) on the four sides, each along increasing x or y."""

    bottom: Coefficients
    right: Coefficients
    top: Coefficients
    left: Coefficients


def extend(values: Float64[Tensor, "*batch boundary"], n: int) -> Field:
    """The harmonic function with Neumann data `values` (less their mean) on the loop of 4n nodes."""
    sides = _coefficients(values, n)
    return _value(sides, *_across(sides, n), n)


def extend_with_gradient(values: Float64[Tensor, "*batch boundary"], n: int) -> Extension:
    """The same function and its gradient."""
    sides = _coefficients(values, n)
    device = values.device
    _, slope = _profiles(n, device)
    along, along_slope = cosine.synthesis(n, device), _along_slope(n, device)
    p, q, r = _quadratic(sides)
    x, (rows, columns) = _line(n, device), _across(sides, n)
    dx = _pair(-sides.left, sides.right, slope) @ along + p * x[:, None] + q
    dx = dx + (columns @ along_slope).mT
    dy = rows @ along_slope - p * x + r
    dy = dy + (_pair(-sides.bottom, sides.top, slope) @ along).mT
    return Extension(_value(sides, rows, columns, n), dx, dy)


def _across(sides: _Sides, n: int) -> tuple[Field, Field]:
    """The common part of value and gradient: left with right, bottom with top, as modes along each."""
    across, _ = _profiles(n, sides.top.device)
    return _pair(sides.left, sides.right, across), _pair(sides.bottom, sides.top, across)


def _value(sides: _Sides, rows: Field, columns: Field, n: int) -> Field:
    device = sides.top.device
    along, x = cosine.synthesis(n, device), _line(n, device)
    p, q, r = _quadratic(sides)
    value = p / 2 * (x[:, None] ** 2 - x**2) + q * x[:, None] + r * x
    value = value + rows @ along
    value = value + (columns @ along).mT
    return value - _boundary_mean(value)


def _coefficients(values: Float64[Tensor, "*batch boundary"], n: int) -> _Sides:
    """Cosine coefficients of the zero-mean part of the data on each side."""
    transform = cosine.analysis(n, values.device).T
    bottom, right, top, left = _split(values - values.mean(-1, keepdim=True), n)
    return _Sides(bottom @ transform, right @ transform, top @ transform, left @ transform)


def _split(values: Float64[Tensor, "*batch boundary"], n: int) -> _Sides:
    loop = torch.cat([values, values[..., :1]], -1)
    bottom, right, top, left = (loop[..., k * n : (k + 1) * n + 1] for k in range(4))
    return _Sides(bottom, right, top.flip(-1), left.flip(-1))


def _pair(low: Coefficients, high: Coefficients, profile: Float64[Tensor, "nodes modes"]) -> Field:
    """Two opposite sides together: rows are nodes across, columns modes along."""
    return high[..., None, :] * profile + low[..., None, :] * profile.flip(0)


@cached
def _profiles(
    n: int, device: torch.device
) -> tuple[Float64[Tensor, "nodes modes"], Float64[Tensor, "nodes modes"]]:
    """cosh(aY)/(a sinh 2a) and its slope on Y = 0 … 2, in decaying exponentials; zero for m = 0."""
    y = torch.arange(n + 1, dtype=torch.float64, device=device)[:, None] * (2 / n)
    a = torch.arange(1, n + 1, dtype=torch.float64, device=device) * (torch.pi / 2)
    near, far, scale = torch.exp(a * (y - 2)), torch.exp(-a * (y + 2)), -torch.expm1(-4 * a)
    pad = (1, 0)
    return (
        torch.nn.functional.pad((near + far) / (a * scale), pad),
        torch.nn.functional.pad((near - far) / scale, pad),
    )


@cached
def _along_slope(n: int, device: torch.device) -> Float64[Tensor, "modes nodes"]:
    """d/dx cos(a(x+1)) at the nodes: the matrix -a sin(a(x+1))."""
    a = torch.arange(n + 1, dtype=torch.float64, device=device) * (torch.pi / 2)
    return -a[:, None] * torch.sin(cosine.angles(n, device))


def _line(n: int, device: torch.device) -> Float64[Tensor, "nodes"]:
    return torch.arange(n + 1, dtype=torch.float64, device=device) * (2 / n) - 1


def _quadratic(sides: _Sides) -> tuple[Tensor, Tensor, Tensor]:
    """p, q, r of the quadratic p(x² - y²)/2 + q x + r y that the four side means (m = 0) stand for."""
    bottom, right, top, left = (side[..., :1, None] for side in sides)
    return (right + left) / 2, (right - left) / 2, (top - bottom) / 2


def _boundary_mean(field: Field) -> Float64[Tensor, "*batch 1 1"]:
    """Trapezoid mean over the closed loop: both pairs of opposite sides, each corner counted once."""
    n = field.shape[-1] - 1
    rows = field[..., 0, :-1].sum(-1) + field[..., -1, 1:].sum(-1)
    columns = field[..., 1:, 0].sum(-1) + field[..., :-1, -1].sum(-1)
    return ((rows + columns) / (4 * n))[..., None, None]
