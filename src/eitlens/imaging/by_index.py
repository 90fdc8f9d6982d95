"""The index function of Theorem 1 as an imaging method: sharp where nearly all currents are measured."""

from time import perf_counter

from eitlens.classical import index_function, picard_sum
from eitlens.errors import InputError
from eitlens.forward.currents import CurrentsConfig, arclength
from eitlens.forward.ntd import Eigenpairs, eigenpairs
from eitlens.imaging.calibration import Calibration
from eitlens.imaging.options import Options
from eitlens.imaging.reconstruction import Reconstruction
from eitlens.imaging.warnings import input_flags
from eitlens.measure.base import Flag, Measurement
from eitlens.threads import free_cores_only

_CELLS = 200  # the paper's
_MOST, _FEWEST = (
    32,
    6,
)  # currents, of which there are two a wave: finer waves reach no deeper than a tenth of the body
_PAIRS = 4  # eigenvalues above the noise: with fewer the sum is small nearly everywhere
_SHARP = 8  # eigenvalues, with fewer of which the index is large on more than the inclusions


@free_cores_only()
def index(measurement: Measurement, options: Options) -> Reconstruction:
    """The index of Theorem 1, from as many waves of current along the boundary as the measurement tells of.

    It needs the whole map from currents to potentials: all electrodes drive, or many currents were injected.
    """
    options.only("index")
    start = perf_counter()
    domain = measurement.domain.at(_CELLS if options.n is None else options.n)
    count = min(_MOST, measurement.electrodes.count - 1)
    try:
        prepared = measurement.prepare(CurrentsConfig("arclength", count), _FEWEST, domain)
    except InputError as error:
        raise InputError(
            f"index: Theorem 1 needs the potentials of at least {_FEWEST} waves of current along the boundary, "
            f"measure more currents or use --method dsm ({error})"
        ) from None
    waves = arclength(domain, len(prepared.difference))
    found = eigenpairs(domain.boundary_weight * prepared.difference @ waves.mT, 1.0)
    pairs = Eigenpairs(found.values, found.functions @ waves, found.floor)
    used = int((pairs.values.abs() > pairs.floor).sum())
    if used < _PAIRS:
        raise InputError(
            f"index: {used} eigenvalues stand above the noise and Theorem 1 needs {_PAIRS}: measure more currents or "
            "with less noise, or use --method dsm; inclusions of both kinds, better and worse than the body, look like "
            "noise here"
        )
    image = index_function(picard_sum(domain, pairs)).where(domain.inside(), 0.0)
    noise = prepared.noise if options.tau is None else options.tau
    doubts = [*input_flags(prepared, noise, Calibration())]
    if used < _SHARP:
        text = (
            f"only {used} eigenvalues stand above the noise: the index is large on more than the inclusions"
        )
        doubts.append(Flag("currents", text))
    seconds = perf_counter() - start
    return Reconstruction(
        image, None, domain, noise, None, tuple(doubts), "index", "", seconds, quantity="index"
    )
