"""The paper's Theorem 2, frequency bootstrapping: attention makes frequencies that its input does not have.

On (0, π) take v = sin(ax) and the kernel κ(x, z) = sin((a+1)(x-z)); then ∫ κ(x, z) v(x) dx = c₁ sin((a+1)z)
with c₁ = 2a/(2a+1): the output has a higher frequency than the input. Attention without softmax, h Q (Kᵀ V),
is this integral when Q Kᵀ approximates κ. Q, K and V are linear images of N channels of Legendre polynomials
at M midpoints,

(i)  by the Taylor series of κ in z about π/2 (the proof's construction), N terms;
(ii) by the exact rank-2 splitting of κ.

Two traps. The statement's N = a - 1 channels give an error of order one: the polynomials must resolve
sin((a+1)x) first. And the kernel cannot reach every frequency: ∫ sin(a'(x-z)) sin(ax) dx vanishes for even
a' - a.
"""

import math
from typing import Literal

import numpy as np
from numpy.polynomial import legendre

_FINE = 4000  # midpoints of an integral, for an error below 1e-6
_BLUR = 0.3  # width of the kernel of the convolution: any would do, as a convolution keeps the frequency
Array = np.ndarray
Construction = Literal["taylor", "rank two"]


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


def taylor(z: Array, a: int, terms: int) -> tuple[Array, Array]:
    """Query (z - z₀)^l / l! and key ∂_z^l κ(x, z₀) = (a+1)^l sin((a+1)(x - z₀) - lπ/2), z₀ = π/2."""
    order = np.arange(terms)
    query = np.stack([(z - np.pi / 2) ** k / math.factorial(k) for k in order], 1)
    key = np.stack([(a + 1.0) ** k * np.sin((a + 1) * (z - np.pi / 2) - k * np.pi / 2) for k in order], 1)
    return query, key


def rank_two(z: Array, a: int) -> tuple[Array, Array]:
    """sin(b(x-z)) = sin bx cos bz - cos bx sin bz."""
    b = a + 1
    return np.stack([np.cos(b * z), -np.sin(b * z)], 1), np.stack([np.sin(b * z), np.cos(b * z)], 1)


def error(a: int, count: int, points: int, construction: Construction) -> float:
    """Relative L² error of the attention output against sin((a+1)z)."""
    z, h = midpoints(points), np.pi / points
    basis = channels(z, count)
    query, key = taylor(z, a, count) if construction == "taylor" else rank_two(z, a)
    value = projected(basis, np.sin(a * z))
    output = h * projected(basis, query) @ (projected(basis, key).T @ value) * (2 * a + 1) / (2 * a)
    target = np.sin((a + 1) * z)
    return float(np.linalg.norm(output - target) / np.linalg.norm(target))


def coefficient(a: int, other: int) -> float:
    """The size of ∫ sin(a'(x-z)) sin(ax) dx as a function of z."""
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
    query, key = rank_two(z, a)
    attended[inside] = query @ (key.T @ v[inside]) * (2 * np.pi / points)
    attended[~inside] = np.interp(x[~inside] - np.pi, z, attended[inside]) * (-1) ** (a + 1)
    first, second, third = (np.abs(np.fft.rfft(f))[: 3 * a] / points for f in (v, convolved, attended))
    return first, second, third
