"""The D-bar method as an imaging method: absolute or difference images of bodies with many currents."""

from time import perf_counter

from eitlens.classical.d_bar import dbar as compute
from eitlens.errors import InputError
from eitlens.imaging.options import Options
from eitlens.imaging.reconstruction import Reconstruction
from eitlens.measure import Measurement
from eitlens.measure.base import Flag

# R below which the image has one bright and one dark half at best.
_BLUNT = 1.5


def dbar(measurement: Measurement, options: Options) -> Reconstruction:
    """σ by the D-bar method, cut off where the noise begins; see `eitlens.dbar`."""
    options.only("dbar")
    if options.tau is not None:
        raise InputError("dbar: it finds the noise in the readings: leave out --tau")
    start = perf_counter()
    domain = None if options.n is None else measurement.domain.at(options.n)
    found = compute(measurement, domain=domain)
    doubts: tuple[Flag, ...] = ()
    if found.radius < _BLUNT:
        text = f"the scattering transform stands above the noise only up to |k| = {found.radius:.2g}: a blunt image"
        doubts = (Flag("noise", text),)
    seconds = perf_counter() - start
    return Reconstruction(
        found.image,
        None,
        found.domain,
        found.noise,
        None,
        doubts,
        "dbar",
        "",
        seconds,
        quantity="conductivity",
    )
