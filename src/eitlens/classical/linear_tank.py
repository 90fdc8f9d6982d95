"""A tank as its readings see small changes: the derivatives in σ, in the places of electrodes and in their contacts.

The change δσ of the conductivity is bilinear between the nodes of a coarse grid over the body. With the potentials u of
a stimulation and w of a unit current through a channel, in the uniform tank of σ0,

    δV = -∫ δσ ∇u · ∇w,

by finite elements with the complete electrode model (`ElementElectrodeSolver.jacobian`).
"""

from dataclasses import dataclass, replace
from functools import cached_property

import torch
from jaxtyping import Bool, Float64
from torch import Tensor

from eitlens import checks
from eitlens.domain import Domain
from eitlens.electrodes import Electrodes, Pattern
from eitlens.errors import InputError
from eitlens.forward import ElementElectrodeSolver
from eitlens.measure.readings import ElectrodeMeasurement

CELLS = 40
"""A side of the grid of δσ: half of the distance of 32 electrodes, and less than any of them tell apart."""
_FINER = 8  # times: the grid on which the part of a cell inside the body is counted
_LEAST_CONTACT = 1e-9  # z σ0 in units of the body: less changes no reading
_AT_ONCE = 4  # stimulations, for memory: of 32 electrodes they take 100 MB
_STEP = 1e-4  # of an electrode's width, and of its impedance, for central differences


@dataclass(frozen=True, eq=False)
class LinearTank:
    """A uniform tank and the derivatives of its readings.

    Attributes:
        electrodes, pattern: what is driven and read.
        conductivity: σ0 in S/m.
        height: of the tank in metres.
        cells: a side of the grid of δσ.
    """

    electrodes: Electrodes
    pattern: Pattern
    conductivity: float = 1.0
    height: float = 1.0
    cells: int = CELLS

    def __post_init__(self) -> None:
        checks.positive_number(self.conductivity, "conductivity")
        if bool((self.electrodes.widths <= 0).any()):
            raise InputError("electrodes: expected electrodes of some width, got points: give widths in metres")

    @property
    def grid(self) -> Domain:
        """The body on the grid of δσ."""
        return self.electrodes.body.at(self.cells)

    @cached_property
    def mass(self) -> Float64[Tensor, "nx ny"]:
        """The part of each node's cells that is inside the body: 1 for a node well inside."""
        fine = self.electrodes.body.at(_FINER * self.cells)
        hat = _hats(self.cells, _FINER * self.cells)
        return hat @ fine.inside().double() @ hat.mT

    @cached_property
    def unknown(self) -> Bool[Tensor, "nx ny"]:
        """The nodes that have a part in δσ inside the body."""
        return self.mass > 0

    @cached_property
    def solver(self) -> ElementElectrodeSolver:
        """The finite elements of the body."""
        row = self.electrodes
        start, contact = row.starts % row.body.perimeter, row.relative_impedance
        least = _LEAST_CONTACT / self.conductivity
        return ElementElectrodeSolver(row.body, start, start + row.widths, contact.clamp(min=least))

    @cached_property
    def readings(self) -> Float64[Tensor, "readings"]:
        """The readings of the uniform tank, in volts."""
        return self._read(self.solver)

    @cached_property
    def jacobian(self) -> Float64[Tensor, "readings unknowns"]:
        """The derivative of the readings in δσ at the unknown nodes, in volts per S/m."""
        basis, count = self.pattern.basis(), self.electrodes.count
        uniform = torch.full(self.grid.shape, self.conductivity, dtype=torch.float64)
        currents, each = basis.stimulations / self.height, torch.eye(count, dtype=torch.float64)
        whole = self._on_grid.jacobian(uniform, currents, each)
        parts = [replace(whole, driven=part).matrix() for part in whole.driven.split(_AT_ONCE, -1)]
        columns = torch.cat(parts)[..., self.unknown].permute(2, 0, 1)
        return self.pattern.read(basis.mixing @ columns).mT.contiguous()

    @cached_property
    def by_place(self) -> Float64[Tensor, "readings electrodes"]:
        """The derivative in the place of each electrode along the boundary, in volts per metre."""
        at, scale = self.solver, self.electrodes.body.scale

        def shifted(k: int, by: float) -> ElementElectrodeSolver:
            start, end = at.start.clone(), at.end.clone()
            start[k] += by
            end[k] += by
            return at.moved(start=start, end=end)

        steps = (_STEP * self.electrodes.widths).tolist()
        columns = [self._slope(shifted(k, h), shifted(k, -h), h * scale) for k, h in enumerate(steps)]
        return torch.stack(columns, 1)

    @cached_property
    def by_contact(self) -> Float64[Tensor, "readings electrodes"]:
        """The derivative in log z of the contact impedance z of each electrode, in volts."""
        at = self.solver

        def other(k: int, factor: float) -> ElementElectrodeSolver:
            impedance = at.impedance.clone()
            impedance[k] *= factor
            return at.moved(impedance=impedance)

        more, less = 1 + _STEP, 1 - _STEP
        columns = [self._slope(other(k, more), other(k, less), _STEP) for k in range(at.count)]
        return torch.stack(columns, 1)

    @property
    def _on_grid(self) -> ElementElectrodeSolver:
        """The same elements on the body with the grid of δσ."""
        same = ElementElectrodeSolver(self.grid, self.solver.start, self.solver.end, self.solver.impedance)
        same.__dict__["body"] = self.solver.body
        return same

    def _read(self, solver: ElementElectrodeSolver) -> Float64[Tensor, "readings"]:
        basis = self.pattern.basis()
        potentials = solver.background(basis.stimulations / self.height, self.conductivity)
        return self.pattern.read(basis.mixing @ potentials)

    def _slope(self, more: ElementElectrodeSolver, less: ElementElectrodeSolver, step: float) -> Tensor:
        return (self._read(more) - self._read(less)) / (2 * step)


def _hats(coarse: int, fine: int) -> Float64[Tensor, "coarse fine"]:
    """The weights of fine nodes in the bilinear function of each coarse node, over their sum."""
    at = torch.arange(fine + 1, dtype=torch.float64) * (coarse / fine)
    hat = (1 - (at - torch.arange(coarse + 1, dtype=torch.float64)[:, None]).abs()).clamp(min=0)
    return hat * (coarse / fine)


def tank_of(measurement: ElectrodeMeasurement, cells: int = CELLS) -> LinearTank:
    """The uniform tank of a measurement, with the conductivity it gives or that fits its reference best."""
    known, sigma = measurement.baseline, measurement.conductivity
    if known is None:
        known = measurement.voltages.nanmean(0)
    row, pattern, height = measurement.electrodes, measurement.pattern, measurement.height
    if sigma is None and not bool((known.nan_to_num() != 0).any()):
        raise InputError(
            f"{measurement.source or 'measurement'}: readings that are differences do not tell the conductivity of the "
            "body: give it in S/m (conductivity=…)"
        )
    if sigma is None:
        seen = known.isfinite()
        model = LinearTank(row, pattern, 1.0, height).readings[seen]
        sigma = abs(float((model @ model) / (model @ known[seen])))
    return LinearTank(row, pattern, sigma, height, cells)
