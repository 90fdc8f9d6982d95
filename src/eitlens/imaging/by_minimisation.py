"""Minimisation (7) of the paper as an imaging method: what a trained network is compared with."""

from time import perf_counter

from eitlens.classical.minimisation import MOST_STEPS, minimise
from eitlens.classical.penalties import Regulariser
from eitlens.domain.bodies import SQUARE
from eitlens.imaging.options import Options
from eitlens.imaging.reconstruction import Reconstruction
from eitlens.measure import Measurement
from eitlens.measure.base import Flag

# χ² a coefficient from which on the noise does not explain what is left.
_WORST = 2.0


def total_variation(measurement: Measurement, options: Options) -> Reconstruction:
    """σ by minimisation (7) with total variation; see `eitlens.minimise`."""
    return _minimised(measurement, options, "minimise", "tv")


def smooth(measurement: Measurement, options: Options) -> Reconstruction:
    """σ by minimisation (7) with the H¹ norm; see `eitlens.minimise`."""
    return _minimised(measurement, options, "minimise-h1", "h1")


def _minimised(
    measurement: Measurement, options: Options, name: str, regulariser: Regulariser
) -> Reconstruction:
    options.only(name, "strength", "steps")
    start = perf_counter()
    domain = SQUARE if options.n is None else SQUARE.at(options.n)
    steps = MOST_STEPS if options.steps is None else options.steps
    found = minimise(measurement, regulariser, options.tau, options.strength, steps, domain=domain)
    doubts = []
    if found.misfit > _WORST:
        text = f"the image misses the data by {found.misfit**0.5:.2g} times their noise"
        doubts = [Flag("noise", f"{text}: give the noise level with --tau")]
    return Reconstruction(
        found.image,
        None,
        domain,
        found.noise,
        None,
        tuple(doubts),
        name,
        "",
        perf_counter() - start,
        quantity="conductivity",
    )
