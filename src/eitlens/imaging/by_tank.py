"""Images of electrode data through the complete electrode model: Gauss-Newton, total variation, level sets, outlines.

Each takes the first frame of a measurement of a tank and returns σ - σ0 in S/m, σ0 the background of the frame, or σ
where the measurement has no reference. Contacts and background are fitted along (outlines: the background). `TANK` has
each as a function of all frames, which share the fitted tank and its elements.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from eitlens.classical.classes import three_classes
from eitlens.classical.gauss_newton import SmoothPrior, TankImage, first_image, gauss_newton_image
from eitlens.classical.level_set import level_set_image
from eitlens.classical.outlines import Outlined, fit_outlines, pieces
from eitlens.classical.tank_frame import OF_CHANGES, OF_READINGS, TankFrame
from eitlens.classical.total_variation import Variation, total_variation_image
from eitlens.device import pick_device
from eitlens.domain import Domain
from eitlens.errors import InputError, prefix_errors
from eitlens.imaging.options import Options
from eitlens.imaging.reconstruction import Reconstruction
from eitlens.measure import Measurement
from eitlens.measure.readings import ElectrodeMeasurement
from eitlens.phantom import conductivity
from eitlens.threads import free_cores_only

_CELLS = 100  # of an image along a side: twice as fine as anything that electrodes resolve
_STEPS = 10  # at most, of Gauss-Newton
_WHITE = 0.3  # of the usual model errors that stay where the noise level is given: simulated data have such


def gauss_newton(measurement: Measurement, options: Options | None = None) -> Reconstruction:
    """Image a tank by Gauss-Newton steps with a smoothness prior; see `eitlens.classical.gauss_newton`.

    The strength is one over the standard deviation of log σ in the prior. The uncertainty is that of the linearised
    posterior.

    >>> tank = eit.Disk(32, scale=0.1)
    >>> electrodes, pattern = eit.Electrodes.even(tank, 16), eit.Pattern.named("adjacent", 16, current=1e-3)
    >>> bodies = [eit.Phantom([eit.circle((0.4, 0.3), 0.25)], [3.0], outside=0.3), eit.Phantom([], outside=0.3)]
    >>> target, water = eit.simulate_readings(electrodes, pattern, bodies)
    >>> image = eit.gauss_newton(eit.Measurement.of_electrodes(electrodes, pattern, target, reference=water))
    >>> image.quantity, image.image.shape, bool(image.image.max() > 0.5), image.misfit < 0.1
    ('change', torch.Size([101, 101]), True, True)
    """
    return _first("gauss-newton", measurement, options)


def total_variation(measurement: Measurement, options: Options | None = None) -> Reconstruction:
    """Image a tank with few and short edges; see `eitlens.classical.total_variation`. The strength is λ.

    >>> tank = eit.Disk(32, scale=0.1)
    >>> electrodes, pattern = eit.Electrodes.even(tank, 16), eit.Pattern.named("adjacent", 16, current=1e-3)
    >>> bodies = [eit.Phantom([eit.circle((0.4, 0.3), 0.25)], [3.0], outside=0.3), eit.Phantom([], outside=0.3)]
    >>> target, water = eit.simulate_readings(electrodes, pattern, bodies)
    >>> image = eit.total_variation(eit.Measurement.of_electrodes(electrodes, pattern, target, reference=water))
    >>> image.method, bool(image.image.max() > 0.5), image.misfit < 0.1
    ('total-variation', True, True)
    """
    return _first("total-variation", measurement, options)


def level_sets(measurement: Measurement, options: Options | None = None) -> Reconstruction:
    """Image a tank of three conductivities by level sets; see `eitlens.classical.level_set`.

    >>> tank = eit.Disk(32, scale=0.1)
    >>> electrodes, pattern = eit.Electrodes.even(tank, 16), eit.Pattern.named("adjacent", 16, current=1e-3)
    >>> bodies = [eit.Phantom([eit.circle((0.4, 0.3), 0.25)], [0.03], outside=0.3), eit.Phantom([], outside=0.3)]
    >>> target, water = eit.simulate_readings(electrodes, pattern, bodies)
    >>> image = eit.level_sets(eit.Measurement.of_electrodes(electrodes, pattern, target, reference=water))
    >>> image.method, bool(image.image.min() < -0.2), image.misfit < 0.1
    ('level-set', True, True)
    """
    return _first("level-set", measurement, options)


def outlines(measurement: Measurement, options: Options | None = None) -> Reconstruction:
    """Image a tank by the outlines of a few objects; see `eitlens.classical.outlines`. The body must be smooth.

    >>> tank = eit.Disk(32, scale=0.1)
    >>> electrodes, pattern = eit.Electrodes.even(tank, 16), eit.Pattern.named("adjacent", 16, current=1e-3)
    >>> truth = eit.Phantom([eit.circle((0.4, 0.3), 0.25)], [0.03], outside=0.3)
    >>> target, water = eit.simulate_readings(electrodes, pattern, [truth, eit.Phantom([], outside=0.3)])
    >>> image = eit.outlines(eit.Measurement.of_electrodes(electrodes, pattern, target, reference=water))
    >>> image.method, image.misfit < 0.02
    ('outlines', True)
    """
    return _first("outlines", measurement, options)


def outlined(frame: TankFrame, options: Options | None = None) -> Outlined:
    """The outlines that explain a frame, from the classes of Gauss-Newton's image."""
    own = options or Options()
    smooth = first_image(frame, own.steps or _STEPS, progress=own.progress)
    grid = frame.model.domain.at(_CELLS)
    contrast, inside = frame.model.image(smooth.contrast, grid).cpu(), grid.inside()
    classes = torch.zeros(grid.shape, dtype=torch.int64)
    classes[inside] = three_classes(contrast[inside])
    return fit_outlines(frame, pieces(classes, grid), progress=own.progress)


class Shown(NamedTuple):
    """What a method made of a frame: image, standard deviation on the same grid, and the misfit."""

    image: Tensor
    deviation: Tensor | None
    misfit: float


def _by_gauss_newton(frame: TankFrame, grid: Domain, own: Options) -> Shown:
    prior = SmoothPrior.of(frame.model)
    if own.strength is not None:
        prior = replace(prior, contrast=1 / own.strength)
    return _shown(gauss_newton_image(frame, prior, own.steps or _STEPS, progress=own.progress), grid)


def _by_total_variation(frame: TankFrame, grid: Domain, own: Options) -> Shown:
    strength = Variation(own.strength)
    found = total_variation_image(frame, strength, steps=own.steps or _STEPS, progress=own.progress)
    return _shown(found, grid)


def _by_level_sets(frame: TankFrame, grid: Domain, own: Options) -> Shown:
    return _shown(level_set_image(frame, steps=own.steps or _STEPS, progress=own.progress).image, grid)


def _by_outlines(frame: TankFrame, grid: Domain, own: Options) -> Shown:
    found = outlined(frame, own)
    sigma = conductivity(grid, found.phantom)
    image = torch.where(grid.inside(), sigma - found.background if frame.difference else sigma, 0.0)
    return Shown(image, None, found.relative_misfit)


def _shown(found: TankImage, grid: Domain) -> Shown:
    """σ, or its change where there is a reference, on a grid."""
    frame, spread = found.frame, found.deviation
    values = found.sigma - found.background if frame.difference else found.sigma
    if spread is not None:
        spread = frame.model.image(found.sigma * spread, grid).cpu()
    misfit = frame.relative_misfit(found.readings)
    return Shown(frame.model.image(values, grid).cpu(), spread, misfit)


_MADE: dict[str, tuple[Callable[[TankFrame, Domain, Options], Shown], tuple[str, ...]]] = {
    "gauss-newton": (_by_gauss_newton, ("strength", "steps")),
    "total-variation": (_by_total_variation, ("strength", "steps")),
    "level-set": (_by_level_sets, ("steps",)),
    "outlines": (_by_outlines, ("steps",)),
}
"""By name: how an image of a frame is made, and which wishes it takes."""


def frames(name: str, measurement: Measurement, options: Options) -> Iterator[Reconstruction]:
    """Images of all frames, lazily; where there is a reference the tank is fitted and meshed once."""
    made, taken = _MADE[name]
    options.only(name, *taken)
    frame: TankFrame | None = None
    for number in range(measurement.frames):
        start = perf_counter()
        frame = _frame(name, measurement.frame(number), options, frame)
        grid = measurement.domain.at(options.n or _CELLS)
        with prefix_errors(measurement.source), free_cores_only():
            found = made(frame, grid, options)
        quantity: Literal["change", "conductivity"] = "change" if frame.difference else "conductivity"
        told = (found.image, found.deviation, grid, None, found.misfit, (), name, "")
        yield Reconstruction(*told, perf_counter() - start, quantity=quantity)


def _first(name: str, measurement: Measurement, options: Options | None) -> Reconstruction:
    """The image of the first frame."""
    return next(frames(name, measurement.frame(0), options or Options()))


def _frame(name: str, measurement: Measurement, options: Options, before: TankFrame | None) -> TankFrame:
    """A frame, of the same tank as one before.

    Where the noise level is given, relative to the empty tank's readings, that is its noise.
    """
    if not isinstance(measurement, ElectrodeMeasurement):
        raise InputError(
            f"{name}: it images readings of electrodes in volts, got potentials at points of the boundary: use dsm"
        )
    errors = None
    if options.tau is not None:
        known = measurement.voltages[0] if measurement.baseline is None else measurement.baseline
        white = options.tau * float(known.square().nanmean().sqrt())
        usual = OF_READINGS if measurement.reference is None else OF_CHANGES
        errors = replace(
            usual, relative=_WHITE * usual.relative, floor=max(_WHITE * usual.floor, 1e-6), white=white
        )
    if before is not None:
        with prefix_errors(measurement.source):
            return before.following(measurement, errors)
    return TankFrame.of(measurement, errors, device=torch.device(pick_device(options.device)))


TANK = {name: partial(frames, name) for name in _MADE}
"""By name: functions that yield an image of each frame."""
