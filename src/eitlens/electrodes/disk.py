"""Electrodes as they are: finite, with a contact impedance (the complete electrode model, CEM)."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float64
from torch import Tensor

from eitlens import checks
from eitlens.domain import Disk
from eitlens.electrodes.layout import Electrodes
from eitlens.errors import InputError
from eitlens.forward.base import Solver
from eitlens.forward.currents import project
from eitlens.forward.integral.solver import solve_each
from eitlens.phantom import Phantom, Phantoms, as_batch

Totals = Float64[Tensor, "currents electrodes"]
Voltages = Float64[Tensor, "*batch currents electrodes"]


@dataclass(frozen=True)
class CompleteElectrodeSolver:
    """A solver for the voltages U of electrodes e_k through which currents I flow into a disk.

    Inside div(σ∇u) = 0. No current passes between electrodes. On e_k the metal has one potential, and the contact
    takes its share: u + z g = U_k with the density g = σ ∂u/∂n, ∫ g = I_k over e_k.

    With Λ, the map of a continuous boundary as `solver` knows it, u = Λ g, and only g on the electrodes is unknown:

        Λ g + z g = U_k on e_k,    ∫_{e_k} g = I_k,    Σ I_k = 0 = Σ U_k.

    Charges q at `points` Chebyshev nodes t_i of each electrode stand for g. That of the empty body,
    Λ₁ g(x) = -(1/π) ∮ log |x - y| g(y) ds(y), is integrated with the expansion

        log |s - t| = -log 2 - Σ_m (2/m) T_m(s) T_m(t),

    the rest of the logarithm is smooth. A density 1/√(1 - t²), that of perfect contact, and a polynomial, that of a
    bad one, are both met exactly by such nodes. Λ - Λ₁ has a smooth kernel: trigonometric interpolation takes it from
    the N boundary nodes of `solver` to the electrodes, with an error like ρ^(N/2) for inclusions within the radius ρ.
    U is a symmetric function of I.

    Measured with 16 points on each of 8 to 32 electrodes that cover half the circle, relative to the largest
    voltage: an error of 1e-5 at z = 1e-6, 5e-4 at worst (z between 1e-4 and 1e-3, where the density has a layer of
    about that width at the edges), 6e-6 at z = 0.1; it falls like the fourth power of the points
    that resolve the layer.

    Reference: E. Somersalo, M. Cheney, D. Isaacson, SIAM J. Appl. Math. 52 (1992).

    >>> tank = eit.BoundaryIntegralSolver(eit.Disk(32))
    >>> currents = torch.tensor([[1.0, 0.0, -1.0, 0.0]], dtype=torch.float64)
    >>> voltages = eit.CompleteElectrodeSolver(tank, eit.Electrodes.even(eit.Disk(32), 4)).background(currents)
    >>> [round(abs(value), 3) for value in voltages[0].tolist()]
    [0.707, 0.0, 0.707, 0.0]
    """

    solver: Solver
    electrodes: Electrodes
    points: int = 16

    def __post_init__(self) -> None:
        if self.solver.domain.name != Disk.name:
            other = type(self.solver.domain).__name__
            raise InputError(f"CompleteElectrodeSolver needs a solver on a Disk, got one on a {other}")
        if self.electrodes.body.name != Disk.name:
            raise InputError(f"CompleteElectrodeSolver: the electrodes sit on a {self.electrodes.body.name}")
        if bool((self.electrodes.widths <= 0).any()):
            raise InputError("CompleteElectrodeSolver needs electrodes of some width, got points of width 0")
        if self.points < 2:
            raise InputError(
                f"CompleteElectrodeSolver needs at least 2 points an electrode, got {self.points}"
            )

    def voltages(self, conductivity: Phantoms, currents: Totals) -> Voltages:
        """U for the currents (L, E): (L, E) for one phantom, (B, L, E) for several."""
        given = self._check(currents)
        domain, device = self.solver.domain, given.device
        batch = as_batch(conductivity, device)
        place = _interpolation(self._angles(), domain.boundary_size).to(device)
        basis = project(torch.eye(domain.boundary_size, dtype=torch.float64, device=device))
        kernel = self.solver.difference(batch, basis) / domain.boundary_weight
        found = self._solve(batch.outside, given, place @ kernel.mT @ place.T)
        return found[0] if isinstance(conductivity, Phantom) else found

    def background(self, currents: Totals, outside: float = 1.0) -> Voltages:
        """U0 of the empty body."""
        given = self._check(currents)
        sigma = torch.tensor([checks.positive_number(outside, "outside")], dtype=torch.float64)
        return self._solve(sigma.to(given.device), given)[0]

    def difference(self, conductivity: Phantoms, currents: Totals) -> Voltages:
        """U - U0."""
        given = self._check(currents)
        empty = self._solve(as_batch(conductivity, given.device).outside, given)
        found = self.voltages(conductivity, given)
        return found - (empty[0] if isinstance(conductivity, Phantom) else empty)

    def _solve(
        self,
        outside: Float64[Tensor, "bodies"],
        currents: Totals,
        change: Float64[Tensor, "bodies nodes nodes"] | float = 0.0,
    ) -> Float64[Tensor, "bodies currents electrodes"]:
        """A q = P U and Pᵀ q = I, P the sums over electrodes: S U = I with S = Pᵀ A⁻¹ P."""
        uniform, contact = (
            self._logarithm(),
            torch.diag(self._each(self.electrodes.relative_impedance) / self._weights()),
        )
        resistance = uniform.to(currents) / outside[:, None, None] + contact.to(currents) + change
        sums = torch.eye(self.electrodes.count).repeat_interleave(self.points, 0).to(currents)
        admittance = sums.T @ solve_each(resistance, sums.expand(len(resistance), -1, -1))
        found = solve_each(admittance, currents.mT.expand(len(resistance), -1, -1)).mT
        return project(found)

    def _check(self, currents: Totals) -> Totals:
        """The totals, checked, as float64: arrays and lists will do."""
        count, given = self.electrodes.count, checks.physics(currents, "currents")
        if given.ndim != 2 or given.shape[0] == 0 or given.shape[1] != count:
            shape = tuple(given.shape)
            raise InputError(
                f"currents: expected (currents, {count}) totals of the electrodes, got shape {shape}"
            )
        checks.finite(given, "currents")
        if bool(given.sum(-1).abs().amax() > 1e-6 * given.abs().amax()):
            raise InputError("currents must have zero sum over the electrodes (what goes in comes out)")
        return project(given)

    def _theta(self) -> Float64[Tensor, "points"]:
        """Chebyshev nodes t = cos θ of an electrode, which is -1 < t < 1."""
        return (torch.arange(self.points, dtype=torch.float64) + 0.5) * (torch.pi / self.points)

    def _angles(self) -> Float64[Tensor, "nodes"]:
        """Where the charges are, electrode by electrode."""
        electrodes, t = self.electrodes, self._theta().cos()
        return (electrodes.places[:, None] + electrodes.widths[:, None] / 2 * t).flatten()

    def _each(self, values: Float64[Tensor, "electrodes"]) -> Float64[Tensor, "nodes"]:
        """A value of each electrode at its nodes."""
        return values.repeat_interleave(self.points)

    def _weights(self) -> Float64[Tensor, "nodes"]:
        """Lengths the nodes stand for: Fejér's rule, exact for polynomials."""
        order = torch.arange(1, self.points // 2 + 1, dtype=torch.float64)
        waves = torch.cos(2 * order * self._theta()[:, None]) / (4 * order**2 - 1)
        rule = (2 - 4 * waves.sum(-1)) / self.points
        return (self.electrodes.widths[:, None] / 2 * rule).flatten()

    def _logarithm(self) -> Float64[Tensor, "nodes nodes"]:
        """Λ₁: the potential at each node of a unit charge at each."""
        angle, theta, half = self._angles(), self._theta(), self._each(self.electrodes.widths / 2)
        chord = 2 * torch.sin((angle[:, None] - angle) / 2).abs()
        t = theta.cos().repeat(self.electrodes.count)
        number = torch.arange(len(angle)) // self.points
        same = number[:, None] == number
        apart = torch.where(same, (t[:, None] - t).abs(), 1.0)
        smooth = torch.log(torch.where(apart > 0, chord, half) / torch.where(apart > 0, apart, 1.0))
        order = torch.arange(1, self.points, dtype=torch.float64)
        waves = torch.cos(order * theta[:, None])
        singular = -math.log(2) - (waves * (2 / order)) @ waves.T
        count = self.electrodes.count
        return -(smooth + torch.where(same, singular.repeat(count, count), 0.0)) / torch.pi


def _interpolation(angles: Float64[Tensor, "nodes"], size: int) -> Float64[Tensor, "nodes boundary"]:
    """Trigonometric interpolation from `size` equally spaced angles, with as many waves as these determine."""
    order = torch.arange((size - 1) // 2 + 1, dtype=torch.float64)
    twice = torch.where(order > 0, 2.0, 1.0) / size
    grid = 2 * torch.pi / size * torch.arange(size, dtype=torch.float64)
    here, there = order * angles[:, None], order * grid[:, None]
    return (twice * here.cos()) @ there.cos().T + (twice * here.sin()) @ there.sin().T
