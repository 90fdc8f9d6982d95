"""The solver for smooth inclusions that do not touch: a boundary integral equation on their outlines, spectral."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Complex128, Float64, Int64
from torch import Tensor

from eitlens import checks
from eitlens.domain import Domain
from eitlens.errors import InputError
from eitlens.forward.base import Currents, Data, Modes, Solver, check_currents
from eitlens.forward.currents import project
from eitlens.forward.integral.outlines import Outlines, check_nodes, gathered, needed_nodes, outlines
from eitlens.memory import chunk_size
from eitlens.phantom import Phantom, PhantomBatch, Phantoms, as_batch, check_inside
from eitlens.threads import free_cores_only

# Fewer resolve no ellipse at all.
_FEWEST_NODES = 8


@dataclass(frozen=True)
class BoundaryIntegralSolver(Solver):
    """A solver for f - f0 by a second-kind integral equation on the outlines Γ of the inclusions.

    The Neumann function of any simply connected body is that of the unit disk composed with the body's
    Riemann map ζ,

        N(x, y) = -(1/2π) (log |ζ(x) - ζ(y)| + log |1 - ζ(x) conj ζ(y)|),

    up to terms that cancel for sources of zero sum. With u = u0 + ∫_Γ N(·, y) ψ(y) ds(y) the conditions on Γ
    become

        ψ + κ ∂/∂ν ∫_Γ N ψ = -κ ∂u0/∂ν,    κ = 2 (σ_in - σ_out) / (σ_in + σ_out),

    with ∫ψ = 0 on each outline, and by conformal invariance everything happens on the image curves Z = ζ(Γ)
    in the disk. The trapezoid rule in the curve parameter converges exponentially: 60 nodes an ellipse give
    about nine digits, fewer when outlines come close to each other or to the boundary. Each phantom gets as
    many nodes an outline as `tolerance` needs, or `nodes` if given. Any contrast will do, that of a perfect
    conductor or insulator as well as 1.

    The current g is the set of point sources h g_k at the boundary nodes. As N is flat towards a corner, the
    trapezoid rule for u0 is of fourth order in h for currents with a continuous derivative along the loop
    (cos lθ has one), and resolves inclusions at least two or three cells away from the boundary. Λ is
    symmetric to rounding.

    Differentiable in the shape parameters, in the conductivities and in the currents. Reference: H. Ammari,
    H. Kang, "Reconstruction of Small Inhomogeneities from Boundary Measurements", Springer 2004.

    >>> import eitlens as eit
    >>> square = eit.Square(32)
    >>> phantom = eit.Phantom((eit.Ellipse((0.2, 0.1), (0.3, 0.2)),), (10.0,))
    >>> difference = eit.BoundaryIntegralSolver(square).difference(phantom, eit.currents.cosine(square, 1))
    >>> difference.shape, round(float(difference.abs().max()), 4)
    (torch.Size([1, 128]), 0.1514)
    """

    domain: Domain
    tolerance: float = 1e-9
    nodes: int | None = None
    order: ClassVar[float] = 4.0

    def __post_init__(self) -> None:
        if not isinstance(self.domain, Domain):
            raise InputError(
                f"BoundaryIntegralSolver: expected a body such as Square(200), got {checks.shown(self.domain)}"
            )
        if self.nodes is not None and self.nodes < _FEWEST_NODES:
            raise InputError(
                f"BoundaryIntegralSolver needs at least {_FEWEST_NODES} nodes an outline, got {self.nodes}"
            )
        if not 0 < self.tolerance < 1:
            raise InputError(
                f"BoundaryIntegralSolver: tolerance must be between 0 and 1, got {self.tolerance}"
            )

    def difference(self, conductivity: Phantoms, currents: Currents) -> Data:
        """The data f - f0; see `Solver.difference`."""
        given = checks.real(currents, "currents")
        batch = as_batch(conductivity, given.device)
        g = check_currents(self.domain, given, len(batch))
        if not batch.groups:
            result = g.new_zeros(len(batch), *g.shape[-2:])
        else:
            result = self._in_groups(batch, lambda curves, k: self._data(curves, g if g.ndim < 3 else g[k]))
        return result[0] if isinstance(conductivity, Phantom) else result

    def modes(self, conductivity: Phantoms, count: int) -> Modes:
        """Λ_σ - Λ_σ0 between waves on the unit circle, without boundary nodes; see `Solver.modes`."""
        batch = as_batch(conductivity)
        if not batch.groups:
            result = batch.outside.new_zeros(len(batch), 2 * count, 2 * count)
        else:
            result = self._in_groups(batch, lambda curves, _: _between_waves(curves, count))
        return result[0] if isinstance(conductivity, Phantom) else result

    @free_cores_only()
    def _in_groups(self, batch: PhantomBatch, solve: Callable[[Outlines, Tensor], Tensor]) -> Tensor:
        """Solve the phantoms of equal node count together, in chunks that fit the memory; keep the order."""
        slots = max(1, int(torch.stack([group.present.sum(1) for group in batch.groups]).sum(0).max()))
        counts = self._counts(batch)
        parts, places = [], []
        for count in torch.unique(counts).tolist():
            place = torch.nonzero(counts == count).flatten()
            unknowns = count * slots
            size = chunk_size(8 * unknowns * (8 * unknowns + 4 * self.domain.boundary_size), batch.device)
            for index in torch.split(place, size):
                curves = gathered(outlines(self.domain, batch[index], count))
                if self.nodes is not None:
                    check_nodes(self.domain, batch[index], curves)
                parts.append(solve(curves, index))
                places.append(index)
        return torch.cat(parts)[torch.argsort(torch.cat(places))]

    def _counts(self, batch: PhantomBatch) -> Int64[Tensor, "batch"]:
        """Nodes an outline: as many as are needed, or the fixed number."""
        if self.nodes is None:
            check_inside(self.domain, batch)
            return needed_nodes(self.domain, batch, self.tolerance)
        return torch.full((len(batch),), self.nodes, device=batch.device)

    def _data(self, curves: Outlines, g: Currents) -> Data:
        """Solve one dense system a phantom, one factorisation for all currents."""
        sources = self.domain.conformal_map(self.domain.boundary(g.device)).value
        gap = _squared_distance(curves.point, sources)
        source = _background_flux(curves, sources, self.domain.boundary_weight * g, gap)
        charge = solve_each(_transmission(curves), -source, curves.nodes)
        potential = (-1 / curves.nodes) * gap.log()
        return project(charge.mT @ potential)


def _between_waves(curves: Outlines, count: int) -> Modes:
    """The matrix of `Solver.modes`, with u0 = Re z^k / (k √π σ_out) and log |ζ - Z| = -Σ_k Re (Z / ζ)^k / k."""
    powers = _powers(curves.point, count)
    order = torch.arange(1, count + 1, dtype=torch.float64, device=powers.device)
    pull = powers[..., :-1] * curves.first[..., None]
    flux = torch.cat([pull.imag, -pull.real], -1)
    scale = curves.contrast / (math.sqrt(math.pi) * curves.outside[:, None])
    charge = solve_each(_transmission(curves), -scale[..., None] * flux, curves.nodes)
    wave = powers[..., 1:] * (2 * math.sqrt(math.pi) / curves.nodes / order)
    return torch.cat([wave.real, wave.imag], -1).mT @ charge


def _powers(
    z: Complex128[Tensor, "batch unknowns"], count: int
) -> Complex128[Tensor, "batch unknowns powers"]:
    """1, z, …, z^count, twice as many each time."""
    found = torch.stack([torch.ones_like(z), z], -1)
    while found.shape[-1] <= count:
        found = torch.cat([found, found[..., 1:] * found[..., -1:]], -1)
    return found[..., : count + 1]


def solve_each(
    matrix: Tensor, right: Tensor, block: int | None = None
) -> Float64[Tensor, "batch unknowns columns"]:
    """Solve a dense system a phantom; on a GPU by elimination of a block of unknowns after the other.

    No block is pivoted against another: each leading part of the matrix is that of the body with the first few
    inclusions, a problem as well posed. A batched LU of the whole matrix leaves a GPU idle most of the time.
    On a CPU one after the other: MKL's batched LU (torch 2.13) loses its pivots once the number of threads has been
    set by hand.
    """
    if matrix.is_cuda:
        solution: Tensor = by_blocks(matrix, right, block) if block else torch.linalg.solve(matrix, right)
        return solution
    return torch.stack([torch.linalg.solve(a, b) for a, b in zip(matrix, right, strict=True)])


def by_blocks(matrix: Tensor, right: Tensor, block: int) -> Float64[Tensor, "batch unknowns columns"]:
    """Solve for the first `block` unknowns, put them into the other equations, and so on."""
    inverse: Tensor = torch.linalg.inv(matrix[..., :block, :block])
    if matrix.shape[-1] <= block:
        return inverse @ right
    known = inverse @ torch.cat([matrix[..., :block, block:], right[..., :block, :]], -1)
    change = matrix[..., block:, :block] @ known
    left = matrix.shape[-1] - block
    rest: Tensor = by_blocks(
        matrix[..., block:, block:] - change[..., :left], right[..., block:, :] - change[..., left:], block
    )
    return torch.cat([known[..., left:] - known[..., :left] @ rest, rest], -2)


def _transmission(curves: Outlines) -> Float64[Tensor, "batch unknowns unknowns"]:
    """I + κ (K + M) with K_ij = -(1/n) Im [ Z'_i / (Z_i - Z_j) - Z'_i conj Z_j / (1 - Z_i conj Z_j) ].

    The limit of the first term on the diagonal is Im [Z''_i / (2 Z'_i)]. M is half the mean over the n nodes
    of the outline, zero for the solution: it makes 0 of the eigenvalue -½ of K that belongs to the total
    charge of an outline, which in a good conductor (κ → 2) would be known only up to errors times the
    contrast. In real arithmetic, which is faster, with w = Z_i - Z_j and v = 1 - Z_i conj Z_j,

        Im [Z' / w] = Im [Z' conj w] / |w|²,    Im [Z' conj Z_j / v] = Im [Z' conj Z_j - Z' conj Z_i |Z_j|²] / |v|²,
        |v|² = |w|² + (1 - |Z_i|²) (1 - |Z_j|²).
    """
    (x, y), (dx, dy) = ((part.real[..., None], part.imag[..., None]) for part in (curves.point, curves.first))
    inside = 1 - x.square() - y.square()
    east, north = x - x.mT, y - y.mT
    squared = east.square().addcmul(north, north)
    # Where both nodes are one, on the diagonal, the numerator is zero too: the limit is added below.
    direct = (dy * east).addcmul(dx, north, value=-1) / torch.where(squared > 0, squared, 1.0)
    flux = torch.cat([dy, -dx, dx * y - dy * x], -1) @ torch.cat([x, y, 1 - inside], -1).mT
    image = flux / squared.addcmul(inside, inside.mT)
    limit = (curves.second / (2 * curves.first)).imag
    eye = torch.eye(x.shape[-2], dtype=x.dtype, device=x.device)
    outline = torch.arange(x.shape[-2], device=x.device) // curves.nodes
    mean = 0.5 * (outline[:, None] == outline)
    # An absent slot has κ = 0: its charge is zero and nobody feels it.
    kernel = mean + image - direct - torch.diag_embed(limit)
    return eye + (curves.contrast / curves.nodes)[..., :, None] * kernel


def _background_flux(
    curves: Outlines, sources: Tensor, strength: Currents, gap: Float64[Tensor, "batch unknowns boundary"]
) -> Float64[Tensor, "batch unknowns currents"]:
    """κ |z'| ∂u0/∂ν on the outlines: -(κ/π σ_out) Im [ Z'_i Σ_k q_k / (Z_i - ζ_k) ] for sources q_k at ζ_k.

    With 1/(Z - ζ) = conj(Z - ζ) / |Z - ζ|² the sum is three real products with the matrix 1/|Z - ζ|².
    """
    inverse = 1 / gap
    total = inverse @ strength.mT
    pull_x, pull_y = inverse @ (strength * sources.real).mT, inverse @ (strength * sources.imag).mT
    z, dz = curves.point[..., None], curves.first[..., None]
    field_x, field_y = z.real * total - pull_x, z.imag * total - pull_y
    flux = dz.imag * field_x - dz.real * field_y
    return flux * (curves.contrast / (-torch.pi * curves.outside[:, None]))[..., None]


def _squared_distance(z: Tensor, sources: Tensor) -> Float64[Tensor, "batch unknowns boundary"]:
    return (z.real[..., None] - sources.real).square() + (z.imag[..., None] - sources.imag).square()
