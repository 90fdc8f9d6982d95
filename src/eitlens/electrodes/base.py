"""The contract of a solver with electrodes, and readings in volts from electrodes, a pattern and a phantom."""

import math
from contextlib import suppress
from typing import Any, Protocol, runtime_checkable

import torch
from jaxtyping import Float64
from torch import Tensor

from eitlens import checks, random
from eitlens.electrodes.disk import CompleteElectrodeSolver
from eitlens.electrodes.layout import Electrodes
from eitlens.electrodes.patterns import Pattern
from eitlens.errors import InputError
from eitlens.forward.elements import ElementElectrodeSolver
from eitlens.forward.integral import BoundaryIntegralSolver
from eitlens.phantom import Phantom, Phantoms

Totals = Float64[Tensor, "currents electrodes"]
Potentials = Float64[Tensor, "*batch currents electrodes"]


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
    check_pattern(electrodes, pattern)
    depth = checks.positive_number(height, "height")
    basis = pattern.basis()
    currents = basis.stimulations / depth
    if solver is None:
        potentials = _solved(electrodes, conductivity, currents)
    else:
        potentials = solver.voltages(conductivity, currents)
    return pattern.read(torch.einsum("lr,...re->...le", basis.mixing.to(potentials), potentials))


def simulated(
    electrodes: Electrodes,
    pattern: Pattern,
    phantom: Phantom,
    height: float = 1.0,
    snr: float = math.inf,
    seed: int = 0,
) -> dict[str, Any]:
    """Simulate what a device would write to a file: readings of a phantom and of the empty body, and their origin.

    White noise of the same size is added to all readings, so that its root mean square is `snr` decibels below theirs.
    """
    if math.isnan(snr) or snr == -math.inf:
        raise InputError(f"snr must be a number of decibels, got {snr}")
    clean = simulate_readings(electrodes, pattern, [phantom, Phantom([], outside=phantom.outside)], height)
    index = torch.arange(2)
    size = clean.square().mean(-1, keepdim=True).sqrt() * 10 ** (-snr / 20)
    noisy = clean + size * random.normal(random.mixed(seed, "readings", 0), index, clean.shape[1])
    values = {"electrodes": electrodes.to_dict(), "pattern": pattern.to_dict(), "height": height}
    return values | {"voltages": noisy[:1].tolist(), "reference": noisy[1:].tolist()}


def check_pattern(electrodes: Electrodes, pattern: Pattern) -> None:
    """Refuse a pattern that is not for so many electrodes."""
    if pattern.electrodes != electrodes.count:
        raise InputError(
            f"the pattern drives and reads {pattern.electrodes} electrodes, but the body has {electrodes.count}: "
            f"make it for {electrodes.count}"
        )


def _solved(electrodes: Electrodes, conductivity: Phantoms, currents: Totals) -> Potentials:
    """Solve by exact electrodes and boundary integrals for smooth inclusions apart, or else by finite elements.

    Whatever else may be wrong, the elements say as well.
    """
    body = electrodes.body
    if not body.corners:
        with suppress(InputError):
            exact = CompleteElectrodeSolver(BoundaryIntegralSolver(body), electrodes)
            return exact.voltages(conductivity, currents)
    start, contact = electrodes.starts % body.perimeter, electrodes.relative_impedance
    elements = ElementElectrodeSolver(body, start, start + electrodes.widths, contact)
    return elements.voltages(conductivity, currents)
