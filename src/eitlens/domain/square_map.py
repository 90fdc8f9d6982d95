"""The Riemann map of the square (-1, 1)² onto the unit disk.

The inverse map is the Schwarz–Christoffel integral z = c ∫₀^ζ (1 + t⁴)^(-1/2) dt, so the map itself is a
lemniscatic sine, ζ(z) = e^{iπ/4} sl(e^{-iπ/4} z / c), and sl is a quotient of Jacobi's theta functions with
nome q = exp(-π):

    ζ(z) = e^{iπ/4} ϑ₁(v) / ϑ₃(v),    v = π / (2√2) · e^{-iπ/4} z.

On the square |Re v| + |Im v| <= π/2 and five terms of each series give all digits. From sl'' = -2 sl³ follows
ζ'' = 2 ζ³ / c², and ζ' = π/(2√2) ϑ₃(0)² ϑ₂(v) ϑ₄(v) / ϑ₃(v)² (NIST Digital Library of Mathematical Functions,
20.2 and 22.2). The corners go to e^{iπ(2k+1)/4}; the axes and the diagonals are mapped to themselves.
"""

import cmath
import math
from typing import NamedTuple

import torch
from jaxtyping import Complex128, Float64
from torch import Tensor

from eitlens.domain.base import ConformalMap

_NOME = math.exp(-math.pi)
_TERMS = 5  # the sixth is below e^(-25π), under the last digit
_ROTATION = cmath.exp(0.25j * math.pi)
_SCALE = math.pi / (2 * math.sqrt(2))
_THETA_3_AT_0 = 1 + 2 * sum(_NOME ** (k * k) for k in range(1, _TERMS))
# c = |corner| / ∫₀¹ (1 - s⁴)^(-1/2) ds; the integral is half the lemniscate constant, (π/2) ϑ₃(0)² / √2.
_C = math.sqrt(2) / (math.pi / 2 * _THETA_3_AT_0**2 / math.sqrt(2))

Complex = Complex128[Tensor, "*points"]


class _Theta(NamedTuple):
    one: Complex
    two: Complex
    three: Complex
    four: Complex


def conformal_map(points: Float64[Tensor, "*points 2"]) -> ConformalMap:
    """ζ, ζ' and ζ'' at points of the closed square."""
    z = torch.complex(points[..., 0], points[..., 1])
    theta = _theta(z * (_SCALE * _ROTATION.conjugate()))
    value = _ROTATION * theta.one / theta.three
    first = _SCALE * _THETA_3_AT_0**2 * theta.two * theta.four / theta.three**2
    return ConformalMap(value, first, (2 / _C**2) * value**3)


def _theta(v: Complex) -> _Theta:
    """Jacobi's four theta functions of nome exp(-π), by their Fourier series.

    The sines and cosines of the multiples of v by their recurrence, x_{k+1} = 2 cos(2v) x_k - x_{k-1}: two
    evaluations of a function instead of eighteen.
    """
    sin, cos = torch.sin(v), torch.cos(v)
    twice = 2 - 4 * sin * sin
    sines, cosines = _multiples(-sin, sin, twice), _multiples(cos, cos, twice)
    doubles = _multiples(twice / 2, torch.ones_like(v), twice)
    one, two = torch.zeros_like(v), torch.zeros_like(v)
    three, four = torch.ones_like(v), torch.ones_like(v)
    for k in range(_TERMS):
        odd = 2 * _NOME ** ((k + 0.5) ** 2)
        one, two = one + (-1) ** k * odd * sines[k], two + odd * cosines[k]
    for k in range(1, _TERMS):
        even = 2 * _NOME ** (k * k)
        three, four = three + even * doubles[k], four + (-1) ** k * even * doubles[k]
    return _Theta(one, two, three, four)


def _multiples(before: Complex, first: Complex, twice: Complex) -> list[Complex]:
    """`_TERMS` terms of the recurrence from the first and the one before it."""
    terms = [first]
    for _ in range(_TERMS - 1):
        before, first = first, twice * first - before
        terms.append(first)
    return terms
