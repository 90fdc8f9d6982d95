"""Linear images of electrode data as methods: one product a frame, after a matrix that is made once for a tank."""

from collections.abc import Iterator
from functools import lru_cache, partial
from time import perf_counter

import torch

from eitlens.classical.greit import fit_greit
from eitlens.classical.linear import LinearImage
from eitlens.classical.reading_errors import ReadingNoise
from eitlens.device import pick_device
from eitlens.electrodes import Electrodes, Pattern
from eitlens.errors import InputError, prefix_errors
from eitlens.imaging.options import Options
from eitlens.imaging.reconstruction import Reconstruction
from eitlens.measure import Measurement
from eitlens.measure.readings import ElectrodeMeasurement
from eitlens.threads import free_cores_only

_GREIT = "greit"
_FRAMES = 256  # at a time
_TANKS = 8  # matrices that are kept: 30 MB each with 32 electrodes
_DEFAULT_FLOOR = ReadingNoise().floor


def frames(name: str, measurement: Measurement, options: Options) -> Iterator[Reconstruction]:
    """Images of all frames, δσ in S/m, with one strength for all: chosen by generalised cross validation, or given.

    Where the noise level is given (relative to the root mean square of the empty tank's readings) the strength is the
    one that explains the data to it. GREIT has its own rule, a noise figure of ½.
    """
    options.only(name, "strength")
    if not isinstance(measurement, ElectrodeMeasurement):
        raise InputError(
            f"{name}: it images readings of electrodes in volts, got potentials at points of the boundary: use dsm"
        )
    start = perf_counter()
    with prefix_errors(measurement.source), free_cores_only():
        image = _strengthened(name, measurement, options).to(pick_device(options.device))
        data = image.differences(measurement)
        deviation = image.deviation(options.n)
    domain, noise = measurement.domain.at(options.n or image.tank.model.cells), image.noise
    for part in torch.split(data, _FRAMES):
        found = image(part, options.n).cpu()
        seconds = (perf_counter() - start) / len(part)
        for one in found:
            spread = None if deviation is None else deviation.cpu()
            yield Reconstruction(one, spread, domain, noise, None, (), name, "", seconds, quantity="change")
        start = perf_counter()


def _strengthened(name: str, measurement: ElectrodeMeasurement, options: Options) -> LinearImage:
    """The matrix of the tank with the strength for these frames."""
    image, data = fitted(name, measurement, options.tau), None
    data = image.differences(measurement)
    if options.strength is not None:
        return image.chosen(data, options.strength)
    if name == _GREIT:
        return image.chosen(data, image.factor)
    return image.chosen(data, "gcv" if options.tau is None else "discrepancy")


def fitted(name: str, measurement: ElectrodeMeasurement, tau: float | None = None) -> LinearImage:
    """The matrix for the tank of a measurement, remembered: the same electrodes, pattern and reference need it once."""
    own = (
        measurement.voltages.mean(0, keepdim=True)
        if measurement.reference is None
        else torch.where(measurement.present, 0.0, torch.nan)[None]
    )
    reference = None if measurement.reference is None else _Numbers(measurement.reference)
    described = (measurement.conductivity, measurement.height)
    key = (measurement.electrodes, measurement.pattern, _Numbers(own), reference, *described)
    return _fitted(name, tau, *key)


class _Numbers:
    """A table that is equal to another with the same numbers."""

    def __init__(self, table: torch.Tensor) -> None:
        self.table, self._content = table, table.numpy().tobytes()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Numbers) and self._content == other._content

    def __hash__(self) -> int:
        return hash(self._content)


@lru_cache(maxsize=_TANKS)
def _fitted(
    name: str,
    tau: float | None,
    electrodes: Electrodes,
    pattern: Pattern,
    voltages: _Numbers,
    reference: _Numbers | None,
    conductivity: float | None,
    height: float,
) -> LinearImage:
    known = None if reference is None else reference.table
    one = ElectrodeMeasurement(electrodes, pattern, voltages.table, known, conductivity, height)
    noise = ReadingNoise(floor=tau or _DEFAULT_FLOOR)
    if name == _GREIT:
        return fit_greit(one, noise=noise)
    return LinearImage.fit(one, name, 1.0, noise=noise)


LINEAR = {name: partial(frames, name) for name in ("tikhonov", "noser", "laplace", "gaussian", _GREIT)}
"""By name: functions that yield an image of each frame."""
