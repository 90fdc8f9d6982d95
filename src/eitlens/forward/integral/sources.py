"""Sources on the boundary as outlines inside see them, made cheap: a power series for them, and data at few nodes.

Sources. The current g, point sources q_k at the nodes ζ_k of the circle, pulls at Z with F = Σ_k q_k / (Z - ζ_k), an
analytic function of Z that does not depend on the phantom: F(Z) = -Σ_m b_m Z^m with b_m = Σ_k q_k ζ_k^{-m-1}. The
coefficients fall fast, as the current is smooth, and |Z|^m falls too.

Data. No current flows through the boundary that is not in f0 already, so f - f0 goes on evenly beyond each right-angled
corner of a body: on each side, of length ℓ, it is a cosine series. Its coefficients fall like exp(-π m depth / ℓ),
`depth` being how far behind the side the inclusions' equivalent charges lie. Values at every fourth node then tell
those between to about the tolerance of the solver (measured in the square, on draws of the paper's prior and the first
cosine current, relative to the rms: at most 3e-4 for every fourth node of 200 a side, 1e-7 in the median; 1e-5 for
every other one).

Both were measured with cos lθ, l ≤ 3. A rough current sees little of what is deep, and its data are small and rough:
then `finer` has more nodes and `summed` no series, and `Target.build` tells which of them a current needs.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch
from jaxtyping import Complex128, Float64
from torch import Tensor

from eitlens.domain import Domain, boundary, cosine
from eitlens.forward.base import Currents, check_currents

# Nodes this many spacings away take point sources for a continuous current: exp(-2π · 3.5) < 1e-9.
_SMOOTH = 3.5
# The power series has 16 · 16 terms, in blocks of 16: its last term is below rounding where |Z| < 0.87.
_BLOCK = 16
# The charges on an outline act like others further inside: about twice as deep (see above).
_DEEPER = 2.0


@dataclass(frozen=True)
class BoundarySources:
    """Point sources at all boundary nodes, carried to the unit disk, and the few nodes at which data are computed."""

    nodes: Complex128[Tensor, "few"]
    points: Complex128[Tensor, "boundary"]
    """Where the sources are."""
    strength: Float64[Tensor, "currents boundary"]
    series: Complex128[Tensor, "16 columns"] | None
    """The coefficients of F and F' in 16 blocks of 16 (see `_series`).

    None where the nodes are so wide apart that the outlines feel the single sources.
    """
    between: Float64[Tensor, "coarse fine"] | None
    """The cosine interpolation along a side; None where every node is there already."""
    sides: int
    """Equal sides of the body from corner to corner; 1 where the boundary has no such sides."""

    @staticmethod
    def build(domain: Domain, currents: Currents, margin: float, tolerance: float) -> "BoundarySources":
        """Build the sources for inclusions `margin` away from the boundary, and data to a relative `tolerance`."""
        g = check_currents(domain, currents)
        points = domain.conformal_map(domain.boundary(g.device)).value
        strength = domain.boundary_weight * g
        stride = _stride(domain, margin, tolerance)
        series = _series(points, strength) if margin >= _SMOOTH * domain.boundary_weight else None
        return BoundarySources(points, points, strength, series, None, _equal_sides(domain)).every(stride)

    def every(self, stride: int) -> "BoundarySources":
        """Thin the nodes with data to every so many of a side, those at its ends among them."""
        side = len(self.points) // self.sides
        between = _cosine_interpolation(side, stride, self.strength.device) if stride > 1 else None
        return replace(self, nodes=self.points[::stride], between=between)

    def finer(self) -> "Iterator[BoundarySources]":
        """Yield these sources, then the same with more and more nodes, up to all."""
        side, stride = len(self.points) // self.sides, self.stride
        return (self.every(k) for k in range(stride, 0, -1) if k == 1 or side % k == 0)

    def summed(self) -> "BoundarySources":
        """Drop the power series: every source is then added up by itself."""
        return replace(self, series=None)

    @property
    def stride(self) -> int:
        """Boundary nodes from one with data to the next."""
        return len(self.points) // len(self.nodes)

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
            z.real[..., None] - self.points.real,
            self.points.imag - z.imag[..., None],
            self.strength.mT,
        )
        gap = (x * x).addcmul_(y, y)
        real, imag = x.div_(gap), y.div_(gap)
        square = (real * real).addcmul_(imag, imag, value=-1)
        return torch.complex(real @ q, imag @ q), torch.complex(-square @ q, -2 * (real * imag) @ q)

    def everywhere(self, values: Float64[Tensor, "*batch few"]) -> Float64[Tensor, "*batch boundary"]:
        """Interpolate values at the nodes with data to all boundary nodes."""
        if self.between is None:
            return values
        coarse = values.shape[-1] // self.sides
        closed = torch.cat([values, values[..., :1]], -1)
        sides = closed.unfold(-1, coarse + 1, coarse)
        return (sides @ self.between).flatten(-2)


def _stride(domain: Domain, margin: float, tolerance: float) -> int:
    """The widest that keeps exp(-π m depth / ℓ) below the tolerance, m intervals to a side of length ℓ."""
    sides = _equal_sides(domain)
    if sides == 1:
        return 1
    side = domain.boundary_size // sides
    least = math.log(1 / tolerance) * (domain.perimeter / sides) / (math.pi * _DEEPER * margin)
    return max((k for k in range(1, side) if side % k == 0 and side // k >= least), default=1)


def _equal_sides(domain: Domain) -> int:
    """Count the equal sides that the corners make; 1 where there are none or they differ in length."""
    lengths = {round((end - start) / domain.boundary_weight) for start, end in boundary.sides(domain)}
    return len(domain.corners) if domain.corners and len(lengths) == 1 else 1


def _series(points: Tensor, strength: Tensor) -> Complex128[Tensor, "16 columns"]:
    """-b_m and -(m + 1) b_{m+1}: [i, (k, currents of F, currents of F')] belongs to Z^(16 k + i)."""
    order = torch.arange(1, _BLOCK * _BLOCK + 2, device=points.device)
    conjugate = torch.polar(torch.ones(1).to(strength), -points.angle() * order[:, None])
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
    """Build the interpolation from side/stride + 1 nodes of a side to its first `side`; the last is the next side's."""
    coarse = side // stride
    return cosine.analysis(coarse, device).T @ cosine.synthesis(side, device)[: coarse + 1, :side]
