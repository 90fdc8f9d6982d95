"""From a measurement to an image a frame, by any method, lazily."""

from collections.abc import Iterator

from eitlens.checks import shown
from eitlens.errors import InputError
from eitlens.imaging.methods import METHODS, Batched, Method
from eitlens.imaging.options import Options
from eitlens.imaging.reconstruction import Reconstruction
from eitlens.measure import Measurement

_PLAIN = Options()


def images(
    measurement: Measurement, method: str | Method = "network", options: Options = _PLAIN
) -> Iterator[Reconstruction]:
    """Image every frame of a measurement, in order; each image is made when it is asked for.

    A method is one of `METHODS` by name, or a function of your own `(Measurement, Options) -> Reconstruction`. One that
    images many frames at once is a `Batched` function `(Measurement, Options) -> Iterator[Reconstruction]`.

    >>> tank, body = eit.Disk(32, scale=0.1), eit.Phantom([eit.circle((0.4, 0.0), 0.2)])
    >>> electrodes, pattern = eit.Electrodes.even(tank, 16), eit.Pattern.named("adjacent", 16)
    >>> volts = eit.simulate_readings(electrodes, pattern, [eit.Phantom([]), body])
    >>> data = eit.Measurement.of_electrodes(electrodes, pattern, volts, volts[:1])
    >>> [round(float(found.image.max())) for found in eit.imaging.images(data, "dsm")]
    [0, 1]
    """
    if not isinstance(measurement, Measurement):
        raise InputError(
            f"expected a Measurement, got a {type(measurement).__name__}: eitlens.measure.files.read(path) reads one"
        )
    if not isinstance(options, Options):
        raise InputError(f"options: expected eitlens.imaging.Options, got {shown(options)}")
    chosen = METHODS[method] if isinstance(method, str) else method
    if not callable(chosen):
        raise InputError(f"method: expected a name or a function, got {shown(method)}")
    if isinstance(chosen, Batched):
        return chosen.frames(measurement, options)
    return (chosen(measurement.frame(k), options) for k in range(measurement.frames))
