"""Electrodes on the unit circle as waves cos kθ and sin kθ see them: an empty tank, solved once for every body in it.

On electrode e_k of half width h around the angle θ_k the metal has one potential U_k, the contact impedance z_k takes
its share of it, and the density g of the current is unknown. A body changes the potential on the circle through its
matrix M between waves (`Solver.modes`). With Λ₁ the map of the empty disk, σ₀ = 1 and the waves a_i,

    Λ₁ g + Σ_ij a_i M_ij c_j + z g = U_k on e_k,    c_j = ∫ a_j g,    ∫_{e_k} g = I_k.

The empty tank has U = S I and c = C I, and a potential Σ b_i a_i that is added on the circle draws the density with
c = -H b where no current may flow in or out of an electrode on the whole. So c = C I - H M c, and by reciprocity

    U = S I + Cᵀ M c = [S + Cᵀ M (1 + H M)⁻¹ C] I.

S, C and H belong to the electrodes, M to the body: a few waves are all that they have to say to each other. A part of
the body at the distance ρ from the centre is felt through wave k like ρ^k on the way in, and again on the way out.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from jaxtyping import Float64
from torch import Tensor

from eitlens.forward.base import Modes
from eitlens.forward.integral.solver import solve_each

Angles = Float64[Tensor, "*layouts electrodes"]
Circle = Callable[[Tensor], tuple[Tensor, Tensor]]
# Contacts with z / h well above this have a layer at the edges that needs crowded nodes.
_LAYER = 1e-6


class EmptyTank(NamedTuple):
    """A disk of conductivity 1 with electrodes and nothing in it: S, C and H as above, of one layout or many."""

    resistance: Float64[Tensor, "*layouts electrodes electrodes"]
    """S, from the currents through the electrodes to their potentials of zero mean."""
    density: Float64[Tensor, "*layouts waves electrodes"]
    """C, from the currents to the waves in the density."""
    drawn: Float64[Tensor, "*layouts waves waves"]
    """H, from waves in the potential to waves in the density."""

    def change(self, body: Modes) -> Float64[Tensor, "*batch electrodes electrodes"]:
        """U - U0 of unit currents, Cᵀ M (1 + H M)⁻¹ C, a symmetric matrix for each body."""
        waves = body.shape[-1]
        system = torch.eye(waves, dtype=body.dtype, device=body.device) + self.drawn @ body
        right = self.density.expand(*system.shape[:-2], *self.density.shape[-2:])
        inner = solve_each(_flat(system), _flat(right))
        return self.density.mT @ body @ inner.reshape(right.shape)


def empty_tank(
    angles: Angles,
    half_widths: Angles,
    impedances: Angles,
    count: int,
    points: int = 16,
    onto: Circle | None = None,
) -> EmptyTank:
    """The empty tank with electrodes around some angles (radians), for waves up to `count`.

    The impedances are those of a disk of conductivity 1, in units of its radius: 0 is perfect contact. Differentiable
    in all three; many layouts at once have their dimensions in front. Of another body, `onto` takes arclengths on its
    boundary, which then stand for the angles, to the angles on the circle after its Riemann map, and to dθ/ds there:
    potentials and charges are the same on both, and only the contact feels the length of the electrodes.

    The density is found by charges at `points` nodes t = cos w(θ) of each electrode, -1 < t < 1, where θ is evenly
    spaced. With perfect contact g ~ 1 / √(1 - t²), and w = θ makes the charges smooth. A contact impedance rounds that
    off in a layer of the width z at both ends; w(θ) = θ - ½ β sin 2θ crowds the nodes there, with β near 1 where z / h
    is above 1e-6, and 0 for perfect contact. The kernel of Λ₁, -(1/π) log |x - y|, is split by

        log |cos θ - cos φ| = -log 2 - Σ_m (2/m) cos mθ cos mφ,

    and the rest is smooth. Measured with 16 points, 2 to 32 electrodes and any impedance: an error of S of 2e-5 of the
    largest at most (at z = 1e-6), in most cases less than 3e-6; with perfect contact below 1e-10. With 32 electrodes
    and 32 waves, U - U0 of a perfect conductor is off by 1e-4 of itself at a distance of 0.1 from the electrodes, and
    by 1e-3 at 0.05.

    >>> angles = torch.tensor([0.0, 1.0, 2.5, 4.0], dtype=torch.float64)
    >>> tank = eit.empty_tank(angles, torch.full_like(angles, 0.2), torch.zeros_like(angles), count=16)
    >>> body = eit.BoundaryIntegralSolver(eit.Disk(32)).modes(eit.Phantom([eit.circle((0.3, 0.2), 0.3)]), 16)
    >>> (tank.resistance + tank.change(body)).shape
    torch.Size([4, 4])
    """
    even, s, speed, contact = _nodes(angles, half_widths, impedances, points)
    at, rate = (s, torch.ones_like(s)) if onto is None else onto(s)
    matrix = _logarithm(at, (speed / even.sin()).flatten(-2) * rate, even) + torch.diag_embed(
        contact.flatten(-2)
    )
    order = torch.arange(1, count + 1, dtype=torch.float64, device=angles.device)
    wave = order * at[..., None]
    waves = torch.cat([wave.cos(), wave.sin()], -1) / math.sqrt(math.pi)
    return _condensed(matrix, waves, angles.shape[-1])


def even_resistance(
    count: int, half_width: float, impedance: float, points: int = 16
) -> Float64[Tensor, "electrodes electrodes"]:
    """S of `empty_tank` for equal electrodes at even angles, which the symmetry gives a hundred times as fast.

    A wave e^(imθ) of potentials drives the same wave of currents. So the matrix of all nodes falls apart into one
    for each m, with as many rows as one electrode has nodes.

    >>> angles = torch.arange(8, dtype=torch.float64) * (torch.pi / 4)
    >>> widths, contacts = torch.full_like(angles, 0.1), torch.full_like(angles, 0.02)
    >>> whole = eit.empty_tank(angles, widths, contacts, count=1).resistance
    >>> torch.allclose(eit.electrodes.even_resistance(8, 0.1, 0.02), whole, rtol=0, atol=1e-12)
    True
    """
    angles = torch.arange(count, dtype=torch.float64) * (2 * math.pi / count)
    halves, contacts = torch.full_like(angles, half_width), torch.full_like(angles, impedance)
    even, s, speed, contact = _nodes(angles, halves, contacts, points)
    rows = _logarithm(s, (speed / even.sin()).flatten(-2), even, points)
    blocks = rows.reshape(points, count, points).transpose(0, 1)
    blocks[0] += torch.diag(contact[0])
    waves = torch.fft.fft(blocks, dim=0)[1:]  # the wave m = 0 is a constant, which S has none of
    ones = torch.ones(points, 1, dtype=waves.dtype)
    potential = 1 / torch.linalg.solve(waves, ones.expand(count - 1, -1, -1)).sum((1, 2)).real
    row: Tensor = torch.fft.ifft(torch.cat([potential.new_zeros(1), potential])).real
    place = torch.arange(count)
    return row[(place[:, None] - place) % count]


def _nodes(
    angles: Angles, half_widths: Angles, impedances: Angles, points: int
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The nodes θ, their arclengths s, ds / dθ, the length of electrode for a step in θ, and their contacts."""
    even = (torch.arange(points, dtype=torch.float64, device=angles.device) + 0.5) * (math.pi / points)
    ratio = (impedances / half_widths).detach()[..., None]
    crowding = ratio / (ratio + _LAYER)
    place = even - crowding / 2 * torch.sin(2 * even)
    speed = half_widths[..., None] * place.sin() * (1 - crowding * torch.cos(2 * even))
    s = (angles[..., None] + half_widths[..., None] * place.cos()).flatten(-2)
    return even, s, speed, impedances[..., None] / (speed * math.pi / points)


def _logarithm(
    at: Float64[Tensor, "*layouts nodes"],
    slope: Float64[Tensor, "*layouts nodes"],
    even: Tensor,
    rows: int | None = None,
) -> Float64[Tensor, "*layouts rows nodes"]:
    """Λ₁: the potential at the first `rows` nodes, or all, of a unit charge at each; slope = ds / d cos θ."""
    points, electrodes = len(even), at.shape[-1] // len(even)
    number = torch.arange(at.shape[-1], device=at.device)
    own = number[:rows]
    same = (own[:, None] // points) == (number // points)
    tiles = (len(own) // points, electrodes)
    gap = (even.cos()[:, None] - even.cos()).abs().repeat(tiles)
    apart = torch.where(same & (gap > 0), gap, 1.0)
    chord = 2 * torch.sin((at[..., :rows, None] - at[..., None, :]) / 2).abs()
    itself = own[:, None] == number
    smooth = torch.log(torch.where(itself, slope[..., None, :], chord) / apart)
    order = torch.arange(1, points, dtype=torch.float64, device=at.device)
    wave = torch.cos(order * even[:, None])
    singular = -math.log(2) - (wave * (2 / order)) @ wave.T
    return -(smooth + torch.where(same, singular.repeat(tiles), 0.0)) / math.pi


def _condensed(matrix: Tensor, waves: Tensor, electrodes: int) -> EmptyTank:
    """S, C and H from A q = P U - F b, Pᵀ q = I and c = Fᵀ q, P the sums over electrodes and F the waves."""
    points = matrix.shape[-1] // electrodes
    sums = torch.eye(electrodes, dtype=matrix.dtype, device=matrix.device).repeat_interleave(points, 0)
    both = torch.cat([sums.expand(*waves.shape[:-1], electrodes), waves], -1)
    found = solve_each(_flat(matrix), _flat(both)).reshape(both.shape)
    inner = both.mT @ found
    free = inner[..., :electrodes, :electrodes]
    mixed, full = inner[..., :electrodes, electrodes:], inner[..., electrodes:, electrodes:]
    eye = torch.eye(electrodes, dtype=matrix.dtype, device=matrix.device)
    resistance = solve_each(_flat(free), _flat(eye.expand_as(free))).reshape(free.shape)
    density = mixed.mT @ resistance
    drawn = full - density @ mixed
    # Potentials of zero mean, of currents of zero sum.
    centred = eye - 1 / electrodes
    return EmptyTank(centred @ resistance @ centred, density @ centred, drawn)


def _flat(matrices: Tensor) -> Float64[Tensor, "flat rows columns"]:
    return matrices.reshape(-1, *matrices.shape[-2:])
