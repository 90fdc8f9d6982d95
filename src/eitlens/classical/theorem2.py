"""The paper's Theorem 2, frequency bootstrapping: attention makes frequencies that its input does not have.

On (0, π) take v = sin(ax) and the kernel κ(x, z) = sin(b(x-z)), b = a' the frequency that is wanted. Then

    ∫ κ(x, z) v(x) dx = c sin(bz),   c = 2a/(b² - a²) for odd b - a and 0 for even b - a:

the output has a higher frequency than the input. Attention without softmax, h Q (Kᵀ V), is this integral when Q Kᵀ
approximates κ. Q, K and V are linear images of N channels of Legendre polynomials at M midpoints,

(i)   by the Taylor series of κ in z about π/2 (the proof's construction), N terms;
(ii)  by the exact splitting of κ into two products;
(iii) by another kernel, sin(bz) sin(ax) 2/π, a single product. It reaches every frequency b, the even b - a too.

The statement's N = a - 1 channels give an error of order one: polynomials have to resolve sin(bz) first, which takes
N ≈ πb/2 of them, and e times as many for (i). For the columns of Q (KᵀV) are combinations of the channels. So attention
without softmax makes no function that its channels do not span, and a linear map of each node's channels by itself
makes the same one (`pointwise_error`).
"""

import math
from typing import Literal

import numpy as np
from numpy.polynomial import legendre

_FINE = 4000  # midpoints of an integral, for an error below 1e-6
_BLUR = 0.3  # width of the kernel of the convolution: any would do, as a convolution keeps the frequency
Array = np.ndarray
Construction = Literal["taylor", "rank two", "rank one"]


def midpoints(count: int) -> Array:
    """M midpoints of (0, π)."""
    return (np.arange(count) + 0.5) * (np.pi / count)


def channels(z: Array, count: int) -> Array:
    """N orthonormal Legendre polynomials on (0, π) at the points z."""
    degree = np.arange(count)
    basis: Array = legendre.legvander(2 * z / np.pi - 1, count - 1) * np.sqrt((2 * degree + 1) / np.pi)
    return basis


def projected(basis: Array, target: Array) -> Array:
    """The best approximation of the target by the channels: the learnable linear map at its optimum."""
    best: Array = basis @ np.linalg.lstsq(basis, target, rcond=None)[0]
    return best


def taylor(z: Array, b: int, terms: int) -> tuple[Array, Array]:
    """Query (z - z₀)^l / l! and key ∂_z^l κ(x, z₀) = b^l sin(b(x - z₀) - lπ/2), z₀ = π/2."""
    order = np.arange(terms)
    query = np.stack([(z - np.pi / 2) ** k / math.factorial(k) for k in order], 1)
    key = np.stack([float(b) ** k * np.sin(b * (z - np.pi / 2) - k * np.pi / 2) for k in order], 1)
    return query, key


def rank_two(z: Array, b: int) -> tuple[Array, Array]:
    """sin(b(x-z)) = sin bx cos bz - cos bx sin bz."""
    return np.stack([np.cos(b * z), -np.sin(b * z)], 1), np.stack([np.sin(b * z), np.cos(b * z)], 1)


def rank_one(z: Array, a: int, b: int) -> tuple[Array, Array]:
    """The product sin(bz) sin(ax) 2/π."""
    return np.sin(b * z)[:, None], 2 / np.pi * np.sin(a * z)[:, None]


def output(a: int, count: int, points: int, construction: Construction, to: int | None = None) -> Array:
    """The output of attention with `count` channels, c sin(bz) as well as it can; b = `to`, by default a + 1."""
    z, b = midpoints(points), to or a + 1
    basis = channels(z, count)
    if construction == "taylor":
        query, key = taylor(z, b, count)
    else:
        query, key = rank_two(z, b) if construction == "rank two" else rank_one(z, a, b)
    value = projected(basis, np.sin(a * z))
    found: Array = np.pi / points * projected(basis, query) @ (projected(basis, key).T @ value)
    return found


def error(a: int, count: int, points: int, construction: Construction, to: int | None = None) -> float:
    """Relative L² error of the attention output, over c, against sin(bz)."""
    scale = 1.0 if construction == "rank one" else gain(a, to or a + 1)
    found = output(a, count, points, construction, to)
    return _relative(found - scale * np.sin((to or a + 1) * midpoints(points)), scale)


def pointwise_error(count: int, points: int, b: int) -> float:
    """The same of a linear map of the channels at each node by itself, a 1 × 1 convolution, at its best."""
    target = np.sin(b * midpoints(points))
    return _relative(projected(channels(midpoints(points), count), target) - target)


def outside_channels(a: int, count: int, points: int, construction: Construction) -> float:
    """The part of the attention output that no combination of the channels gives, relative to the output."""
    found = output(a, count, points, construction)
    rest = found - projected(channels(midpoints(points), count), found)
    return float(np.linalg.norm(rest) / np.linalg.norm(found))


def kernel_error(a: int, count: int, points: int, construction: Construction = "rank two") -> float:
    """Relative L² error of the kernel Q Kᵀ that the channels allow."""
    z, b = midpoints(points), a + 1
    basis = channels(z, count)
    query, key = taylor(z, b, count) if construction == "taylor" else rank_two(z, b)
    wanted = np.sin(b * (z[None] - z[:, None]))
    found = projected(basis, query) @ projected(basis, key).T
    return float(np.linalg.norm(found - wanted) / np.linalg.norm(wanted))


def gain(a: int, b: int) -> float:
    """The factor c = 2a/(b² - a²) with ∫ sin(b(x-z)) sin(ax) dx = c sin(bz); 0 where b - a is even."""
    return 2 * a / (b * b - a * a) if (b - a) % 2 else 0.0


def _relative(difference: Array, scale: float = 1.0) -> float:
    """The norm of a function over that of scale · sin(bz), √(π/2) scale."""
    return float(np.linalg.norm(difference) / math.sqrt(len(difference) / 2) / scale)


def coefficient(a: int, other: int) -> float:
    """The size of ∫ sin(b(x-z)) sin(ax) dx as a function of z, by quadrature."""
    z = midpoints(_FINE)
    moments = np.array([np.sin(other * z) @ np.sin(a * z), np.cos(other * z) @ np.sin(a * z)]) * np.pi / _FINE
    return float(np.linalg.norm(moments))


def spectra(a: int) -> tuple[Array, Array, Array]:
    """Compute the spectra of v, of a convolution of v (periodic: it keeps the frequency), of the attention output."""
    points = 512  # a power of two for the FFT, many a wave for every a shown
    x = np.arange(points) * 2 * np.pi / points
    v = np.sin(a * x)
    blur = np.exp(-0.5 * (np.minimum(x, 2 * np.pi - x) / _BLUR) ** 2)
    convolved = np.fft.ifft(np.fft.fft(v) * np.fft.fft(blur / blur.sum())).real
    inside = x < np.pi
    z = x[inside]
    attended = np.zeros(points)
    query, key = rank_two(z, a + 1)
    attended[inside] = query @ (key.T @ v[inside]) * (2 * np.pi / points)
    attended[~inside] = np.interp(x[~inside] - np.pi, z, attended[inside]) * (-1) ** (a + 1)
    first, second, third = (np.abs(np.fft.rfft(f))[: 3 * a] / points for f in (v, convolved, attended))
    return first, second, third
