"""Electrodes as they are: finite, with a contact impedance (the complete electrode model, CEM)."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float64
from torch import Tensor

from eitlens import checks
from eitlens.domain import Disk
from eitlens.electrodes.waves import EmptyTank, empty_tank
from eitlens.errors import InputError
from eitlens.forward.base import Solver
from eitlens.forward.currents import project
from eitlens.memory import cached
from eitlens.phantom import Phantom, PhantomBatch, Phantoms, as_batch
from eitlens.phantom.raster import room

Totals = Float64[Tensor, "currents electrodes"]
Voltages = Float64[Tensor, "*batch currents electrodes"]
Resistances = Float64[Tensor, "*batch electrodes electrodes"]
# Of what the waves that are left out carry, and the most waves there are without being asked for.
_TOLERANCE, _MOST_WAVES = 1e-9, 128


@dataclass(frozen=True)
class Electrodes:
    """Equal electrodes, equally spaced on the unit circle.

    Attributes:
        count: E, how many.
        coverage: share of the circle that they cover.
        impedance: z, of the contact; a voltage over a current density.
        first: angle of the middle of the first; the others follow counter-clockwise.

    >>> (eit.Electrodes(4).centers() / torch.pi).tolist()
    [0.0, 0.5, 1.0, 1.5]
    """

    count: int = 32
    coverage: float = 0.5
    impedance: float = 1e-6
    first: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "count", checks.whole(self.count, "Electrodes: count"))
        for name in ("coverage", "impedance", "first"):
            object.__setattr__(self, name, checks.number(getattr(self, name), f"Electrodes: {name}"))
        if self.count < 2 or not 0 < self.coverage < 1 or not 0 <= self.impedance < float("inf"):
            given = f"count={self.count}, coverage={self.coverage:g}, impedance={self.impedance:g}"
            raise InputError(
                f"Electrodes need count >= 2, 0 < coverage < 1 and an impedance of at least 0, got {given}"
            )

    @property
    def width(self) -> float:
        """Length of an electrode."""
        return 2 * torch.pi * self.coverage / self.count

    def centers(self) -> Float64[Tensor, "electrodes"]:
        """Angles of the middles."""
        return self.first + 2 * torch.pi / self.count * torch.arange(self.count, dtype=torch.float64)


@dataclass(frozen=True)
class CompleteElectrodeSolver:
    """A solver for the voltages U of electrodes e_k through which currents I flow into a disk.

    Inside div(σ∇u) = 0. No current passes between electrodes. On e_k the metal has one potential, and the contact
    takes its share: u + z g = U_k with the density g = σ ∂u/∂n, ∫ g = I_k over e_k.

    The body acts through its matrix between waves on the circle (`Solver.modes`), the electrodes through another that
    is computed once for all bodies (`electrodes/waves.py` has the equations, and how exact they are).

    `waves` is how many orders there are. None takes as many as the inclusions need for nine digits: ρ^(2 waves) = 1e-9
    for inclusions within the radius ρ, but no more than the boundary nodes of `solver` can carry, and 128 at most.
    Each electrode has `points` nodes. U is a symmetric function of I. Differentiable in the body.

    Reference: E. Somersalo, M. Cheney, D. Isaacson, SIAM J. Appl. Math. 52 (1992).

    >>> tank = eit.BoundaryIntegralSolver(eit.Disk(32))
    >>> currents = torch.tensor([[1.0, 0.0, -1.0, 0.0]], dtype=torch.float64)
    >>> voltages = eit.CompleteElectrodeSolver(tank, eit.Electrodes(4)).background(currents)
    >>> [round(abs(value), 3) for value in voltages[0].tolist()]
    [0.707, 0.0, 0.707, 0.0]
    """

    solver: Solver
    electrodes: Electrodes
    points: int = 16
    waves: int | None = None

    def __post_init__(self) -> None:
        if self.solver.domain.name != Disk.name:
            other = type(self.solver.domain).__name__
            raise InputError(f"CompleteElectrodeSolver needs a solver on a Disk, got one on a {other}")
        if self.points < 2:
            raise InputError(
                f"CompleteElectrodeSolver needs at least 2 points an electrode, got {self.points}"
            )

    def voltages(self, conductivity: Phantoms, currents: Totals) -> Voltages:
        """U for the currents (L, E): (L, E) for one phantom, (B, L, E) for several."""
        given = self._check(currents)
        empty, change = self._both(conductivity, given.device)
        return given @ (empty + change)

    def background(self, currents: Totals, outside: float = 1.0) -> Voltages:
        """U0 of the empty body."""
        given = self._check(currents)
        sigma = torch.tensor([checks.positive_number(outside, "outside")], dtype=torch.float64)
        return given @ self._tank(sigma.to(given.device), 1).resistance / sigma.to(given.device)

    def difference(self, conductivity: Phantoms, currents: Totals) -> Voltages:
        """U - U0, without the cancellation."""
        given = self._check(currents)
        return given @ self._both(conductivity, given.device)[1]

    def resistances(self, conductivity: Phantoms) -> Resistances:
        """The symmetric matrix R of U = R I, with potentials of zero mean: (E, E) for one phantom, (B, E, E)."""
        empty, change = self._both(conductivity)
        return empty + change

    def _both(
        self, conductivity: Phantoms, device: torch.device | None = None
    ) -> tuple[Resistances, Resistances]:
        """R of the empty body, and what the inclusions change in it."""
        batch = as_batch(conductivity, device)
        count = self._needed(batch) if self.waves is None else self.waves
        tank, sigma = self._tank(batch.outside, count), batch.outside[:, None, None]
        body = self.solver.modes(batch, count) * sigma
        both = (tank.resistance / sigma, tank.change(body) / sigma)
        one = isinstance(conductivity, Phantom)
        return (both[0][0], both[1][0]) if one else both

    def _needed(self, batch: PhantomBatch) -> int:
        """The waves that the inclusion next to the boundary needs."""
        if not batch.groups:
            return 1
        domain = self.solver.domain
        far = 1 - min(float(room(domain, group).min()) for group in batch.groups)
        most = min(_MOST_WAVES, (domain.boundary_size - 1) // 2)
        needed = math.log(_TOLERANCE) / (2 * math.log(far)) if 0 < far < 1 else most
        return max(1, min(most, math.ceil(needed)))

    def _tank(self, outside: Float64[Tensor, "bodies"], count: int) -> EmptyTank:
        """The empty tank for a conductivity σ: that of a disk of conductivity 1 with impedances σ z."""
        layout = self.electrodes
        if outside.requires_grad or bool((outside != outside[0]).any()):
            ones = outside.new_ones(len(outside), layout.count)
            arcs = (layout.centers().to(ones) * ones, layout.width / 2 * ones)
            return empty_tank(*arcs, layout.impedance * outside[:, None] * ones, count, self.points)
        contact = (layout.impedance * float(outside[0]),) * layout.count
        widths = (layout.width / 2,) * layout.count
        return _known(tuple(layout.centers().tolist()), widths, contact, count, self.points, outside.device)

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


@cached
def _known(
    angles: tuple[float, ...],
    half_widths: tuple[float, ...],
    impedances: tuple[float, ...],
    count: int,
    points: int,
    device: torch.device,
) -> EmptyTank:
    """The empty tank of a layout in plain numbers, remembered."""
    layout = torch.tensor([angles, half_widths, impedances], dtype=torch.float64, device=device)
    arcs, halves, contact = layout.unbind()
    return empty_tank(arcs, halves, contact, count, points)
