"""The boundary as the outlines see it, made cheap: sources as a power series, data at few nodes.

Sources. The current g, point sources q_k at the nodes ζ_k of the circle, pulls at Z with F = Σ_k q_k / (Z - ζ_k), an
analytic function of Z that does not depend on the phantom: F(Z) = -Σ_m b_m Z^m with b_m = Σ_k q_k ζ_k^{-m-1}. The
coefficients fall fast, as the current is smooth, and |Z|^m falls too.

Data. No current flows through the boundary that is not in f0 already, so f - f0 goes on evenly beyond each corner of a
square: on each side it is a cosine series, and its coefficients fall like exp(-π m depth / 2), `depth` being how far
behind the side the inclusions' equivalent charges lie. Values at every fourth node then tell those between to about the
tolerance of the solver (measured on draws of the paper's prior and the first cosine current, relative to the rms: at
most 3e-4 for every fourth node of 200 a side, 1e-7 in the median; 1e-5 for every other one).

Both were measured with cos lθ, l ≤ 3. A rough current sees little of what is deep, and its data are small and rough:
then `finer` has more nodes and `summed` no series, and `Target.build` tells which of them a current needs.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch
from jaxtyping import Complex128, Float64
from torch import Tensor

from eitlens.domain import Domain, Square, cosine
from eitlens.forward.base import Currents, check_currents

# Nodes this many spacings away take point sources for a continuous current: exp(-2π · 3.5) < 1e-9.
_SMOOTH = 3.5
_BLOCK = 16
# The charges on an outline act like others further inside: about twice as deep (see above).
_DEEPER = 2.0


@dataclass(frozen=True)
class Electrodes:
    """Some boundary nodes in the disk, the sources at all of them, and the way from the former to the latter."""

    place: Complex128[Tensor, "few"]
    sources: Complex128[Tensor, "boundary"]
    strength: Float64[Tensor, "currents boundary"]
    series: Complex128[Tensor, "16 columns"] | None
    """The coefficients of F and F' in 16 blocks of 16 (see `_series`).

    None where the nodes are so wide apart that the outlines feel the single sources.
    """
    between: Float64[Tensor, "coarse fine"] | None
    """The cosine interpolation along a side; None where every node is there already."""

    @staticmethod
    def build(domain: Domain, currents: Currents, margin: float, tolerance: float) -> "Electrodes":
        """For inclusions that keep `margin` away from the boundary, and data to a relative `tolerance`."""
        g = check_currents(domain, currents)
        sources = domain.conformal_map(domain.boundary(g.device)).value
        strength = domain.boundary_weight * g
        stride = _stride(domain, margin, tolerance)
        series = _series(sources, strength) if margin >= _SMOOTH * domain.boundary_weight else None
        return Electrodes(sources, sources, strength, series, None).every(stride)

    def every(self, stride: int) -> "Electrodes":
        """The same with data at every so many nodes of a side, those at its ends among them."""
        side = len(self.sources) // 4
        between = _cosine_interpolation(side, stride, self.strength.device) if stride > 1 else None
        return replace(self, place=self.sources[::stride], between=between)

    def finer(self) -> "Iterator[Electrodes]":
        """These, then with more and more nodes, up to all."""
        side, stride = len(self.sources) // 4, self.stride
        return (self.every(k) for k in range(stride, 0, -1) if k == 1 or side % k == 0)

    def summed(self) -> "Electrodes":
        """The same without the power series: every source by itself."""
        return replace(self, series=None)

    @property
    def stride(self) -> int:
        """There are data at every so many nodes."""
        return len(self.sources) // len(self.place)

    def pull(self, z: Complex128[Tensor, "*points"]) -> tuple[Tensor, Tensor]:
        """F and F' at z, with the currents last."""
        if self.series is None:
            return self._summed(z)
        # By blocks of 16 powers (Paterson and Stockmeyer): few large operations.
        powers = _powers(z)
        blocks = torch.unflatten(powers[..., :-1] @ self.series, -1, (_BLOCK, -1))
        total, step = blocks[..., -1, :], powers[..., -1:]
        for k in range(_BLOCK - 2, -1, -1):
            total = total * step + blocks[..., k, :]
        value, slope = total.chunk(2, -1)
        return value, slope

    def _summed(self, z: Complex128[Tensor, "*points"]) -> tuple[Tensor, Tensor]:
        """F and F' source by source, in real arithmetic: complex division is slow on a CPU."""
        x, y, q = (
            z.real[..., None] - self.sources.real,
            self.sources.imag - z.imag[..., None],
            self.strength.mT,
        )
        gap = (x * x).addcmul_(y, y)
        real, imag = x.div_(gap), y.div_(gap)
        square = (real * real).addcmul_(imag, imag, value=-1)
        return torch.complex(real @ q, imag @ q), torch.complex(-square @ q, -2 * (real * imag) @ q)

    def everywhere(self, values: Float64[Tensor, "*batch few"]) -> Float64[Tensor, "*batch boundary"]:
        """From the nodes that are there to all."""
        if self.between is None:
            return values
        coarse = values.shape[-1] // 4
        closed = torch.cat([values, values[..., :1]], -1)
        sides = closed.unfold(-1, coarse + 1, coarse)
        return (sides @ self.between).flatten(-2)


def _stride(domain: Domain, margin: float, tolerance: float) -> int:
    """The widest that keeps exp(-π m depth / 2) below the tolerance, m intervals to a side."""
    if not isinstance(domain, Square):
        return 1
    side = domain.boundary_size // 4
    least = math.log(1 / tolerance) * 2 / (math.pi * _DEEPER * margin)
    return max((k for k in range(1, side) if side % k == 0 and side // k >= least), default=1)


def _series(sources: Tensor, strength: Tensor) -> Complex128[Tensor, "16 columns"]:
    """-b_m and -(m + 1) b_{m+1}: [i, (k, currents of F, currents of F')] belongs to Z^(16 k + i)."""
    order = torch.arange(1, _BLOCK * _BLOCK + 2, device=sources.device)
    conjugate = torch.polar(torch.ones(1).to(strength), -sources.angle() * order[:, None])
    series = -(conjugate @ strength.mT.to(conjugate.dtype))
    both = torch.cat([series[:-1], order[:-1, None] * series[1:]], -1)
    return torch.unflatten(both, 0, (_BLOCK, _BLOCK)).transpose(0, 1).flatten(1)


def _powers(z: Complex128[Tensor, "*points"]) -> Complex128[Tensor, "*points 17"]:
    """1, z, …, z^16."""
    powers, top = torch.stack([torch.ones_like(z), z], -1), z[..., None]
    while powers.shape[-1] <= _BLOCK:
        powers, top = torch.cat([powers, powers[..., 1:] * top], -1), top * top
    return powers


def _cosine_interpolation(side: int, stride: int, device: torch.device) -> Float64[Tensor, "coarse fine"]:
    """From side/stride + 1 nodes of a side to its first `side` nodes; the last is the first of the next."""
    coarse = side // stride
    return cosine.analysis(coarse, device).T @ cosine.synthesis(side, device)[: coarse + 1, :side]
