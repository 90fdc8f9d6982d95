"""Exact electrodes: of finite width, with a contact impedance (the complete electrode model, CEM)."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float64
from torch import Tensor

from eitlens import checks
from eitlens.domain import Disk, Domain
from eitlens.electrodes.layout import Electrodes
from eitlens.electrodes.waves import Circle, EmptyTank, empty_tank
from eitlens.errors import InputError
from eitlens.forward.base import Solver
from eitlens.forward.currents import project
from eitlens.memory import cached, chunk_size
from eitlens.phantom import Phantom, PhantomBatch, Phantoms, as_batch
from eitlens.phantom.batch import ShapeGroup

Totals = Float64[Tensor, "currents electrodes"]
Voltages = Float64[Tensor, "*batch currents electrodes"]
Resistances = Float64[Tensor, "*batch electrodes electrodes"]
# Of what the waves that are left out carry, and the most waves there are without being asked for.
_TOLERANCE, _MOST_WAVES = 1e-9, 128
# Matrices of the electrodes' nodes and waves that are there at the same time; measured: 4.
_COPIES = 6
# Points of an outline that tell how near to the boundary it comes.
_OUTLINE = 64


@dataclass(frozen=True)
class CompleteElectrodeSolver:
    """A solver for the voltages U of electrodes e_k through which currents I flow into a body.

    Inside div(σ∇u) = 0. No current passes between electrodes. On e_k the metal has one potential, and the contact
    takes its share: u + z g = U_k with the density g = σ ∂u/∂n, ∫ g = I_k over e_k.

    The body acts through its matrix between waves on the circle (`Solver.modes`), the electrodes through another that
    is computed once for all bodies (`electrodes/waves.py` has the equations, and how exact they are).

    `waves` is how many orders there are. None takes as many as the inclusions need for nine digits: ρ^(2 waves) = 1e-9
    for inclusions within the radius ρ, after the Riemann map, but no more than the boundary nodes of `solver` can
    carry, and 128 at most. Each electrode has `points` nodes. U is a symmetric function of I. Differentiable in the
    inclusions, in places, widths and impedances.

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
    waves: int | None = None

    def __post_init__(self) -> None:
        body, own = self.solver.domain, self.electrodes.body
        if (body.name, body.perimeter) != (own.name, own.perimeter):
            raise InputError(
                f"CompleteElectrodeSolver: a solver on a {body.name}, but electrodes on a {own.name}"
            )
        if bool((self.electrodes.widths <= 0).any()):
            raise InputError("CompleteElectrodeSolver needs electrodes of some width, got points of width 0")
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
        # A tank of its own for each conductivity, in the worst case.
        unknowns = self.electrodes.count * (self.points + 1) + 2 * count
        size = chunk_size(8 * _COPIES * unknowns**2, batch.device)
        parts = [self._of_part(batch[k : k + size], count) for k in range(0, len(batch), size)]
        empty, change = (torch.cat(part) for part in zip(*parts, strict=True))
        return (empty[0], change[0]) if isinstance(conductivity, Phantom) else (empty, change)

    def _of_part(self, batch: PhantomBatch, count: int) -> tuple[Resistances, Resistances]:
        """R and its change for bodies that fit the memory."""
        tank, sigma = self._tank(batch.outside, count), batch.outside[:, None, None]
        body = self.solver.modes(batch, count) * sigma
        return tank.resistance / sigma, tank.change(body) / sigma

    def _needed(self, batch: PhantomBatch) -> int:
        """The waves that the inclusion next to the boundary needs."""
        if not batch.groups:
            return 1
        far, domain = max(_reach(self.solver.domain, group) for group in batch.groups), self.solver.domain
        most = min(_MOST_WAVES, (domain.boundary_size - 1) // 2)
        needed = math.log(_TOLERANCE) / (2 * math.log(far)) if 0 < far < 1 else most
        return max(1, min(most, math.ceil(needed)))

    def _tank(self, outside: Float64[Tensor, "bodies"], count: int) -> EmptyTank:
        """The empty tank for a conductivity σ: that of a body of conductivity 1 with impedances σ z."""
        row, contact, body = self.electrodes, self.electrodes.relative_impedance, self.solver.domain
        places, halves = row.places.to(outside), row.widths.to(outside) / 2
        same = not outside.requires_grad and bool((outside == outside[0]).all())
        if same and not (places.requires_grad or halves.requires_grad or contact.requires_grad):
            known = [tuple(part.tolist()) for part in (places, halves, contact * float(outside[0]))]
            return _known(known[0], known[1], known[2], count, self.points, body, outside.device)
        ones = outside.new_ones(len(outside), row.count)
        touch = contact.to(outside) * outside[:, None]
        return empty_tank(places * ones, halves * ones, touch, count, self.points, onto(body))

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


def _reach(domain: Domain, group: ShapeGroup) -> float:
    """The largest distance of the shapes from the centre of the disk, after the Riemann map."""
    outline = group.kind.outline(group.parameters.detach(), _OUTLINE)[group.present]
    return float(domain.conformal_map(outline).value.abs().max()) if len(outline) else 0.0


def onto(body: Domain) -> Circle | None:
    """Angles on the circle and their slopes dθ/ds from arclengths on the boundary; the disk needs none."""
    if body.name == Disk.name:
        return None

    def circle(s: Tensor) -> tuple[Tensor, Tensor]:
        image = body.conformal_map(body.place(s))
        return image.value.angle(), image.first.abs()

    return circle


@cached
def _known(
    angles: tuple[float, ...],
    half_widths: tuple[float, ...],
    impedances: tuple[float, ...],
    count: int,
    points: int,
    body: Domain,
    device: torch.device,
) -> EmptyTank:
    """The empty tank of a layout in plain numbers, remembered."""
    layout = torch.tensor([angles, half_widths, impedances], dtype=torch.float64, device=device)
    arcs, halves, contact = layout.unbind()
    return empty_tank(arcs, halves, contact, count, points, onto(body))
