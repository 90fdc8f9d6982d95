"""The Riemann map of a body with a smooth outline onto the unit disk, to about twelve digits.

On the boundary. The Szegő kernel S(·, a) of a point a inside solves the integral equation of Kerzman and Stein,

    S(z) + ∮ A(z, w) S(w) ds(w) = conj H(a, z),    H(w, z) = T(z) / (2πi (z - w)),    A(z, w) = conj H(w, z) - H(z, w),

T being the unit tangent. A is smooth, skew-Hermitian and zero on the diagonal, so the trapezoid rule converges
exponentially and the system is well conditioned. The map with ζ(a) = 0, ζ'(a) > 0 is there

    ζ = -i T S² / |S|²,    ζ' = 2π S² / ∮|S|².

Inside, from the values f_j at nodes z_j of the boundary with weights w_j = z'_j: the quotient of two Cauchy integrals

    f(z) = Σ_j w_j f_j / (z_j - z)  /  Σ_j w_j / (z_j - z),

whose errors cancel near the boundary; it holds on the boundary too.

References: N. Kerzman, M. Trummer, J. Comput. Appl. Math. 14 (1986); J. Helsing, R. Ojala, J. Comput. Phys. 227 (2008).
"""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Complex128, Float64
from torch import Tensor

from eitlens.domain.base import CPU, ConformalMap
from eitlens.domain.curve import ClosedCurve, Periodic, closed_curve
from eitlens.errors import InputError
from eitlens.memory import cached, chunk_size

_FEWEST, _MOST = 128, 2048
"""Nodes of the integral equation; with the most it takes a few seconds, once for a body."""
_RESOLVED, _NEEDED = 1e-12, 1e-6
"""The spectrum of the map at its upper end, relative to its largest value: what is asked for, and what is accepted."""
_TABLE = 4096
"""Places at which the angle of the map is tabulated."""
_AT_NODE = 1e-14
"""A point this near to a node of the boundary takes its values."""
_AT_ONCE = 2**18
"""Distances at once on a CPU, which stay in its cache."""


@dataclass(frozen=True, eq=False)
class RiemannMap:
    """The map of one body: its values on the boundary, and from them those inside."""

    nodes: Complex128[Tensor, "nodes"]
    weights: Complex128[Tensor, "nodes"]
    """z'(t) at the nodes."""
    values: Complex128[Tensor, "nodes 4"]
    """ζ, ζ', ζ'' and ζ''' at the nodes."""
    lead: Periodic
    """θ(t) - t, θ the angle of ζ on the boundary."""

    def angle(self, t: Float64[Tensor, "*points"]) -> Float64[Tensor, "*points"]:
        """The angle θ of ζ at the parameter t of the boundary."""
        return t + self.lead(t)

    def slope(self, t: Float64[Tensor, "*points"]) -> Float64[Tensor, "*points"]:
        """The derivative dθ/dt."""
        return 1 + self.lead(t, 1)

    def __call__(self, points: Float64[Tensor, "*points 2"]) -> ConformalMap:
        """The map and its derivatives; autograd sees Taylor's polynomial about each point."""
        z = torch.complex(*points.unbind(-1))
        known = cauchy(self.nodes, self.weights, self.values, z.detach().flatten()).reshape(*z.shape, 4)
        value, first, second, third = known.unbind(-1)
        if not points.requires_grad:
            return ConformalMap(value, first, second)
        d = z - z.detach()
        return ConformalMap(
            value + d * (first + d * (second / 2 + d * third / 6)),
            first + d * (second + d * third / 2),
            second + d * third,
        )


def cauchy(
    nodes: Complex128[Tensor, "nodes"],
    weights: Complex128[Tensor, "nodes"],
    values: Complex128[Tensor, "nodes functions"],
    points: Complex128[Tensor, "points"],
) -> Complex128[Tensor, "points functions"]:
    """Values of analytic functions at points inside or on the boundary, from those at nodes of the boundary."""
    both = torch.cat([weights[:, None], weights[:, None] * values], -1)
    columns = torch.cat([torch.cat([both.real, both.imag], -1), torch.cat([both.imag, -both.real], -1)])
    size = chunk_size(64 * len(nodes), points.device) if points.is_cuda else _AT_ONCE // len(nodes)
    return torch.cat([_quotient(nodes, columns, values, part) for part in torch.split(points, size)])


def _quotient(
    nodes: Complex128[Tensor, "nodes"],
    columns: Float64[Tensor, "both columns"],
    values: Complex128[Tensor, "nodes functions"],
    points: Complex128[Tensor, "points"],
) -> Complex128[Tensor, "points functions"]:
    """1 / (z_j - z) in real arithmetic, which is thrice as fast: x / r² and -y / r²."""
    x, y = nodes.real - points.real[:, None], nodes.imag - points.imag[:, None]
    square = (x * x).addcmul_(y, y)
    least, node = square.min(-1)
    square.clamp_(min=_AT_NODE**2)
    sums = torch.cat([x.div_(square), y.div_(square)], -1) @ columns
    total = torch.complex(*sums.chunk(2, -1))
    return torch.where((least < _AT_NODE**2)[:, None], values[node], total[:, 1:] / total[:, :1])


@cached
def riemann_map(coefficients: tuple[complex, ...], centre: complex, device: torch.device = CPU) -> RiemannMap:
    """The map of the body with this outline that takes `centre` to 0."""
    curve, size = closed_curve(coefficients), _FEWEST
    while True:
        value, first = _on_boundary(curve, centre, size)
        tail = _tail(value)
        if tail < _RESOLVED or size == _MOST:
            break
        size *= 2
    if tail > _NEEDED:
        raise InputError(
            f"the outline is too long, too thin or too sharp for its Riemann map (known to {tail:.1g}): "
            "round its corners by a larger radius, or smooth it"
        )
    return _tabulated(curve, value, first, device)


def _on_boundary(curve: ClosedCurve, centre: complex, size: int) -> tuple[Tensor, Tensor]:
    """ζ and ζ' at nodes that are equally spaced in arclength."""
    t = torch.arange(size, dtype=torch.float64) * (2 * torch.pi / size)
    z, tangent = curve.place(t), curve.place(t, 1)
    tangent = tangent / tangent.abs()
    weight = curve.perimeter / size
    gap = z[:, None] - z + torch.eye(size)
    kernel = (tangent / gap - (tangent[:, None] / gap).conj()) / (2j * math.pi)
    kernel.diagonal().zero_()
    right = (tangent / (z - centre)).conj() * (0.5j / math.pi)
    kernel *= weight
    kernel.diagonal().add_(1.0)
    szego = torch.linalg.solve(kernel, right)
    size_squared = weight * szego.abs().square().sum()
    square = szego.square()
    return -1j * tangent * square / square.abs(), 2 * math.pi * square / size_squared


def _tail(value: Complex128[Tensor, "nodes"]) -> float:
    """The part of the spectrum that is left at its upper end."""
    spectrum = torch.fft.fft(value).abs()
    size = len(value)
    return float(spectrum[3 * size // 8 : 5 * size // 8].amax() / spectrum.amax())


def _tabulated(curve: ClosedCurve, value: Tensor, first: Tensor, device: torch.device) -> RiemannMap:
    size = len(value)
    t = torch.arange(size, dtype=torch.float64) * (2 * torch.pi / size)
    speed = curve.place(t, 1)
    second = _derivative(first) / speed
    third = _derivative(second) / speed
    values = torch.stack([value, first, second, third], -1)
    step = (value / value.roll(1)).angle()
    turned = torch.cumsum(torch.cat([value[:1].angle(), step[1:]]), 0)
    lead = Periodic.through(finer(turned - t, max(_TABLE, size)).to(device))
    return RiemannMap(curve.place(t).to(device), speed.to(device), values.to(device), lead)


def _derivative(values: Complex128[Tensor, "nodes"]) -> Complex128[Tensor, "nodes"]:
    """The derivative in t."""
    wave = torch.fft.fftfreq(len(values), 1 / len(values), dtype=torch.float64)
    found: Tensor = torch.fft.ifft(1j * wave * torch.fft.fft(values))
    return found


def finer(values: Float64[Tensor, "*rows nodes"], size: int) -> Float64[Tensor, "*rows samples"]:
    """Trigonometric interpolation to at least as many equal steps."""
    count = values.shape[-1]
    if size == count:
        return values
    spectrum = torch.fft.rfft(values)
    if count % 2 == 0:
        spectrum = torch.cat([spectrum[..., :-1], spectrum[..., -1:] / 2], -1)
    found: Tensor = torch.fft.irfft(spectrum, size) * (size / count)
    return found
