"""Full Neumann-to-Dirichlet maps of conductivities that are images on the unit disk: rings, eliminated from the centre.

The disk |x| < a, beyond which σ is 1, is cut into R rings with nodes at (i + ½) a/R and angles 2πj/T, with half as many
angles on rings of half the radius. Neighbours are joined by conductances: with σ at four points by four in a cell
(`_PARTS`), what lies one behind the other on the way of the current is in series and what lies beside is parallel,

    radial: Σ_θ δθ / Σ_r δr/(r σ),    along a ring: Σ_r (δr/r) / Σ_θ δθ/σ.

Let S be the matrix from potentials to currents of all that lies within a ring. The next ring, joined by the radial
conductances G and with the matrix L along itself, has

    S ← (S⁻¹ + G⁻¹)⁻¹ + L = G - G (S + G)⁻¹ G + L,

and where the angles double, P (S + Pᵀ G P)⁻¹ Pᵀ stands for the inverse, P the linear interpolation. So the whole map
of one image costs one Cholesky factorisation a ring: no currents, no iterations, and any batch on a GPU.

From r = a to 1 the map is continued in closed form. With k the orders of the waves and N the map at a in units of
1/k, which is the identity without inclusions, a wave that goes in is reflected by

    ρ = a^k (N + 1)⁻¹ (N - 1) a^k    and    Λ_σ - Λ_1 = 2 k^(-½) ρ (1 - ρ)⁻¹ k^(-½).

N is in units of what the same rings have without inclusions, so that a uniform disk has a difference of exactly zero.
Second order in the size of the rings where σ is smooth, first order across the sides of pixels.
"""

import math
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import torch
from jaxtyping import Float64
from torch import Tensor
from torch.nn import functional as fn

from eitlens.errors import InputError

_PARTS = 4  # points along each side of a cell: even, as a link covers halves of two cells
_FEWEST = 16  # angles of the innermost ring
Images = Float64[Tensor, "samples nodes nodes"]
Polar = Float64[Tensor, "samples radii angles"]
Matrices = Float64[Tensor, "samples nodes nodes"]
Conductances = Float64[Tensor, "samples nodes"]
Maps = Float64[Tensor, "samples waves waves"]


@dataclass(frozen=True)
class Rings:
    """A grid of `rings` rings and `angles` angles on the disk of radius `reach`.

    Attributes:
        sharp: whether the conductivity between nodes of an image is that of the nearest; otherwise it is bilinear.
    """

    rings: int
    angles: int
    reach: float
    sharp: bool

    def __post_init__(self) -> None:
        if self.rings < 4 or self.angles < _FEWEST or self.angles & (self.angles - 1):
            expected = f"at least 4 rings and a power of two from {_FEWEST} on as angles"
            raise InputError(f"Rings: expected {expected}, got {self.rings} and {self.angles}")
        if not 0 < self.reach <= 1:
            raise InputError(f"Rings: the reach must lie in (0, 1], got {self.reach}")

    def counts(self) -> list[int]:
        """The number of angles of each ring: a power of two that keeps cells about as long as wide."""
        halvings = [max(0, int(math.log2(self.rings / (i + 1)))) for i in range(self.rings)]
        return [max(_FEWEST, self.angles >> half) for half in halvings]

    def differences(self, images: Images, waves: int) -> Maps:
        """Λ_σ - Λ_1 between the cosines of orders 1 … `waves` and then the sines, as `Solver.modes` has them."""
        if not 0 < waves < self.angles // 2:
            raise InputError(f"expected fewer waves than half of {self.angles} angles, got {waves}")
        unit = _uniform(self, waves).to(images)
        scale = unit.rsqrt()
        map_at_reach = scale[:, None] * self._inner(self.polar(images), waves) * scale
        return _continued(map_at_reach, self.reach)

    def polar(self, images: Images) -> Polar:
        """The conductivity at the points in the cells, `_PARTS` each way."""
        step = self.reach / (_PARTS * self.rings)
        turn = 2 * math.pi / (_PARTS * self.angles)
        r = (torch.arange(_PARTS * self.rings, dtype=images.dtype, device=images.device) + 0.5) * step
        theta = (torch.arange(_PARTS * self.angles, dtype=images.dtype, device=images.device) + 0.5) * turn
        # grid_sample counts the last axis as its x.
        place = torch.stack([r[:, None] * theta.sin(), r[:, None] * theta.cos()], -1)
        mode = "nearest" if self.sharp else "bilinear"
        places = place.expand(len(images), -1, -1, -1)
        return fn.grid_sample(images[:, None], places, mode=mode, align_corners=True)[:, 0]

    def _inner(self, polar: Polar, waves: int) -> Maps:
        """The map of the disk of radius `reach`, from r ∂u/∂r to u."""
        counts = self.counts()
        total = _ring(_along(polar, 0, counts[0]))
        for i, (inner, outer) in enumerate(pairwise(counts)):
            middle = slice(_PARTS * i + _PARTS // 2, _PARTS * (i + 1) + _PARTS // 2)
            joined = _joined(total, _across(polar, middle, outer), inner)
            total = joined + _ring(_along(polar, i + 1, outer))
        last = slice(_PARTS * self.rings - _PARTS // 2, _PARTS * self.rings)
        total = _joined(total, _across(polar, last, self.angles), self.angles)
        basis = _basis(self.angles, waves).to(polar)
        solved = torch.linalg.solve(total + 1.0, basis)  # + 1: a potential that is constant costs nothing
        found: Tensor = 2 * math.pi / self.angles * basis.mT @ solved
        return (found + found.mT) / 2


def _along(polar: Polar, ring: int, count: int) -> Conductances:
    """Conductances from node j to j + 1 of a ring."""
    parts = torch.unflatten(polar[:, _PARTS * ring : _PARTS * (ring + 1)], -1, (count, -1))
    row = torch.arange(_PARTS * ring, _PARTS * (ring + 1), device=polar.device) + 0.5
    series = (2 * math.pi / (count * parts.shape[-1])) * parts.reciprocal().sum(-1)
    found: Tensor = (1 / (row[:, None] * series)).sum(1)
    return found


def _across(polar: Polar, rows: slice, count: int) -> Conductances:
    """Conductances from one ring to the next, from the node at an angle to that at the same angle."""
    row = torch.arange(polar.shape[1], device=polar.device)[rows] + 0.5
    series = (1 / (row[:, None] * polar[:, rows])).sum(1)
    width = polar.shape[-1] // count
    parts = torch.unflatten(series.reciprocal().roll(width // 2, -1), -1, (count, width))
    found: Tensor = (2 * math.pi / polar.shape[-1]) * parts.sum(-1)
    return found


def _ring(along: Conductances) -> Matrices:
    """The matrix of a ring of conductances."""
    neighbour = torch.diag_embed(along).roll(1, -1)
    return torch.diag_embed(along + along.roll(1, -1)) - neighbour - neighbour.mT


def _joined(
    total: Matrices, across: Float64[Tensor, "samples outer"], inner: int
) -> Float64[Tensor, "samples outer outer"]:
    """The matrix at the outer ends of radial conductances whose inner ends see `total`."""
    outer = across.shape[-1]
    if inner == outer:
        factor = torch.linalg.cholesky(total + torch.diag_embed(across))
        half = torch.linalg.solve_triangular(factor, torch.diag_embed(across), upper=False)
    else:
        between = _doubling(inner).to(across)
        reached = across[:, :, None] * between
        factor = torch.linalg.cholesky(total + between.mT @ reached)
        half = torch.linalg.solve_triangular(factor, reached.mT, upper=False)
    found: Tensor = torch.diag_embed(across) - half.mT @ half
    return found


@cache
def _doubling(count: int) -> Float64[Tensor, "twice count"]:
    """Linear interpolation from angles to twice as many."""
    eye = torch.eye(count, dtype=torch.float64)
    return torch.stack([eye, (eye + eye.roll(1, -1)) / 2], 1).flatten(0, 1)


@cache
def _basis(angles: int, waves: int) -> Float64[Tensor, "angles waves"]:
    """Cosines and sines of unit length on the angles of the outermost ring."""
    theta = torch.arange(angles, dtype=torch.float64) * (2 * math.pi / angles)
    phase = theta[:, None] * torch.arange(1, waves + 1)
    return torch.cat([phase.cos(), phase.sin()], -1) * math.sqrt(2 / angles)


@cache
def _uniform(grid: Rings, waves: int) -> Float64[Tensor, "waves"]:
    """The map of the uniform disk as the grid has it, near 1/k."""
    polar = torch.ones(1, _PARTS * grid.rings, _PARTS * grid.angles, dtype=torch.float64)
    return grid._inner(polar, waves)[0].diagonal().clone()


def _continued(map_at_reach: Maps, reach: float) -> Maps:
    """The difference at r = 1 from the map at `reach`, in units of the uniform disk's."""
    waves = map_at_reach.shape[-1] // 2
    order = torch.arange(1, waves + 1, dtype=torch.float64, device=map_at_reach.device).repeat(2)
    eye = torch.eye(2 * waves, dtype=torch.float64, device=map_at_reach.device)
    carried = reach**order
    reflected = carried[:, None] * torch.linalg.solve(map_at_reach + eye, map_at_reach - eye) * carried
    found = torch.linalg.solve(eye - reflected, 2 * reflected) * order.rsqrt()
    found = order.rsqrt()[:, None] * found
    symmetric: Tensor = (found + found.mT) / 2
    return symmetric
