"""The contract of a solver with electrodes, and readings in volts from electrodes, a pattern and a phantom."""

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float64
from torch import Tensor

from eitlens import checks
from eitlens.electrodes.disk import CompleteElectrodeSolver
from eitlens.electrodes.layout import Electrodes
from eitlens.electrodes.patterns import Pattern
from eitlens.errors import InputError
from eitlens.forward.automatic import for_elements
from eitlens.forward.elements import ElementElectrodeSolver
from eitlens.forward.integral import BoundaryIntegralSolver
from eitlens.phantom import PhantomBatch, Phantoms, as_batch

Totals = Float64[Tensor, "currents electrodes"]
Potentials = Float64[Tensor, "*batch currents electrodes"]
_POINT, _WIDER = 1e-6, 1e-3
"""Width of an electrode that is a point, of the perimeter, and that for finite elements, whose edges can be no smaller.
What others feel of it falls like its square."""
_PERFECT = 1e-8
"""Impedance of perfect contact for finite elements, of the electrode's width: the current changes by as little."""


@runtime_checkable
class ElectrodeSolver(Protocol):
    """A solver for the potentials of electrodes (E) on a body, by whatever method.

    Currents are totals (L, E) a metre of height, in A/m, of zero sum; conductivities are S/m and contact impedances
    Ω m²; potentials are volts, of zero mean over the electrodes. In the body's coordinates, of which a unit is
    `body.scale` metres, the equations are the same with the impedance z / scale (`Electrodes.relative_impedance`).
    """

    def voltages(self, conductivity: Phantoms, currents: Totals) -> Potentials:
        """U for the currents: (L, E) for one phantom, (B, L, E) for several."""

    def background(self, currents: Totals, outside: float = 1.0) -> Potentials:
        """U0 of the empty body of conductivity `outside`."""

    def difference(self, conductivity: Phantoms, currents: Totals) -> Potentials:
        """U - U0, U0 of the body without inclusions."""


def simulate_readings(
    electrodes: Electrodes,
    pattern: Pattern,
    conductivity: Phantoms,
    height: float = 1.0,
    solver: ElectrodeSolver | None = None,
) -> Float64[Tensor, "*batch readings"]:
    """Simulate the readings of a pattern, in volts: (R) for one phantom, (B, R) for several.

    The conductivities of the phantom are S/m; its shapes are in the coordinates of the body. The tank is the same at
    all heights, and the current spreads over its `height`, in metres: the depth of the water, or the length of
    electrodes that reach from top to bottom. Twice the height halves the readings, the contact's part as well.
    `Phantom([], outside=σ)` is the empty tank. Only so many currents are solved for as the pattern has independent
    ones.

    >>> tank = eit.Disk(32, scale=0.1)
    >>> electrodes, pattern = eit.Electrodes.even(tank, 16), eit.Pattern.named("adjacent", 16, current=1e-3)
    >>> volts = eit.simulate_readings(electrodes, pattern, eit.Phantom([], outside=0.3), height=0.05)
    >>> volts.shape, round(float(volts.min()), 4)
    (torch.Size([208]), -0.0059)
    """
    _check_points(electrodes, pattern)
    find = solver.voltages if solver is not None else partial(_solved, electrodes)
    return readings(electrodes, pattern, partial(find, conductivity), height)


def readings(
    electrodes: Electrodes, pattern: Pattern, potentials: Callable[[Totals], Potentials], height: float = 1.0
) -> Float64[Tensor, "*batch readings"]:
    """The readings of a pattern from the potentials that totals a metre of height cause.

    Only so many currents are asked for as the pattern has independent ones.
    """
    check_pattern(electrodes, pattern)
    basis = pattern.basis()
    found = potentials(basis.stimulations / checks.positive_number(height, "height"))
    return pattern.read(torch.einsum("lr,...re->...le", basis.mixing.to(found), found))


def check_pattern(electrodes: Electrodes, pattern: Pattern) -> None:
    """Refuse a pattern that is not for so many electrodes."""
    if pattern.electrodes != electrodes.count:
        raise InputError(
            f"the pattern drives and reads {pattern.electrodes} electrodes, but the body has {electrodes.count}: "
            f"make it for {electrodes.count}"
        )


def by_elements(electrodes: Electrodes, shapes: PhantomBatch | None = None) -> ElementElectrodeSolver:
    """The solver by finite elements, fine enough for some shapes."""
    body = electrodes.body
    row = electrodes.with_points_of_width(_WIDER * body.perimeter)
    start, contact = row.starts % body.perimeter, torch.maximum(row.relative_impedance, _PERFECT * row.widths)
    sizes = [for_elements(phantom, body) for phantom in shapes or ()]
    size = min((size for size in sizes if size is not None), default=None)
    return ElementElectrodeSolver(body, start, start + row.widths, contact, size)


def _solved(electrodes: Electrodes, conductivity: Phantoms, currents: Totals) -> Potentials:
    """Solve by exact electrodes and boundary integrals for smooth inclusions apart, or else by finite elements.

    Whatever else may be wrong, the elements say as well.
    """
    body = electrodes.body
    if not body.corners:
        with suppress(InputError):
            row = electrodes.with_points_of_width(_POINT * body.perimeter)
            exact = CompleteElectrodeSolver(BoundaryIntegralSolver(body), row)
            return exact.voltages(conductivity, currents)
    return by_elements(electrodes, as_batch(conductivity)).voltages(conductivity, currents)


def _check_points(electrodes: Electrodes, pattern: Pattern) -> None:
    """Refuse readings of an electrode that drives where it is a point: its potential is infinite."""
    points = (electrodes.widths.detach() == 0).cpu()
    if not bool(points.any()) or pattern.electrodes != electrodes.count:
        return
    drives = (pattern.stimulation != 0)[:, None] & points
    read = ((pattern.channels != 0) & drives).any(-1) & pattern.mask
    if bool(read.any()):
        k = int(read.any(-1).to(torch.int8).argmax())
        raise InputError(
            f"stimulation {k + 1}: an electrode that is a point and drives current is read, and its potential is "
            "infinite: give the electrodes a width, or leave out readings of electrodes that drive"
        )
