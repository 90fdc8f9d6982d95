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
from jaxtyping import Bool, Float64, Int64
from scipy.spatial import cKDTree
from torch import Tensor

from eitlens import checks
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
        solver = self._with(impedance)
        return solver.voltages(self.lattice.on_triangles(sigma), self.currents).flatten()

    def response(
        self, sigma: Values, impedance: Float64[Tensor, "electrodes"] | None = None
    ) -> "TankResponse":
        """The potentials with their derivatives in σ at the nodes and in the contact impedances."""
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
    def lattice(self) -> "Lattice":
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


@dataclass(frozen=True, eq=False)
class Lattice:
    """Nodes in rows and columns over a body, those near it: what values at them are on triangles and elsewhere."""

    nodes: Float64[Tensor, "unknowns 2"]
    right: Int64[Tensor, "unknowns"]
    above: Int64[Tensor, "unknowns"]
    """The neighbours to the right and above by number; a node is its own where it has none."""
    step: Float64[Tensor, "2"]
    """The distance of neighbours in x and in y."""
    corner: Float64[Tensor, "2"]
    number: Int64[Tensor, "columns rows"]
    """The unknown of each node of the box: the nearest one where the node itself is too far from the body."""
    triangles: Float64[Tensor, "triangles unknowns"]
    """σ on triangles from σ at nodes, a sparse matrix."""

    @staticmethod
    def over(
        domain: Domain, cells: int, centres: Float64[Tensor, "triangles 2"], device: torch.device
    ) -> "Lattice":
        """The lattice of so many cells over the box around the body; unknown are the nodes that a triangle needs."""
        grid = domain.at(cells).nodes()
        corner, step = grid[0, 0], grid[1, 1] - grid[0, 0]
        place, weight = _bilinear(centres, corner, step, grid.shape[:2])
        used = torch.unique(place)
        flat = grid.flatten(0, 1)
        nearest = torch.from_numpy(cKDTree(flat[used].numpy()).query(flat.numpy())[1]).reshape(grid.shape[:2])
        row = torch.arange(len(centres))[:, None].expand_as(place)
        entries = torch.stack([row, nearest.flatten()[place]]).flatten(1)
        size = (len(centres), len(used))
        onto = torch.sparse_coo_tensor(entries, weight.flatten(), size, check_invariants=True).coalesce()
        beyond = [_neighbours(grid.shape[:2], used, axis) for axis in (0, 1)]
        parts = (flat[used], *beyond, step, corner, nearest, onto)
        return Lattice(*(part.to(device) for part in parts))

    def on_triangles(self, values: Values) -> Float64[Tensor, "triangles"]:
        """The values on the triangles."""
        return (self.triangles @ values[:, None])[:, 0]

    def collected(self, sums: Float64[Tensor, "triangles columns"]) -> Float64[Tensor, "unknowns columns"]:
        """Derivatives in the values on triangles as derivatives in those at nodes: the transposed map."""
        return self.triangles.T @ sums

    def at(self, values: Values, points: Float64[Tensor, "points 2"]) -> Float64[Tensor, "points"]:
        """The values at any points of the body."""
        place, weight = _bilinear(points, self.corner, self.step, self.number.shape)
        return (values[self.number.flatten()[place]] * weight).sum(-1)

    def gradient(self, values: Values) -> Float64[Tensor, "2 unknowns"]:
        """The differences to the right and upwards, over the step; 0 where there is no neighbour."""
        rise = torch.stack([values[self.right] - values, values[self.above] - values])
        return rise / self.step[:, None]

    @cached_property
    def slopes(self) -> Float64[Tensor, "2 unknowns unknowns"]:
        """The matrices of `gradient`."""
        eye = torch.eye(len(self.nodes), dtype=torch.float64, device=self.nodes.device)
        rise = torch.stack([eye[self.right] - eye, eye[self.above] - eye])
        return rise / self.step[:, None, None]


def _bilinear(points: Tensor, corner: Tensor, step: Tensor, shape: torch.Size) -> tuple[Tensor, Tensor]:
    """The four nodes around each point, by number in the box, and their weights."""
    at = (points - corner) / step
    most = torch.tensor(shape, dtype=torch.float64, device=points.device) - 2
    low = torch.minimum(at.floor().clamp(min=0), most)
    (i, j), (x, y) = low.long().unbind(-1), (at - low).clamp(0, 1).unbind(-1)
    first = i * shape[1] + j
    place = torch.stack([first, first + shape[1], first + 1, first + shape[1] + 1], -1)
    return place, torch.stack([(1 - x) * (1 - y), x * (1 - y), (1 - x) * y, x * y], -1)


def _neighbours(shape: torch.Size, used: Int64[Tensor, "unknowns"], axis: int) -> Int64[Tensor, "unknowns"]:
    """The next unknown along an axis, itself where there is none."""
    table = torch.full((shape[0] * shape[1],), -1)
    table[used] = torch.arange(len(used))
    box = table.reshape(shape[0], shape[1])
    after = torch.full_like(box, -1)
    if axis == 0:
        after[:-1] = box[1:]
    else:
        after[:, :-1] = box[:, 1:]
    found = after.flatten()[used]
    return torch.where(found >= 0, found, torch.arange(len(used)))
