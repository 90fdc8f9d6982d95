"""Readings of a tank as functions of σ at the nodes of a coarse grid, with their derivatives.

Linear images, Gauss-Newton, total variation and level sets all ask the same of a tank: what it would read if σ were
this, and how that changes with σ and with the contacts. `TankModel` answers both by finite elements with the complete
electrode model. The unknowns are values at the nodes of a square lattice over the body, bilinear between them and
constant on each triangle. They are fewer than the triangles, lie in rows for differences between neighbours, and do not
depend on the mesh.
"""

from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float64
from torch import Tensor

from eitlens import checks
from eitlens.classical.lattice import Lattice
from eitlens.domain import Domain
from eitlens.electrodes import Electrodes, Pattern
from eitlens.electrodes.base import check_pattern
from eitlens.forward import ElementElectrodeSolver
from eitlens.measure.readings import ElectrodeMeasurement

CELLS = 40
"""Cells of the lattice along a side of the box around the body: 32 electrodes resolve about half as many."""
_PERFECT = 1e-9
"""The impedance, in units of the body over σ, that stands for a perfect contact: elements need a positive one."""

Values = Float64[Tensor, "unknowns"]


class TankResponse(NamedTuple):
    """Potentials of all electrodes for the independent currents, and their derivatives."""

    potentials: Float64[Tensor, "potentials"]
    by_sigma: Float64[Tensor, "potentials unknowns"]
    by_contact: Float64[Tensor, "potentials electrodes"]


@dataclass(frozen=True, eq=False)
class TankModel:
    """What a tank reads, in volts, for a conductivity given at the nodes of a lattice, in S/m.

    Attributes:
        electrodes: where they are, on which body, with their contact impedances.
        pattern: what is driven and what is read.
        height: of the tank in metres.
        keep: which readings of the pattern count; all where it is left out.
        cells: of the lattice, along a side of the box around the body.
        size: the longest edge of a triangle in the body's coordinates; the solver's own choice where left out.
        device: where the tensors are.

    >>> from eitlens.classical.tank_model import TankModel
    >>> tank = eit.Disk(32, scale=0.1)
    >>> model = TankModel(eit.Electrodes.even(tank, 16), eit.Pattern.named("adjacent", 16, current=1e-3), cells=16)
    >>> water = model.uniform(0.3)
    >>> model.readings(water).shape, model.jacobian(water).shape == (208, model.unknowns)
    (torch.Size([208]), True)
    """

    electrodes: Electrodes
    pattern: Pattern
    height: float = 1.0
    keep: Bool[Tensor, "all"] | None = None
    cells: int = CELLS
    size: float | None = None
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))

    def __post_init__(self) -> None:
        check_pattern(self.electrodes, self.pattern)
        checks.positive_number(self.height, "height")

    @staticmethod
    def of(
        measurement: ElectrodeMeasurement,
        electrodes: Electrodes | None = None,
        cells: int = CELLS,
        size: float | None = None,
        device: torch.device | None = None,
    ) -> "TankModel":
        """The model of a measurement's readings that are there, with its electrodes or with fitted ones."""
        own = electrodes or measurement.electrodes
        place = device or torch.device("cpu")
        return TankModel(
            own, measurement.pattern, measurement.height, measurement.present, cells, size, place
        )

    @property
    def domain(self) -> Domain:
        """The body."""
        return self.electrodes.body

    @property
    def count(self) -> int:
        """The number of readings that count."""
        return int(self._kept.sum())

    @property
    def unknowns(self) -> int:
        """The number of nodes at which σ is given."""
        return len(self.lattice.nodes)

    def kept(self, readings: Float64[Tensor, "*batch all"]) -> Float64[Tensor, "*batch readings"]:
        """Those of a pattern's readings that count, on the model's device."""
        return readings[..., self._kept.cpu()].to(self.device)

    def uniform(self, conductivity: float) -> Values:
        """The same σ everywhere."""
        return torch.full((self.unknowns,), conductivity, dtype=torch.float64, device=self.device)

    def readings(
        self, sigma: Values, impedance: Float64[Tensor, "electrodes"] | None = None
    ) -> Float64[Tensor, "readings"]:
        """Volts for σ, and for contact impedances in Ω m² other than those of the electrodes."""
        return self.reading @ self.potentials(sigma, impedance)

    def jacobian(
        self, sigma: Values, impedance: Float64[Tensor, "electrodes"] | None = None
    ) -> Float64[Tensor, "readings unknowns"]:
        """The derivatives of the readings in σ at the nodes."""
        return self.reading @ self.response(sigma, impedance).by_sigma

    def contact_jacobian(
        self, sigma: Values, impedance: Float64[Tensor, "electrodes"] | None = None
    ) -> Float64[Tensor, "readings electrodes"]:
        """The derivatives of the readings in the contact impedances, in volts for 1 Ω m²."""
        return self.reading @ self.response(sigma, impedance).by_contact

    def potentials(
        self, sigma: Values, impedance: Float64[Tensor, "electrodes"] | None = None
    ) -> Float64[Tensor, "potentials"]:
        """The potentials of all electrodes for each of the independent currents, of which readings are sums."""
        if self._is_uniform(sigma, impedance):
            return self._uniform_response(float(sigma[0])).potentials
        solver = self._with(impedance)
        return solver.voltages(self.lattice.on_triangles(sigma), self.currents).flatten()

    def response(
        self, sigma: Values, impedance: Float64[Tensor, "electrodes"] | None = None
    ) -> "TankResponse":
        """The potentials with their derivatives in σ at the nodes and in the contact impedances."""
        if self._is_uniform(sigma, impedance):
            return self._uniform_response(float(sigma[0]))
        return self._solved(sigma, impedance)

    def _is_uniform(self, sigma: Values, impedance: Float64[Tensor, "electrodes"] | None) -> bool:
        """Whether σ is the same everywhere and the contacts are the tank's own: all frames begin there."""
        own = self.electrodes.impedance.to(self.device)
        return bool((sigma == sigma[0]).all()) and (impedance is None or torch.equal(impedance, own))

    def _uniform_response(self, conductivity: float) -> "TankResponse":
        """The response of the uniform tank, remembered for the last conductivity."""
        if conductivity not in self._remembered:
            self._remembered.clear()
            self._remembered[conductivity] = self._solved(self.uniform(conductivity), None)
        return self._remembered[conductivity]

    @cached_property
    def _remembered(self) -> "dict[float, TankResponse]":
        return {}

    def _solved(self, sigma: Values, impedance: Float64[Tensor, "electrodes"] | None) -> "TankResponse":
        triangles = self.lattice.on_triangles(sigma)
        eye = torch.eye(self.electrodes.count, dtype=torch.float64, device=self.device)
        found = self._with(impedance).response(triangles, self.currents, eye)
        by_triangle = found.by_values.matrix().permute(2, 0, 1).flatten(1)
        by_contact = found.by_impedance.flatten(0, 1) / self.domain.scale
        return TankResponse(found.readings.flatten(), self.lattice.collected(by_triangle).mT, by_contact)

    @cached_property
    def reading(self) -> Float64[Tensor, "readings potentials"]:
        """The readings that count from the potentials of the independent currents."""
        count = len(self.currents) * self.electrodes.count
        unit = torch.eye(count, dtype=torch.float64, device=self.device)
        potentials = unit.reshape(count, -1, self.electrodes.count)
        mixing = self.pattern.basis().mixing.to(self.device)
        every = torch.einsum("lr,pre->ple", mixing, potentials)
        return self.pattern.read(every)[..., self._kept].mT.contiguous()

    def image(self, values: Values, domain: Domain | None = None) -> Float64[Tensor, "nx ny"]:
        """The values at the nodes of the body's grid, or of another resolution of it; 0 outside the body."""
        grid = self.domain if domain is None else domain
        where = grid.nodes().to(self.device)
        found = self.lattice.at(values, where.flatten(0, 1)).reshape(grid.shape)
        return torch.where(grid.inside().to(self.device), found, 0.0)

    @cached_property
    def solver(self) -> ElementElectrodeSolver:
        """The finite elements."""
        row, contact = self.electrodes, self.electrodes.relative_impedance.clamp(min=_PERFECT)
        start = row.starts % self.domain.perimeter
        return ElementElectrodeSolver(self.domain, start, start + row.widths, contact, self.size)

    @cached_property
    def lattice(self) -> Lattice:
        """The nodes at which σ is unknown, and what they mean for the triangles."""
        frame = self.solver.body.frame
        centres = frame.vertices[frame.triangles[:, :3]].mean(1)
        return Lattice.over(self.domain, self.cells, centres, self.device)

    @cached_property
    def _kept(self) -> Bool[Tensor, "all"]:
        every = torch.ones(self.pattern.count, dtype=torch.bool)
        return (every if self.keep is None else self.keep).to(self.device)

    @cached_property
    def currents(self) -> Float64[Tensor, "rank electrodes"]:
        """As few currents as all are combinations of, in A/m."""
        return (self.pattern.basis().stimulations / self.height).to(self.device)

    def _with(self, impedance: Float64[Tensor, "electrodes"] | None) -> ElementElectrodeSolver:
        if impedance is None:
            return self.solver
        return self.solver.moved(impedance=(impedance / self.domain.scale).clamp(min=_PERFECT))
