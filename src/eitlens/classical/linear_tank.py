"""A uniform tank as linear images see it: its readings, and their derivatives in σ, electrodes' places and contacts."""

from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Float64
from torch import Tensor
from torch.nn import functional as fn

from eitlens import checks
from eitlens.classical.tank_model import CELLS, TankModel
from eitlens.domain import Domain
from eitlens.electrodes import Electrodes
from eitlens.errors import InputError
from eitlens.forward import ElementElectrodeSolver
from eitlens.measure.readings import ElectrodeMeasurement
from eitlens.measure.tank import fit_tank

_STEP = 1e-4  # of an electrode's width, and of its impedance, for central differences


@dataclass(frozen=True, eq=False)
class LinearTank:
    """A tank of one conductivity and the derivatives of its readings, of all that the pattern has.

    Attributes:
        model: the tank; its lattice has the nodes where δσ is unknown.
        conductivity: σ0 in S/m.
        polarity: -1 where the device gives the negative of what the pattern says.
        misfit: what the tank leaves of the readings that it was fitted to, relative; 1 where there were none.
    """

    model: TankModel
    conductivity: float
    polarity: int = 1
    misfit: float = 1.0

    def __post_init__(self) -> None:
        checks.positive_number(self.conductivity, "conductivity")
        if bool((self.model.electrodes.widths <= 0).any()):
            raise InputError(
                "electrodes: expected electrodes of some width, got points: give widths in metres"
            )

    @property
    def grid(self) -> Domain:
        """The body on the grid of δσ."""
        return self.model.domain.at(self.model.cells)

    @property
    def nodes(self) -> Float64[Tensor, "unknowns 2"]:
        """The unknown nodes."""
        return self.model.lattice.nodes

    @cached_property
    def area(self) -> Float64[Tensor, "unknowns"]:
        """The integral of the bilinear function of each node over the body."""
        frame = self.model.solver.body.frame
        a, b, c = frame.vertices[frame.triangles[:, :3]].unbind(1)
        (ux, uy), (vx, vy) = (b - a).unbind(-1), (c - a).unbind(-1)
        return self.model.lattice.collected(((ux * vy - uy * vx) / 2)[:, None])[:, 0]

    @cached_property
    def readings(self) -> Float64[Tensor, "readings"]:
        """The readings in volts."""
        return self.polarity * self.model.readings(self.model.uniform(self.conductivity))

    @cached_property
    def jacobian(self) -> Float64[Tensor, "readings unknowns"]:
        """The derivative of the readings in δσ at the unknown nodes, in volts per S/m."""
        return self.polarity * self.model.jacobian(self.model.uniform(self.conductivity)).contiguous()

    @cached_property
    def by_place(self) -> Float64[Tensor, "readings electrodes"]:
        """The derivative in the place of each electrode along the boundary, in volts per metre."""
        at, scale = self.model.solver, self.model.domain.scale

        def shifted(k: int, by: float) -> ElementElectrodeSolver:
            start, end = at.start.clone(), at.end.clone()
            start[k] += by
            end[k] += by
            return at.moved(start=start, end=end)

        steps = (_STEP * self.model.electrodes.widths).tolist()
        columns = [self._slope(shifted(k, h), shifted(k, -h), h * scale) for k, h in enumerate(steps)]
        return torch.stack(columns, 1)

    @cached_property
    def by_contact(self) -> Float64[Tensor, "readings electrodes"]:
        """The derivative in log z of the contact impedance z of each electrode, in volts."""
        impedance = self.model.solver.impedance * self.model.domain.scale
        found = self.model.contact_jacobian(self.model.uniform(self.conductivity))
        return self.polarity * found * impedance

    def image(
        self, values: Float64[Tensor, "frames unknowns"], n: int | None = None
    ) -> Float64[Tensor, "frames nx ny"]:
        """Values at the unknown nodes as images on a grid of n cells a side, its own where left out; 0 outside."""
        lattice, body = self.model.lattice, self.grid if n is None else self.grid.at(n)
        box = values[:, lattice.number.to(values.device)]
        if body.shape != box.shape[1:]:
            box = fn.interpolate(box[:, None], body.shape, mode="bilinear", align_corners=True)[:, 0]
        return box * body.inside(values.device)

    def _slope(self, more: ElementElectrodeSolver, less: ElementElectrodeSolver, step: float) -> Tensor:
        basis = self.model.pattern.basis()
        currents = basis.stimulations / self.model.height
        rise = more.background(currents, self.conductivity) - less.background(currents, self.conductivity)
        return self.polarity * self.model.pattern.read(basis.mixing @ rise) / (2 * step)


def tank_of(measurement: ElectrodeMeasurement, cells: int = CELLS) -> LinearTank:
    """The uniform tank that explains a measurement's reference best; of differences alone, the tank that it describes.

    Where the measurement gives the conductivity, the height of the tank is what makes the readings agree with it.
    """
    given, pattern, height = measurement.conductivity, measurement.pattern, measurement.height
    base = measurement.baseline
    if base is not None and not bool((base.nan_to_num() != 0).any()):
        if given is None:
            raise InputError(
                f"{measurement.source or 'measurement'}: differences of readings do not tell the conductivity of the "
                "body: give it in S/m (conductivity=…), or the reference itself"
            )
        return LinearTank(TankModel(measurement.electrodes, pattern, height, cells=cells), given)
    found = fit_tank(measurement)
    row, ratio = found.electrodes, 1.0 if given is None else found.conductivity / given
    same = Electrodes(row.body, row.places, row.widths, row.impedance * ratio)
    model = TankModel(same, pattern, height * ratio, cells=cells)
    return LinearTank(model, found.conductivity / ratio, found.polarity, found.residual)
