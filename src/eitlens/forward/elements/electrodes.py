"""Finite elements with the complete electrode model: any body, any conductivity, any electrodes."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import torch
from jaxtyping import Float64
from torch import Tensor

from eitlens import checks
from eitlens.domain import Domain
from eitlens.errors import InputError
from eitlens.forward.elements.body import ElementBody, build
from eitlens.forward.elements.conductivity import Conductivities, ElementConductivity, interpolation, read
from eitlens.forward.elements.interfaces import MeshFrame
from eitlens.forward.elements.jacobian import Sensitivity, sensitivity
from eitlens.forward.elements.outline import DEFAULT, check_ends
from eitlens.forward.elements.quadratic import jumps
from eitlens.forward.elements.system import ElementSystem, assemble, parts

Totals = Float64[Tensor, "currents electrodes"]
Voltages = Float64[Tensor, "*batch currents electrodes"]
PerElectrode = Float64[Tensor, "electrodes"]

_RANK = 1e-12  # of the largest singular value: what rounding leaves of a dependent current is smaller


class ElectrodeResponse(NamedTuple):
    """Readings, and their derivatives in the values of σ and in the contact impedances."""

    readings: Float64[Tensor, "currents readings"]
    by_values: Sensitivity
    by_impedance: Float64[Tensor, "currents readings electrodes"]


@dataclass(frozen=True, eq=False)
class ElementElectrodeSolver:
    """A solver for the voltages U of electrodes through which currents I flow into a body.

    Inside div(σ∇u) = 0; on electrode k, from the arclength `start[k]` to `end[k]` counter-clockwise, the current
    density is (U_k - u) / z_k and its integral I_k; none flows elsewhere; Σ U_k = 0. The quadratic elements are those
    of `ElementSolver`, graded towards the ends of electrodes, where the middles of edges lie at a quarter: they follow
    the root that u has there when the contact is good. Solved are as many currents as the rank of those given.

    `size` is the longest edge inside; by default the perimeter over 100. Differentiable (once) in the currents, σ, the
    parameters of shapes, `impedance`, `start` and `end`, and in `outline`, the boundary nodes of the body where they
    are given: the mesh follows them without being made again.

    Reference: E. Somersalo, M. Cheney, D. Isaacson, SIAM J. Appl. Math. 52 (1992).

    >>> start = torch.arange(4, dtype=torch.float64) * torch.pi / 2
    >>> tank = eit.ElementElectrodeSolver(eit.Disk(32), start, start + 0.5, torch.full((4,), 0.01).double())
    >>> currents = torch.tensor([[1.0, 0.0, -1.0, 0.0]], dtype=torch.float64)
    >>> [round(value, 3) for value in tank.background(currents)[0].abs().tolist()]
    [0.9, 0.0, 0.9, 0.0]
    """

    domain: Domain
    start: PerElectrode
    end: PerElectrode
    impedance: PerElectrode
    size: float | None = None
    outline: Float64[Tensor, "boundary 2"] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.domain, Domain):
            raise InputError(
                f"ElementElectrodeSolver: expected a body such as Disk(32), got {checks.shown(self.domain)}"
            )
        for name in ("start", "end", "impedance"):
            object.__setattr__(self, name, checks.physics(getattr(self, name), f"electrodes: {name}"))
        shapes = {tuple(x.shape) for x in (self.start, self.end, self.impedance)}
        if len(shapes) > 1 or len(self.start.shape) != 1 or len(self.start) < 2:
            raise InputError(
                "electrodes: expected start, end and impedance of at least two electrodes, "
                f"got shapes {', '.join(map(str, shapes))}"
            )
        for name in ("start", "end"):
            checks.finite(getattr(self, name).detach(), f"electrodes: {name}")
        checks.positive(self.impedance.detach(), "electrodes: impedance")
        check_ends(self.start.detach(), self.end.detach(), self.domain.perimeter)
        if self.size is not None:
            checks.positive_number(self.size, "ElementElectrodeSolver: size")

    @property
    def count(self) -> int:
        """E, how many electrodes."""
        return len(self.start)

    @cached_property
    def body(self) -> ElementBody:
        """The mesh and all that belongs to it."""
        size = self.size or self.domain.perimeter / DEFAULT
        points, breaks = (part.detach().cpu() for part in (self._points, self._breaks))
        return build(self.domain, points, breaks, self.count, size, size)

    def moved(
        self,
        start: PerElectrode | None = None,
        end: PerElectrode | None = None,
        impedance: PerElectrode | None = None,
        outline: Float64[Tensor, "boundary 2"] | None = None,
    ) -> "ElementElectrodeSolver":
        """The solver for other electrodes or boundary nodes on the same mesh, which follows them.

        That makes voltages a smooth function of these numbers, for `torch.func.jacrev` or a fit; electrodes may move by
        a small part of their distance before the mesh should be made again.
        """
        found = replace(
            self,
            start=self.start if start is None else start,
            end=self.end if end is None else end,
            impedance=self.impedance if impedance is None else impedance,
            outline=self.outline if outline is None else outline,
        )
        found.__dict__["body"] = self.body
        return found

    def voltages(self, conductivity: ElementConductivity, currents: Totals) -> Voltages:
        """U for the currents (L, E): (L, E) for one conductivity, (B, L, E) for several."""
        return self._solve(conductivity, currents, ElementSystem.potentials)

    def difference(self, conductivity: ElementConductivity, currents: Totals) -> Voltages:
        """U - U0, U0 the voltages of the body without inclusions on the same mesh."""
        return self._solve(conductivity, currents, ElementSystem.difference)

    def background(self, currents: Totals, outside: float = 1.0) -> Voltages:
        """U0 of the empty body."""
        sigma = checks.positive_number(outside, "outside")
        uniform = torch.full((len(self.body.mesh.triangles),), sigma, dtype=torch.float64)
        return self._solve(uniform, currents, ElementSystem.potentials)

    def jacobian(
        self,
        values: Float64[Tensor, "*values"],
        currents: Totals,
        readings: Float64[Tensor, "readings electrodes"],
    ) -> Sensitivity:
        """The derivative of readings @ U in `values`, σ of one body on triangles, vertices, nodes or an image."""
        return self.response(values, currents, readings).by_values

    def response(
        self,
        values: Float64[Tensor, "*values"],
        currents: Totals,
        readings: Float64[Tensor, "readings electrodes"],
    ) -> ElectrodeResponse:
        """The readings @ U with their derivatives in `values`, see `jacobian`, and in the impedances: one solution.

        The derivative in an impedance is ∫ g h over the electrode, g and h the densities of the current and of that
        through the electrodes as the reading weighs them.
        """
        given, rows = self._check(currents), checks.physics(readings, "readings")
        bodies = read(self.domain, self.body, values, given.device)
        if bodies.shape or bodies.interpolation is None:
            raise InputError("jacobian: expected values of σ of one body, not phantoms and not a batch")
        if rows.ndim != 2 or rows.shape[1] != self.count:
            raise InputError(f"readings: expected (readings, {self.count}), got {tuple(rows.shape)}")
        rows = rows.to(given.device)
        with torch.no_grad():
            system, frame = self._system(bodies)
            fields = system.potentials(self._load(torch.eye(self.count).to(given)))[0]
        found, rank = interpolation(self.domain, self.body, tuple(values.shape))
        grid = tuple(values.shape[values.ndim - rank :])
        by_values = sensitivity(frame, fields, found.to(given.device), given, rows, grid)
        by_impedance = torch.einsum("lj,kji,mi->lmk", given, self._felt(frame, fields), rows)
        metal = fields[self.body.mesh.nodes :]
        potentials = given @ (metal - metal.mean(0)).mT
        return ElectrodeResponse(potentials @ rows.mT, by_values, by_impedance)

    def _felt(self, frame: MeshFrame, fields: Tensor) -> Float64[Tensor, "electrodes electrodes electrodes"]:
        """∫ g h over electrode k, for unit currents through electrodes j and i."""
        electrode, contacts = self.body.electrode.to(fields.device), self.body.tree.extras.to(fields.device)
        jump = jumps(frame.positions(frame.vertices[None]).detach(), contacts, fields)
        density = jump / self.impedance.detach().to(fields.device)[electrode, None, None]
        empty = fields.new_zeros(self.count, self.count, self.count)
        return empty.index_add(0, electrode, density.mT @ density)

    @property
    def _points(self) -> Float64[Tensor, "boundary 2"]:
        return self.domain.boundary() if self.outline is None else self.outline

    @property
    def _breaks(self) -> Float64[Tensor, "breaks"]:
        corners = torch.tensor(self.domain.corners, dtype=torch.float64, device=self.start.device)
        return torch.cat([self.start, self.end, corners])

    def _solve(
        self,
        conductivity: ElementConductivity,
        currents: Totals,
        what: Callable[[ElementSystem, Tensor], Tensor],
    ) -> Voltages:
        given = self._check(currents)
        bodies = read(self.domain, self.body, conductivity, given.device)
        basis, shares = _independent(given)
        load = self._load(basis)
        found = []
        for rows in parts(self.body, bodies, len(basis)):
            system, _ = self._system(bodies.part(rows))
            at = what(system, load)[:, self.body.mesh.nodes :].mT
            found.append(shares @ (at - at.mean(-1, keepdim=True)))
        result = torch.cat(found).expand(len(bodies.outside), -1, -1)
        return result.reshape(*bodies.shape, *result.shape[1:])

    def _system(self, bodies: Conductivities) -> tuple[ElementSystem, MeshFrame]:
        device = bodies.outside.device
        frame = self.body.moved(self._points.cpu(), self._breaks.cpu(), self.domain).to(device)
        admittance = 1 / self.impedance.to(device)
        return assemble(self.body, self.body.tree.to(device), frame, bodies, admittance), frame

    def _load(self, currents: Totals) -> Float64[Tensor, "one unknowns currents"]:
        """Currents into the electrodes, without what goes in and does not come out."""
        balanced = currents - currents.mean(1, keepdim=True)
        return torch.nn.functional.pad(balanced, (self.body.mesh.nodes, 0)).mT[None]

    def _check(self, currents: Totals) -> Totals:
        given = checks.physics(currents, "currents")
        if given.ndim != 2 or given.shape[0] == 0 or given.shape[1] != self.count:
            shape = tuple(given.shape)
            raise InputError(
                f"currents: expected (currents, {self.count}) totals of the electrodes, got shape {shape}"
            )
        checks.finite(given.detach(), "currents")
        if bool(given.detach().sum(-1).abs().amax() > 1e-6 * given.detach().abs().amax()):
            raise InputError("currents must have zero sum over the electrodes (what goes in comes out)")
        return given


def _independent(
    currents: Totals,
) -> tuple[Float64[Tensor, "rank electrodes"], Float64[Tensor, "currents rank"]]:
    """Find as many currents as their rank, and write each given one as a sum of them."""
    if currents.requires_grad:
        return currents, torch.eye(len(currents), dtype=currents.dtype, device=currents.device)
    _, size, rows = torch.linalg.svd(currents, full_matrices=False)
    basis = rows[: max(1, int((size > _RANK * size[0]).sum()))]
    return basis, currents @ basis.mT
