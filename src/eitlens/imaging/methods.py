"""Every way to an image, by name: `network`, `dsm`, `posterior`, `index`, and whatever joins `METHODS` with a line.

A method is a function `(Measurement, Options) -> Reconstruction` that images the first frame. A method that is faster
with many frames at once is a function `(Measurement, Options) -> Iterator[Reconstruction]` that yields an image a
frame, in order, and joins as `Batched(function)`. `eitlens.imaging.images` runs either kind over a sequence. A function
of one frame is called for each frame, with the same electrodes and pattern objects: what depends on these alone is best
kept by `eitlens.memory.cached`. A method calls `options.only(name, …)` with the options that it takes.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import perf_counter

from jaxtyping import Float64
from torch import Tensor

from eitlens import weights
from eitlens.classical import direct_sampling
from eitlens.domain import Disk, Domain
from eitlens.errors import InputError
from eitlens.forward.base import Data
from eitlens.forward.currents import CurrentsConfig
from eitlens.imaging import by_minimisation
from eitlens.imaging.by_dbar import dbar
from eitlens.imaging.by_index import index
from eitlens.imaging.by_linear import LINEAR
from eitlens.imaging.by_posterior import posterior
from eitlens.imaging.by_tank import TANK
from eitlens.imaging.calibration import Calibration
from eitlens.imaging.imager import load
from eitlens.imaging.options import Options
from eitlens.imaging.reconstruction import Reconstruction
from eitlens.imaging.tank_imager import TankImager
from eitlens.imaging.warnings import input_flags
from eitlens.measure import Measurement
from eitlens.measure.readings import ElectrodeMeasurement
from eitlens.registry import Registry
from eitlens.threads import free_cores_only

_CELLS, _CURRENTS = 200, 3  # the paper's

Method = Callable[[Measurement, Options], Reconstruction]


@dataclass(frozen=True)
class Batched:
    """A method that images all frames of a measurement, lazily; called like any other it images the first frame."""

    frames: Callable[[Measurement, Options], Iterator[Reconstruction]]

    def __call__(self, measurement: Measurement, options: Options) -> Reconstruction:
        """Image the first frame."""
        return next(self.frames(measurement.frame(0), options))


def network(measurement: Measurement, options: Options) -> Iterator[Reconstruction]:
    """A trained network, calibrated: `TankImager` for readings of electrodes on a round tank, `Imager` otherwise."""
    if _is_for_tanks(measurement, options.model):
        options.only("the network for tanks", "model", "refine")
        if options.tau is not None:
            raise InputError("the network for tanks has its own measure of the noise: leave out --tau")
        imager = TankImager.load(options.model, options.device)
        yield from imager.frames(measurement, options.n, options.refine, options.progress)
        return
    options.only("network", "model", "refine", "symmetries")
    other = load(options.model, options.device, options.symmetries)
    for k in range(measurement.frames):
        yield other(measurement.frame(k), refine=options.refine, tau=options.tau, n=options.n)


def _is_for_tanks(measurement: Measurement, model: str | None) -> bool:
    """Whether the network named is one for tanks; where none is, whether the measurement is of a round tank."""
    if model is not None:
        return (weights.find(model) / weights.MAPS).exists()
    return isinstance(measurement, ElectrodeMeasurement) and measurement.domain.name == Disk.name


@free_cores_only()
def dsm(measurement: Measurement, options: Options) -> Reconstruction:
    """Direct sampling of up to three cosine currents: no training, no probability."""
    options.only("dsm")
    start = perf_counter()
    domain = measurement.domain.at(_CELLS if options.n is None else options.n)
    prepared = measurement.prepare(CurrentsConfig("cosine", _CURRENTS), 1, domain)
    image = scaled_index(domain, prepared.difference, prepared.weights)
    noise = prepared.noise if options.tau is None else options.tau
    doubts = tuple(input_flags(prepared, noise, Calibration()))
    seconds = perf_counter() - start
    return Reconstruction(image, None, domain, noise, None, doubts, "dsm", "", seconds, quantity="index")


def scaled_index(domain: Domain, difference: Data, weights: Tensor | None = None) -> Float64[Tensor, "nx ny"]:
    """The index of direct sampling over its largest value, as an image from 0 to 1."""
    index = direct_sampling(domain, difference, weights=weights)
    return index / index.max().clamp(min=1e-300)  # without data it is 0


_LINEAR = {name: Batched(function) for name, function in LINEAR.items()}
_TANK = {name: Batched(function) for name, function in TANK.items()}
_OTHERS = {
    "dbar": dbar,
    "minimise": by_minimisation.total_variation,
    "minimise-h1": by_minimisation.smooth,
}

METHODS: Registry[Method] = Registry(
    "method",
    {
        "network": Batched(network),
        "dsm": dsm,
        "posterior": posterior,
        "index": index,
        **_LINEAR,
        **_TANK,
        **_OTHERS,
    },
)
