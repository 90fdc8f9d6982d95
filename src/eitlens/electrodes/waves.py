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
    even = (torch.arange(points, dtype=torch.float64, device=angles.device) + 0.5) * (math.pi / points)
    ratio = (impedances / half_widths).detach()[..., None]
    crowding = ratio / (ratio + _LAYER)
    place = even - crowding / 2 * torch.sin(2 * even)
    # ds / dθ, the length of electrode for a step in θ.
    speed = half_widths[..., None] * place.sin() * (1 - crowding * torch.cos(2 * even))
    s = (angles[..., None] + half_widths[..., None] * place.cos()).flatten(-2)
    at, rate = (s, torch.ones_like(s)) if onto is None else onto(s)
    contact = impedances[..., None] / (speed * math.pi / points)
    matrix = _logarithm(at, (speed / even.sin()).flatten(-2) * rate, even) + torch.diag_embed(
        contact.flatten(-2)
    )
    order = torch.arange(1, count + 1, dtype=torch.float64, device=angles.device)
    wave = order * at[..., None]
    waves = torch.cat([wave.cos(), wave.sin()], -1) / math.sqrt(math.pi)
    return _condensed(matrix, waves, angles.shape[-1])


def _logarithm(
    at: Float64[Tensor, "*layouts nodes"], slope: Float64[Tensor, "*layouts nodes"], even: Tensor
) -> Float64[Tensor, "*layouts nodes nodes"]:
    """Λ₁: the potential at each node of a unit charge at each; slope = ds / d cos θ."""
    points, electrodes = len(even), at.shape[-1] // len(even)
    number = torch.arange(at.shape[-1], device=at.device)
    same = (number[:, None] // points) == (number // points)
    gap = (even.cos()[:, None] - even.cos()).abs().repeat(electrodes, electrodes)
    apart = torch.where(same & (gap > 0), gap, 1.0)
    chord = 2 * torch.sin((at[..., :, None] - at[..., None, :]) / 2).abs()
    itself = number[:, None] == number
    smooth = torch.log(torch.where(itself, torch.diag_embed(slope), chord) / apart)
    order = torch.arange(1, points, dtype=torch.float64, device=at.device)
    wave = torch.cos(order * even[:, None])
    singular = -math.log(2) - (wave * (2 / order)) @ wave.T
    return -(smooth + torch.where(same, singular.repeat(electrodes, electrodes), 0.0)) / math.pi


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
