"""Theorem 2, frequency bootstrapping: attention makes frequencies that its input does not have.

On (0, π) take v = sin(ax) and the kernel κ(x, z) = sin((a+1)(x-z)); then ∫ κ(x, z) v(x) dx = c₁ sin((a+1)z) with
c₁ = 2a/(2a+1): the output has a higher frequency than the input. Attention without softmax, h Q (Kᵀ V), is this
integral when Q Kᵀ approximates κ. Q, K and V are linear images of N channels of Legendre polynomials at M midpoints,

(i)  by the Taylor series of κ in z about π/2 (the proof's construction), N terms;
(ii) by the exact rank-2 splitting of κ.

Two traps. The statement's N = a - 1 channels give an error of order one: the polynomials must resolve
sin((a+1)x) first. And the kernel cannot reach every frequency: ∫ sin(a'(x-z)) sin(ax) dx vanishes for even a' - a.
"""

import math

import numpy as np
from numpy.polynomial import legendre
from study import OUT, expect, fitted_order

from eitlens.figures.style import label_sizes, picture

Array = np.ndarray


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


def error(a: int, count: int, points: int, construction: str) -> float:
    """Relative L² error of the attention output against sin((a+1)z)."""
    z, h = midpoints(points), np.pi / points
    basis = channels(z, count)
    query, key = taylor(z, a, count) if construction == "taylor" else rank_two(z, a)
    value = projected(basis, np.sin(a * z))
    output = h * projected(basis, query) @ (projected(basis, key).T @ value) * (2 * a + 1) / (2 * a)
    target = np.sin((a + 1) * z)
    return float(np.linalg.norm(output - target) / np.linalg.norm(target))


def coefficient(a: int, other: int, points: int = 4000) -> float:
    """The size of ∫ sin(a'(x-z)) sin(ax) dx as a function of z."""
    z = midpoints(points)
    moments = (
        np.array([np.sin(other * z) @ np.sin(a * z), np.cos(other * z) @ np.sin(a * z)]) * np.pi / points
    )
    return float(np.linalg.norm(moments))


def spectra(a: int, points: int = 512) -> tuple[Array, Array, Array]:
    """Sine spectra of v, of a convolution of v (periodic, so it keeps the frequency) and of the attention output."""
    x = np.arange(points) * 2 * np.pi / points
    v = np.sin(a * x)
    blur = np.exp(-0.5 * (np.minimum(x, 2 * np.pi - x) / 0.3) ** 2)
    convolved = np.fft.ifft(np.fft.fft(v) * np.fft.fft(blur / blur.sum())).real
    inside = x < np.pi
    z = x[inside]
    attended = np.zeros(points)
    query, key = rank_two(z, a)
    attended[inside] = query @ (key.T @ v[inside]) * (2 * np.pi / points)
    attended[~inside] = np.interp(x[~inside] - np.pi, z, attended[inside]) * (-1) ** (a + 1)
    first, second, third = (np.abs(np.fft.rfft(f))[: 3 * a] / points for f in (v, convolved, attended))
    return first, second, third


def main() -> None:
    """Run the study."""
    print("Theorem 2: frequency bootstrapping")
    counts, sizes = range(2, 33, 2), (25, 50, 100, 200)
    for a, count, figure in ((3, 8, 5.4e-2), (3, 12, 4.1e-4), (3, 16, 1.1e-6), (5, 16, 4e-4)):
        got = error(a, count, 2000, "rank two")
        expect(
            abs(math.log(got / figure)) < math.log(1.2),
            f"rank two, a={a}, N={count}: {got:.2g} (notes {figure:g})",
        )
    for a, count, figure in ((3, 16, 2.2e-2), (3, 20, 2.3e-4), (5, 28, 3.4e-4)):
        got = error(a, count, 2000, "taylor")
        expect(
            abs(math.log(got / figure)) < math.log(1.3),
            f"Taylor, a={a}, N={count}: {got:.2g} (notes {figure:g})",
        )
    mesh = [error(3, 20, m, "rank two") for m in sizes]
    order = -fitted_order(sizes, mesh)
    expect(abs(order - 2) < 0.05 and mesh[-1] < 1e-4, f"mesh: order {order:.2f}, {mesh[-1]:.1e} at M=200")
    few = error(3, 2, 2000, "rank two")
    expect(few > 0.9, f"the statement's N = a - 1 = 2 channels: error {few:.2f}, not small")
    even, odd = coefficient(3, 5), coefficient(3, 6)
    expect(even < 1e-12 < 0.2 < odd, f"parity: a=3 reaches a'=5 with {even:.0e} and a'=6 with {odd:.3f}")
    before, convolved, attended = spectra(3)
    expect(
        convolved[4] < 1e-12 < 0.1 < attended[4],
        f"frequency 4 from 3: convolution {convolved[4]:.0e}, attention {attended[4]:.2f}",
    )
    with picture(OUT / "theorem2.png", 1, 3, 2.8) as axes:
        for a, style in ((3, "-"), (5, "--")):
            axes[0, 0].semilogy(
                counts, [error(a, n, 2000, "rank two") for n in counts], "k" + style, label=f"rank 2, a={a}"
            )
            axes[0, 0].semilogy(
                counts,
                [error(a, n, 2000, "taylor") for n in counts],
                color="0.6",
                linestyle=style,
                label=f"Taylor, a={a}",
            )
        axes[0, 0].set(title="error against channels N", xlabel="N", ylim=(1e-9, 1e3))
        axes[0, 0].legend(fontsize=7)
        axes[0, 1].loglog(sizes, mesh, "ko-", label="N = 20, a = 3")
        axes[0, 1].loglog(sizes, 3 / np.square(sizes), "k:", label="second order")
        axes[0, 1].set(title="error against mesh points M", xlabel="M")
        label_sizes(axes[0, 1], sizes)
        axes[0, 1].legend(fontsize=7)
        axes[0, 2].semilogy(before + 1e-17, "k-", label="input sin 3x")
        axes[0, 2].semilogy(convolved + 1e-17, "s", color="0.6", label="convolution")
        axes[0, 2].semilogy(attended + 1e-17, "k^", label="attention")
        axes[0, 2].set(title="spectrum of the output", xlabel="frequency")
        axes[0, 2].legend(fontsize=7)


if __name__ == "__main__":
    main()
