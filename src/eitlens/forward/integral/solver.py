"""The solver for smooth inclusions that do not touch: a boundary integral equation on their outlines, spectral."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float64
from torch import Tensor

from eitlens import checks
from eitlens.domain import Domain
from eitlens.errors import InputError
from eitlens.forward.base import Currents, Data, Solver, check_currents
from eitlens.forward.currents import project
from eitlens.forward.integral.outlines import Outlines, needed_nodes, outlines
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
        check_inside(self.domain, batch)
        result = self._in_groups(batch, g) if batch.groups else g.new_zeros(len(batch), *g.shape[-2:])
        return result[0] if isinstance(conductivity, Phantom) else result

    @free_cores_only()
    def _in_groups(self, batch: PhantomBatch, g: Currents) -> Data:
        """Solve the phantoms of equal node count together, in chunks that fit the memory; keep the order."""
        slots = sum(group.present.shape[1] for group in batch.groups)
        needed = needed_nodes(self.domain, batch, self.tolerance)
        counts = needed if self.nodes is None else torch.full_like(needed, self.nodes)
        parts, places = [], []
        for count in torch.unique(counts).tolist():
            place = torch.nonzero(counts == count).flatten()
            unknowns = count * slots
            size = chunk_size(8 * unknowns * (8 * unknowns + 4 * self.domain.boundary_size), g.device)
            for index in torch.split(place, size):
                curves = outlines(self.domain, batch[index], count)
                parts.append(self._solve(curves, g if g.ndim < 3 else g[index]))
                places.append(index)
        return torch.cat(parts)[torch.argsort(torch.cat(places))]

    def _solve(self, curves: Outlines, g: Currents) -> Data:
        """Solve one dense system a phantom, one factorisation for all currents."""
        sources = self.domain.conformal_map(self.domain.boundary(g.device)).value
        gap = _squared_distance(curves.point, sources)
        source = _background_flux(curves, sources, self.domain.boundary_weight * g, gap)
        charge = solve_each(_transmission(curves), -source)
        potential = (-1 / curves.nodes) * gap.log()
        return project(charge.mT @ potential)


def solve_each(matrix: Tensor, right: Tensor) -> Float64[Tensor, "batch unknowns currents"]:
    """Solve a dense system a phantom; on a CPU one after the other.

    MKL's batched LU (torch 2.13) loses its pivots once the number of threads has been set by hand.
    """
    if matrix.is_cuda:
        solution: Tensor = torch.linalg.solve(matrix, right)
        return solution
    return torch.stack([torch.linalg.solve(a, b) for a, b in zip(matrix, right, strict=True)])


def _transmission(curves: Outlines) -> Float64[Tensor, "batch unknowns unknowns"]:
    """I + κ (K + M) with K_ij = -(1/n) Im [ Z'_i / (Z_i - Z_j) - Z'_i conj Z_j / (1 - Z_i conj Z_j) ].

    The limit of the first term on the diagonal is Im [Z''_i / (2 Z'_i)]. M is half the mean over the n nodes
    of the outline, zero for the solution: it makes 0 of the eigenvalue -½ of K that belongs to the total
    charge of an outline, which in a good conductor (κ → 2) would be known only up to errors times the
    contrast.
    """
    z, dz = curves.point[..., :, None], curves.first[..., :, None]
    w = curves.point[..., None, :]
    both = curves.present[..., :, None] & curves.present[..., None, :]
    apart = both & ~torch.eye(z.shape[-2], dtype=torch.bool, device=z.device)
    # What is masked afterwards, a node on itself or an absent slot, first gets a denominator that is not
    # zero.
    direct = (dz / (z - w + ~apart)).imag * apart + torch.diag_embed(
        (curves.second / (2 * curves.first)).imag
    )
    image = (dz * w.conj() / (1 - z * w.conj())).imag
    outline = torch.arange(z.shape[-2], device=z.device) // curves.nodes
    mean = 0.5 * (outline[:, None] == outline)
    kernel = (mean - direct + image) / curves.nodes * both
    # An absent slot has κ = 0: its charge is zero and nobody feels it.
    eye = torch.eye(z.shape[-2], dtype=kernel.dtype, device=z.device)
    return eye + curves.contrast[..., :, None] * kernel


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
