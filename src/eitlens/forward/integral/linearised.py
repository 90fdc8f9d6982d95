"""Boundary data of many ellipse phantoms together with their derivative in every ellipse parameter.

The equations of `BoundaryIntegralSolver`, A q = -s and f - f0 = B q, depend on parameter p of one ellipse
through the nodes Z of that ellipse alone. Differentiating them,

    A q̇ = -(ṡ + Ȧ q),     ḟ = B q̇ + Ḃ q,

and Ȧ q, Ḃ q are products of matrices that are there anyway (1/(Z_i - Z_j) and its square, …) with Ż q: the
derivative in all twenty parameters costs about two more solves, where differences would cost twenty.

The system is assembled here a second time, on purpose. `solver` takes any contrasts, absent shapes and autograd, in
complex arithmetic, and forgets its matrices. Here all ellipses conduct alike, the parts of the kernel are kept for the
derivative, and real arithmetic with arrays changed in place is four times as fast; the sums are in another order, so
the two agree to rounding and not to the bit (tested).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import torch
from jaxtyping import Complex128, Float64
from torch import Tensor

from eitlens.domain import Domain
from eitlens.forward.currents import project
from eitlens.forward.integral.chebyshev import Iterated
from eitlens.forward.integral.sources import BoundarySources
from eitlens.memory import chunk_size
from eitlens.phantom.samplers import PER_ELLIPSE
from eitlens.phantom.samplers import EllipseRows as Rows

# Pairs of an outline node and a boundary node whose arrays fit the cache.
_AT_ONCE_ON_A_CPU = 250_000
# Of the central difference for ζ''': its error is about 1e-8 / 6 of the fifth derivative.
_SHIFT = 1e-4
# Up to so many unknowns LU is the faster one on a GPU.
_SMALL = 64

Result = TypeVar("Result")


class Linearised(NamedTuple):
    """f - f0 and its derivative in (cx, cy, a, b, angle) of each ellipse."""

    data: Float64[Tensor, "batch currents boundary"]
    jacobian: Float64[Tensor, "batch currents ellipses 5 boundary"]


class _Curves(NamedTuple):
    """Image curves of the outlines: Z(t), Z' and Z''/(2Z')."""

    point: Complex128[Tensor, "batch ellipses nodes"]
    first: Complex128[Tensor, "batch ellipses nodes"]
    bend: Complex128[Tensor, "batch ellipses nodes"]


class _Moving(NamedTuple):
    """The derivatives of Z, Z' and Z''/(2Z') in the five parameters of the ellipse."""

    point: Complex128[Tensor, "batch ellipses nodes 5"]
    first: Complex128[Tensor, "batch ellipses nodes 5"]
    bend: Complex128[Tensor, "batch ellipses nodes 5"]


class _Field(NamedTuple):
    """The field between outlines and boundary nodes: 1/(Z_i - ζ_k) and log |Z_i - ζ_k|²."""

    real: Float64[Tensor, "batch unknowns boundary"]
    imag: Float64[Tensor, "batch unknowns boundary"]
    log: Float64[Tensor, "batch unknowns boundary"]


class _Kernel(NamedTuple):
    """Parts of R = 1/(Z_i - Z_j), zero on the diagonal, and of S = 1/(1 - Z_i conj Z_j).

    Complex division is slow on a CPU: real arithmetic is four times as fast here.
    """

    near_real: Float64[Tensor, "batch unknowns unknowns"]
    near_imag: Float64[Tensor, "batch unknowns unknowns"]
    far_real: Float64[Tensor, "batch unknowns unknowns"]
    far_imag: Float64[Tensor, "batch unknowns unknowns"]


class _Factorised(NamedTuple):
    """LU decompositions; on a CPU one after the other, as in `solver`: a batch takes longer there."""

    factors: Tensor
    pivots: Tensor

    def __call__(self, right: Tensor) -> Tensor:
        if right.is_cuda:
            solution: Tensor = torch.linalg.lu_solve(self.factors, self.pivots, right)
            return solution
        each = zip(self.factors, self.pivots, right, strict=True)
        return torch.stack([torch.linalg.lu_solve(a, p, b) for a, p, b in each])


class _Solved(NamedTuple):
    """The charges and the data of phantoms, and all that their derivative needs."""

    curves: _Curves
    pull: Complex128[Tensor, "batch unknowns currents"]
    bend: Complex128[Tensor, "batch unknowns currents"]
    field: _Field
    kernel: _Kernel
    inverse: _Factorised | Iterated
    charge: Float64[Tensor, "batch unknowns currents"]
    data: Float64[Tensor, "batch currents boundary"]


@dataclass(frozen=True)
class LinearisedSolver:
    """`BoundaryIntegralSolver` with `nodes` an outline, for ellipses of one conductivity, with derivative.

    It checks nothing: the ellipses must be inside the body and apart.
    """

    domain: Domain
    sources: BoundarySources
    inside: float
    outside: float
    nodes: int

    def __call__(self, rows: Rows) -> Linearised:
        """Linearise a batch of phantoms, in chunks that fit the memory (or the cache of a CPU)."""
        parts = self._mapped(self._linearise, rows)
        return Linearised(torch.cat([p.data for p in parts]), torch.cat([p.jacobian for p in parts]))

    def data(self, rows: Rows) -> Float64[Tensor, "batch currents boundary"]:
        """Solve for the data alone, in less than half of the time."""
        return torch.cat(self._mapped(lambda chunk: self._solve(chunk).data, rows))

    def _mapped(self, solve: Callable[[Rows], Result], rows: Rows) -> list[Result]:
        return [solve(chunk) for chunk in torch.split(rows, self._at_once(rows))]

    def _at_once(self, rows: Rows) -> int:
        if rows.device.type == "cpu":
            return max(1, _AT_ONCE_ON_A_CPU // (rows.shape[1] * self.nodes * len(self.sources.nodes)))
        unknowns, sources = rows.shape[1] * self.nodes, self.sources
        seen = sources.points if sources.series is None else sources.nodes
        return chunk_size(8 * unknowns * (16 * unknowns + 12 * len(seen)), rows.device)

    @property
    def _scale(self) -> float:
        return -1 / self.nodes

    def _solve(self, rows: Rows) -> _Solved:
        curves = _curves(self.domain, rows, self.nodes)
        z = curves.point.flatten(1)
        pull, bend = self.sources.pull(z)
        field, kernel = _field(z, self.sources.nodes), _kernel(z)
        inverse = self._inverse(self._matrix(curves, kernel))
        charge = inverse(self._flux * -(curves.first.flatten(1)[..., None] * pull).imag)
        data = self.sources.everywhere(self._scale * (charge.mT @ field.log))
        return _Solved(curves, pull, bend, field, kernel, inverse, charge, project(data))

    @property
    def _flux(self) -> float:
        """|z'| ∂u0/∂ν is this times Im [Z' F(Z)], F the pull of the currents."""
        return -1 / (torch.pi * self.outside)

    def _linearise(self, rows: Rows) -> Linearised:
        solved = self._solve(rows)
        moving = _moving(self.domain, rows, solved.curves)
        right = self._scale * _moved(solved.curves, moving, solved.kernel, solved.charge)
        right = _on_own_rows(right, self._flux * _d_source(solved, moving))
        d_charge = torch.unflatten(-solved.inverse(right.flatten(2)), -1, right.shape[2:])
        response = self._scale * _response(moving, solved.field, solved.charge, d_charge)
        return Linearised(solved.data, project(self.sources.everywhere(response)))

    def _matrix(self, curves: _Curves, kernel: _Kernel) -> Float64[Tensor, "batch unknowns unknowns"]:
        """λ I + K + M, K_ij = -(1/n) Im [Z'_i (R_ij - conj Z_j S_ij)], with Z''/(2Z') for R Z' on the diagonal.

        M is half the mean over the n nodes of an outline, as in `solver`, wherever they are.
        """
        x, y = curves.point.flatten(1).real[:, None, :], curves.point.flatten(1).imag[:, None, :]
        slope = curves.first.flatten(1)[..., None]
        real = kernel.near_real - (x * kernel.far_real + y * kernel.far_imag)
        imag = kernel.near_imag - (x * kernel.far_imag - y * kernel.far_real)
        both = slope.real * imag + slope.imag * real
        both.diagonal(dim1=1, dim2=2).add_(curves.bend.flatten(1).imag)
        both.mul_(self._scale).diagonal(dim1=1, dim2=2).add_(self._ratio)
        shape = curves.point.shape[1:]
        outlines = torch.unflatten(torch.unflatten(both, 2, shape), 1, shape)
        outlines.diagonal(dim1=1, dim2=3).add_(0.5 / self.nodes)
        return both

    @property
    def _ratio(self) -> float:
        """λ, beyond ±1/2."""
        return (self.inside + self.outside) / (2 * (self.inside - self.outside))

    def _inverse(self, matrix: Float64[Tensor, "batch unknowns unknowns"]) -> _Factorised | Iterated:
        if not matrix.is_cuda or matrix.shape[-1] <= _SMALL:
            return _factorise(matrix)
        half = math.copysign(0.5, self._ratio)
        return Iterated(matrix, self._ratio - half, self._ratio + half)


def _d_source(solved: _Solved, moving: _Moving) -> Float64[Tensor, "batch ellipses nodes 5 currents"]:
    """The derivative of Im [Z' F(Z)]."""
    first = solved.curves.first
    pull, bend = (torch.unflatten(v, 1, first.shape[1:])[..., None, :] for v in (solved.pull, solved.bend))
    moved = (first[..., None] * moving.point)[..., None] * bend
    return (moving.first[..., None] * pull + moved).imag


def _curves(domain: Domain, rows: Rows, count: int) -> _Curves:
    """Points z = c + e^{iα}(a cos t + i b sin t) carried to the disk: Z' = ζ' z', Z'' = ζ'' z'² + ζ' z''."""
    spoke, first, *_ = _spokes(rows, count)
    z = torch.complex(rows[..., 0], rows[..., 1])[..., None] + spoke
    image = domain.conformal_map(torch.view_as_real(z))
    bend = (image.second / image.first * first - spoke / first) / 2
    return _Curves(image.value, image.first * first, bend)


def _spokes(rows: Rows, count: int) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Points and slopes of the curve: z - c and z' with their derivatives in a and in b; z'' = -(z - c)."""
    t = torch.arange(count, dtype=torch.float64, device=rows.device) * (2 * torch.pi / count)
    a, b, angle = rows[..., None, 2:].unbind(-1)
    turn = torch.polar(torch.ones_like(angle), angle)
    cos, sin = turn * torch.cos(t), 1j * turn * torch.sin(t)
    d_cos, d_sin = -turn * torch.sin(t), 1j * turn * torch.cos(t)
    return a * cos + b * sin, a * d_cos + b * d_sin, cos, sin, d_cos, d_sin


def _moving(domain: Domain, rows: Rows, curves: _Curves) -> _Moving:
    """The derivatives of Z, Z' and Z''/(2Z') in the parameters, by the chain rule."""
    spoke, first, cos, sin, d_cos, d_sin = _spokes(rows, curves.point.shape[-1])
    one, zero = torch.ones_like(spoke), torch.zeros_like(spoke)
    d_spoke = torch.stack([zero, zero, cos, sin, 1j * spoke], -1)
    d_point = d_spoke + torch.stack([one, 1j * one, zero, zero, zero], -1)
    d_first = torch.stack([zero, zero, d_cos, d_sin, 1j * first], -1)
    z = torch.complex(rows[..., 0], rows[..., 1])[..., None] + spoke
    return _carried(domain, z, first, -spoke, (d_point, d_first, -d_spoke))


def _carried(
    domain: Domain, z: Tensor, first: Tensor, second: Tensor, change: tuple[Tensor, Tensor, Tensor]
) -> _Moving:
    """Differentiate Z' = ζ' z' and Z''/(2Z') = (ζ''/ζ' z' + z''/z')/2; ζ''' is a central difference, of nine digits."""
    image = domain.conformal_map(torch.view_as_real(torch.stack([z, z + _SHIFT, z - _SHIFT])))
    d1, d2 = image.first[0], image.second[0]
    d3 = (image.second[1] - image.second[2]) / (2 * _SHIFT)
    d_z, d_first, d_second = change
    ratio = d2 / d1
    d_ratio = (d3 / d1 - ratio * ratio)[..., None] * d_z
    inner = (d_second - (second / first)[..., None] * d_first) * (1 / first)[..., None]
    d_bend = (d_ratio * first[..., None] + ratio[..., None] * d_first + inner) / 2
    return _Moving(d1[..., None] * d_z, (d2 * first)[..., None] * d_z + d1[..., None] * d_first, d_bend)


def _field(z: Complex128[Tensor, "batch unknowns"], sources: Complex128[Tensor, "boundary"]) -> _Field:
    """Computed in place: these are the largest arrays of all."""
    x, y = z.real[..., None] - sources.real, sources.imag - z.imag[..., None]
    gap = (x * x).addcmul_(y, y)
    inverse = gap.reciprocal()
    return _Field(x.mul_(inverse), y.mul_(inverse), gap.log_())


def _kernel(z: Complex128[Tensor, "batch unknowns"]) -> _Kernel:
    x, y, u, v = z.real[:, :, None], z.imag[:, :, None], z.real[:, None, :], z.imag[:, None, :]
    dx, dy = x - u, y - v
    gap = (dx * dx).addcmul_(dy, dy)
    gap.diagonal(dim1=1, dim2=2).fill_(torch.inf)
    real, imag = 1 - x * u - y * v, y * u - x * v
    size = (real * real).addcmul_(imag, imag)
    return _Kernel(dx.div_(gap), dy.div_(gap).neg_(), real.div_(size), imag.div_(size))


def _moved(
    curves: _Curves, moving: _Moving, kernel: _Kernel, charge: Float64[Tensor, "batch unknowns currents"]
) -> Float64[Tensor, "batch unknowns ellipses 5 currents"]:
    """The derivative of Im [ C - E ] q with C_ij = Z'_i R_ij, E_ij = Z'_i conj Z_j S_ij.

    Moving node i changes row i, moving node j column j:
        Ċ_ij = Ż'_i R_ij - Z'_i (Ż_i - Ż_j) R_ij²,
        Ė_ij = Ż'_i conj Z_j S_ij + Z'_i (Ż_i conj Z_j² + conj Ż_j) S_ij².
    """
    near = _squared(kernel.near_real, kernel.near_imag)
    far = _squared(kernel.far_real, kernel.far_imag)
    mirror = curves.point.flatten(1).conj()[..., None]
    q = charge.to(mirror.dtype)
    by_slope = _times(kernel[:2], q) - _times(kernel[2:], mirror * q)
    by_place = _times(near, q) + _times(far, mirror * mirror * q)
    slope, place, own = (
        torch.unflatten(w, 1, curves.point.shape[1:])[..., None, :] for w in (by_slope, by_place, q)
    )
    rows = moving.first[..., None] * slope - (curves.first[..., None] * moving.point)[..., None] * place
    rows = (rows + moving.bend[..., None] * own).imag
    return _on_own_rows(_columns(curves, near, far, moving.point[..., None] * own), rows)


def _columns(
    curves: _Curves,
    near: tuple[Tensor, Tensor],
    far: tuple[Tensor, Tensor],
    carried: Complex128[Tensor, "batch ellipses nodes 5 currents"],
) -> Float64[Tensor, "batch unknowns ellipses 5 currents"]:
    """Im [ Z'_i Σ_j (R_ij² Ż_j - S_ij² conj Ż_j) q_j ] over the nodes j of each ellipse apart."""
    px, py = (part.flatten(1)[..., None] for part in (curves.first.real, curves.first.imag))
    real = px * (near[1] - far[1]) + py * (near[0] - far[0])
    imag = px * (near[0] + far[0]) - py * (near[1] + far[1])
    product = _by_block(real, carried.real) + _by_block(imag, carried.imag)
    return torch.unflatten(product, 3, carried.shape[3:]).transpose(1, 2)


def _by_block(
    matrix: Float64[Tensor, "batch unknowns unknowns"],
    values: Float64[Tensor, "batch ellipses nodes 5 currents"],
) -> Float64[Tensor, "batch ellipses unknowns columns"]:
    blocks = torch.unflatten(matrix, 2, values.shape[1:3]).transpose(1, 2)
    return blocks @ values.flatten(3)


def _squared(real: Tensor, imag: Tensor) -> tuple[Tensor, Tensor]:
    return (real * real).addcmul_(imag, imag, value=-1), (2 * real).mul_(imag)


def _times(matrix: tuple[Tensor, ...], vector: Tensor) -> Tensor:
    """A complex matrix in parts times a complex vector."""
    both = torch.cat([vector.real, vector.imag], -1)
    (a, b), (c, d) = ((part @ both).chunk(2, -1) for part in matrix)
    return torch.complex(a - d, b + c)


def _on_own_rows(
    total: Float64[Tensor, "batch unknowns ellipses 5 currents"],
    values: Float64[Tensor, "batch ellipses nodes 5 currents"],
) -> Float64[Tensor, "batch unknowns ellipses 5 currents"]:
    """Add what a parameter does to the nodes of its own ellipse."""
    own = torch.unflatten(total, 1, values.shape[1:3]).diagonal(dim1=1, dim2=3)
    own += values.permute(0, 2, 3, 4, 1)
    return total


def _response(
    moving: _Moving,
    field: _Field,
    charge: Float64[Tensor, "batch unknowns currents"],
    d_charge: Float64[Tensor, "batch unknowns ellipses 5 currents"],
) -> Float64[Tensor, "batch currents ellipses 5 boundary"]:
    """Σ_i q̇_i log |Z_i - ζ_k|² + 2 q_i Re [ Ż_i / (Z_i - ζ_k) ]."""
    moved = d_charge.flatten(2).mT @ field.log
    shape = moving.point.shape
    weight = 2 * moving.point[..., None] * torch.unflatten(charge, 1, shape[1:3])[..., None, :]
    weight = weight.flatten(3).mT
    real, imag = (torch.unflatten(part, 1, shape[1:3]) for part in (field.real, field.imag))
    shifted = weight.real @ real - weight.imag @ imag
    total = torch.unflatten(moved, 1, (shape[1], -1)).add_(shifted)
    return torch.unflatten(total, 2, (PER_ELLIPSE, -1)).permute(0, 3, 1, 2, 4)


def _factorise(matrix: Tensor) -> _Factorised:
    if matrix.is_cuda:
        return _Factorised(*torch.linalg.lu_factor(matrix))
    factors, pivots = zip(*(torch.linalg.lu_factor(a) for a in matrix), strict=True)
    return _Factorised(torch.stack(factors), torch.stack(pivots))
