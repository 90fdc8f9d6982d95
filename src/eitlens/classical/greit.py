"""GREIT: the linear image that turns simulated small targets into round blurs of one size and the right amount.

Targets at many places t have difference readings y_t, for a unit of conductivity times area, and images x_t that are
wanted of them: discs of radius `size` with soft edges around the same places, of the same integral. The matrix that
does this best in the mean, with noise of covariance C, is

    R = (Σ x_t y_tᵀ) (Σ y_t y_tᵀ + λ C)⁻¹.

λ is chosen so that the noise figure, the part of the ratio of signal to noise that is lost from readings to image, is
½ for a target in the centre.

Reference: A. Adler et al., "GREIT: a unified approach to 2D linear EIT reconstruction of lung images", Physiological
Measurement 30 (2009). Our targets are exact solutions with the complete electrode model where the outline is smooth; in
bodies with corners they are single cells, to first order.
"""

from dataclasses import replace
from typing import NamedTuple

import torch
from jaxtyping import Float64
from torch import Tensor

from eitlens import checks
from eitlens.classical.linear import LinearImage, decomposed
from eitlens.classical.linear_tank import LinearTank, tank_of
from eitlens.classical.reading_errors import Nuisance, ReadingNoise
from eitlens.classical.strength import STRENGTHS
from eitlens.electrodes import CompleteElectrodeSolver
from eitlens.forward import BoundaryIntegralSolver
from eitlens.measure.readings import ElectrodeMeasurement
from eitlens.phantom import Phantom, circle

NOISE_FIGURE = 0.5  # Adler et al.
_SIZE = (
    0.2  # radius of the wanted discs over half of the body's box: what 16 electrodes can tell in the centre
)
_SOFT = 0.25  # of that radius: the width of a disc's edge
_RADIUS = 0.05  # of a target, in the same units: a point to all electrodes
_CONTRAST = 2.0  # of a target
_ROOM = 0.02  # between a target and the boundary
_SPACING = 2  # cells from target to target: 300 targets on a disk
_HALVINGS = 30  # of the interval of log λ


class Targets(NamedTuple):
    """Places of targets, and their difference readings over their change of conductivity times area."""

    places: Float64[Tensor, "targets 2"]
    readings: Float64[Tensor, "readings targets"]


def targets(tank: LinearTank) -> Targets:
    """Small targets at every other node that has room for one."""
    body, nodes = tank.model.domain, tank.nodes
    row = torch.round((nodes - tank.model.lattice.corner) / tank.model.lattice.step)
    some = (row % _SPACING == 0).all(-1) & (body.clearance(nodes) > _RADIUS + _ROOM)
    if body.corners:
        return Targets(nodes[some], tank.jacobian[:, some] / tank.area[some])
    return Targets(nodes[some], _solved(tank, nodes[some]))


def _solved(tank: LinearTank, places: Float64[Tensor, "targets 2"]) -> Float64[Tensor, "readings targets"]:
    """By boundary integrals and exact electrodes."""
    sigma, model, basis = tank.conductivity, tank.model, tank.model.pattern.basis()
    bodies = [Phantom([circle(tuple(x), _RADIUS)], _CONTRAST * sigma, outside=sigma) for x in places.tolist()]
    solver = CompleteElectrodeSolver(BoundaryIntegralSolver(model.domain), model.electrodes)
    change = solver.difference(bodies, basis.stimulations / model.height)
    # To all that is far away a disc of contrast κ acts as a change of σ by 2 (κ - 1) / (κ + 1) of itself.
    amount = sigma * 2 * (_CONTRAST - 1) / (_CONTRAST + 1) * torch.pi * _RADIUS**2
    return tank.polarity * model.pattern.read(basis.mixing @ change).mT / amount


def wanted(
    tank: LinearTank, places: Float64[Tensor, "targets 2"], size: float
) -> Float64[Tensor, "unknowns targets"]:
    """The images that targets should have: discs of integral 1."""
    far = torch.cdist(tank.nodes, places)
    disc = torch.sigmoid(
        (size - far) / (_SOFT * size) * 4
    )  # falls from 0.88 to 0.12 over the width of the edge
    return disc / (tank.area @ disc)


def fit_greit(
    measurement: ElectrodeMeasurement,
    noise_figure: float = NOISE_FIGURE,
    size: float = _SIZE,
    nuisance: Nuisance | None = None,
    noise: ReadingNoise | None = None,
) -> LinearImage:
    """Make the matrix of GREIT for the tank of a measurement.

    Args:
        measurement: readings of electrodes.
        noise_figure: how much of the ratio of signal to noise may be lost; less makes the image smoother.
        size: radius of a point's image over half of the body's box.
        nuisance: what else may have changed.
        noise: of the readings, where there are too few reference frames to tell it.

    >>> tank = eit.Disk(40, scale=0.1)
    >>> electrodes, pattern = eit.Electrodes.even(tank, 16), eit.Pattern.named("adjacent", 16, current=1e-3)
    >>> bodies = [eit.Phantom([eit.circle((0.4, 0.2), 0.2)], 0.5, outside=0.3), eit.Phantom([], outside=0.3)]
    >>> volts = eit.simulate_readings(electrodes, pattern, bodies)
    >>> data = eit.Measurement.of_electrodes(electrodes, pattern, volts[0], reference=volts[1])
    >>> see = eit.fit_greit(data)
    >>> see(data.difference).shape
    torch.Size([1, 41, 41])
    """
    checks.positive_number(noise_figure, "noise_figure")
    tank = tank_of(measurement)
    places, readings = targets(tank)
    cross = wanted(tank, places, checks.positive_number(size, "size")) @ readings.mT
    errors = noise or ReadingNoise(), nuisance or Nuisance()
    image = decomposed(tank, measurement, readings @ readings.mT, cross, *errors)
    centre = readings[image.present, int(places.norm(dim=1).argmin())]
    return _with_noise_figure(image, centre, noise_figure)


def noise_figure(image: LinearImage, target: Float64[Tensor, "present"]) -> float:
    """The ratio of signal to noise of the readings of a target over that of its image."""
    inverse = image.back / (image.spectrum + image.strength)
    seen, spread = (inverse @ (image.white @ target)).abs(), inverse.norm(dim=1)
    return float(target.abs().mean() / image.scale * spread.mean() / seen.mean())


def _with_noise_figure(image: LinearImage, target: Tensor, figure: float) -> LinearImage:
    """The strength of that noise figure, which falls as the strength grows."""
    most = float(image.spectrum.max())
    low, high = (float(STRENGTHS[k].log()) for k in (0, -1))
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        strength = most * float(torch.tensor(middle).exp())
        above = noise_figure(replace(image, strength=strength), target) > figure
        low, high = (middle, high) if above else (low, middle)
    return replace(image, strength=most * float(torch.tensor(high).exp()))
