"""From readings of electrodes to f - f0 of any currents: what the readings say of the map Λ_σ - Λ_σ0, by estimation.

To first order in the change δσ of the conductivity, a stimulation with the density d and a channel that reads with the
density c (a unit current through its electrodes) give

    δV = ∫ c (Λ_σ - Λ_σ0) d = -∫ δσ ∇φ_d · ∇φ_c,

φ_d and φ_c the potentials of the empty body. Channels that are not read, such as those at electrodes that drive, are
no gaps in a function that could be interpolated; but the δσ that explains the others gives them too. So δσ is
estimated from all readings by least squares with a Gaussian prior, and its data of the wanted currents are the answer.
They need no more than the readings tell: where two δσ have the same readings, their data are alike. How far the prior
is followed is chosen by generalised cross validation, which also tells the noise.

The prior is white noise whose variance at a place is one over the root of the sum of squares of the readings' response
to it, as in the exponent ½ of NOSER: with an even variance what is seen is drawn to the electrodes, where a little
change tells much, and the data are a little worse. It matters more that the strength of the prior has a lower bound:
without one, readings of little noise are trusted to better than the first order is, and circles are missed
(validation/electrode_data.py has the figures).

The currents are taken to be even under an electrode, and in as many waves along the boundary as there are electrodes.

References: G. H. Golub, M. Heath, G. Wahba, "Generalized cross-validation as a method for choosing a good ridge
parameter", Technometrics 21 (1979); M. Cheney, D. Isaacson, J. C. Newell, S. Simske, J. Goble, "NOSER: an algorithm
for solving the inverse conductivity problem", International Journal of Imaging Systems and Technology 2 (1990).
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import torch
from jaxtyping import Bool, Float64
from torch import Tensor

from eitlens.domain import Domain
from eitlens.electrodes import Electrodes, Pattern, simulate_readings
from eitlens.errors import InputError
from eitlens.forward.currents import CurrentsConfig, arclength, project
from eitlens.measure.base import Flag, Prepared
from eitlens.memory import cached
from eitlens.phantom import Phantom

if TYPE_CHECKING:
    from eitlens.measure.readings import ElectrodeMeasurement

_CELLS = 48  # a side of the grid of δσ: its squares are smaller than what any electrode tells apart
_MOST_WAVES = 48  # of either kind; finer ones reach no deeper than a hundredth of the perimeter
# Of the prior, that are tried, over the largest σ²: a weaker one would trust the first order, which is a few percent
# off, to better than that.
_STRENGTHS = torch.logspace(-4, 2, 49, dtype=torch.float64)
_EXPONENT = 0.25  # of the sum of squares of the readings' response to a place, for the prior's standard deviation there
_KNOWN = 0.5  # a current is read if the readings tell so much of the variance that its data have in the prior
_UNEXPLAINED = (
    0.3  # of the change: measured tanks leave up to 0.12 (KTC2023), a wrong pattern leaves 0.5 to 1
)
_WIDE = 1.5  # times the mean step from electrode to electrode: one is missing


class Readout(NamedTuple):
    """The readings and the data of the wanted currents as linear maps of δσ, at the nodes of a grid."""

    readings: Float64[Tensor, "readings nodes"]
    wanted: Float64[Tensor, "currents waves nodes"]


def estimated(
    measurement: "ElectrodeMeasurement", wanted: CurrentsConfig, fewest: int, domain: Domain
) -> Prepared:
    """The data of the wanted currents that the readings of the first frame tell."""
    from eitlens.measure.plausible import unit_warning

    electrodes, pattern = measurement.electrodes, measurement.pattern
    change, doubts = _change(measurement)
    present = change.isfinite()
    if not bool(present.any()):
        raise InputError("readings: none is there in both the frame and the reference")
    parts = _parts(electrodes, pattern, wanted, domain, tuple(present.tolist()))
    fit = _fitted(parts, change[present])
    at_best, now = (
        int((parts.told(surely) > _KNOWN).to(torch.int64).cumprod(0).sum()) for surely in fit.surely
    )
    if at_best < fewest:
        raise InputError(
            f"stimulation: the {len(pattern.stimulation)} given tell too little of current {at_best + 1} of the "
            f"{wanted.family} family, which the model reads: drive with more pairs of electrodes"
        )
    count = max(now, fewest)
    data = project(torch.einsum("lwr,r->lw", parts.wanted[:count], fit.amplitudes) @ parts.basis)
    seen = torch.ones(data.shape, dtype=torch.bool)
    wrong = unit_warning(measurement)
    doubts += () if wrong is None else (Flag("units", wrong),)
    found = (*doubts, *_doubts(electrodes, _used(pattern, present), count, wanted.count, fit.noise))
    # An inclusion in the middle has no data of cos 2θ, only errors: each current counts by the size of its data.
    weights = data.norm(dim=1)
    return Prepared(
        data, seen, fit.noise, 0.0, 0.0, 0.0, 0, domain, found, weights, measurement.conductivity or 1.0
    )


def _doubts(
    electrodes: Electrodes, used: Bool[Tensor, "electrodes"], count: int, wanted: int, noise: float
) -> Iterator[Flag]:
    """What to think of the data when the image is looked at."""
    places, around = electrodes.places[used].sort().values, electrodes.body.perimeter
    gap = float(torch.diff(torch.cat([places, places[:1] + around])).max())
    if gap > _WIDE * around / electrodes.count:
        yield Flag(
            "gap", f"{gap / around:.0%} of the boundary has no working electrode: little is seen there"
        )
    if noise > _UNEXPLAINED:
        yield Flag(
            "noise",
            f"no change of conductivity explains {noise:.0%} of the change of the readings: is it nothing but noise, "
            "or are the pattern or the electrodes others?",
        )
    elif count < wanted:
        yield Flag(
            "currents",
            f"the readings tell of {count} of the {wanted} currents that are read: small things are lost",
        )


def _used(pattern: Pattern, present: Bool[Tensor, "readings"]) -> Bool[Tensor, "electrodes"]:
    """The electrodes that drive or are read in some reading that is there."""
    stimulation, channel = torch.nonzero(pattern.mask)[present].unbind(1)
    return ((pattern.stimulation[stimulation] != 0) | (pattern.channels[stimulation, channel] != 0)).any(0)


def _change(measurement: "ElectrodeMeasurement") -> tuple[Float64[Tensor, "readings"], tuple[Flag, ...]]:
    """U - U0 of a body of conductivity 1, one unit high, for the first frame."""
    frame, baseline = measurement.voltages[0], measurement.baseline
    if baseline is None:
        return _change_from_model(measurement)
    known = baseline if bool((baseline.nan_to_num() != 0).any()) else frame
    model = uniform_readings(measurement.electrodes, measurement.pattern)
    seen = known.isfinite()
    fitted = float((model[seen] @ model[seen]) / (model[seen] @ known[seen])) / measurement.height
    sigma = abs(fitted) if measurement.conductivity is None else measurement.conductivity
    turned = known is baseline and fitted < 0
    doubt = Flag("contrast", "the reference is the negative of what the pattern says: check the polarity")
    return (frame - baseline) * sigma * measurement.height, (doubt,) if turned else ()


def _change_from_model(
    measurement: "ElectrodeMeasurement",
) -> tuple[Float64[Tensor, "readings"], tuple[Flag, ...]]:
    """U - U0 where U0 is that of a computed empty body: of the given conductivity, or of the one that fits best."""
    from eitlens.measure.tank import fit_tank  # it takes a measurement, whose file takes this one

    electrodes, height, sigma = measurement.electrodes, measurement.height, measurement.conductivity
    if sigma is None:
        fit = fit_tank(measurement.frame(0))
        sigma, model = fit.conductivity, fit.readings
    else:
        model = simulate_readings(electrodes, measurement.pattern, Phantom([], outside=sigma), height)
    text = f"no reference: compared with a computed empty body of {sigma:.3g} S/m, and what it lacks is in the image"
    return (measurement.voltages[0] - model) * sigma * height, (Flag("reference", text),)


class Parts(NamedTuple):
    """The singular values of the readings as a function of δσ, with the data of the wanted currents beside them.

    Attributes:
        left: orthonormal readings.
        size: the singular values, in units of the prior's standard deviation.
        wanted: the data of each current, in waves along the boundary, of each right singular vector.
        variance: of the data of each current, in the prior.
        basis: the waves at the boundary nodes.
    """

    left: Float64[Tensor, "readings rank"]
    size: Float64[Tensor, "rank"]
    wanted: Float64[Tensor, "currents waves rank"]
    variance: Float64[Tensor, "currents"]
    basis: Float64[Tensor, "waves boundary"]

    def told(self, surely: Float64[Tensor, "rank"]) -> Float64[Tensor, "currents"]:
        """The part of the prior variance of each current's data that the readings take away."""
        return (self.wanted.square() @ surely).sum(1) / self.variance


@cached
def _parts(
    electrodes: Electrodes,
    pattern: Pattern,
    wanted: CurrentsConfig,
    domain: Domain,
    present: tuple[bool, ...],
) -> Parts:
    """What depends on the tank alone: computed once for all frames that have the same readings."""
    waves = _waves(electrodes, domain)
    maps = readout(electrodes, pattern, wanted.build(domain), domain, waves)
    rows = maps.readings[torch.tensor(present)]
    spread = rows.square().sum(0).clamp(min=1e-300) ** -_EXPONENT
    left, size, right = torch.linalg.svd(rows * spread, full_matrices=False)
    data = maps.wanted * spread
    variance = data.square().sum((1, 2))
    return Parts(left, size, data @ right.mT, variance, arclength(domain, 2 * waves))


class Fit(NamedTuple):
    """δσ by the amplitudes of the right singular vectors, and the noise in the readings.

    `surely` says how surely each amplitude is told, from 0 to 1: by readings without noise, and by these.
    """

    amplitudes: Float64[Tensor, "rank"]
    surely: tuple[Float64[Tensor, "rank"], Float64[Tensor, "rank"]]
    noise: float


def _fitted(parts: Parts, change: Float64[Tensor, "readings"]) -> Fit:
    """The ridge regression whose strength generalised cross validation chooses."""
    size, part = parts.size, parts.left.mT @ change
    kept = size.square() / (size.square() + _STRENGTHS[:, None] * size[0].square())
    outside = (change.square().sum() - part.square().sum()).clamp(min=0)
    rest = ((1 - kept) * part).square().sum(1) + outside
    free = len(change) - kept.sum(1)
    best = int((rest / free.square()).argmin())
    total = change.square().mean().sqrt().clamp(min=1e-300)
    noise = float((rest[best] / free[best]).sqrt() / total)
    return Fit(kept[best] / size.clamp(min=1e-300) * part, (kept[0], kept[best]), min(noise, 1.0))


def readout(electrodes: Electrodes, pattern: Pattern, wanted: Tensor, domain: Domain, waves: int) -> Readout:
    """The maps from δσ, in a body of conductivity 1, to readings and to the data of currents at the boundary nodes."""
    grid = domain.at(_CELLS)
    inside = grid.clearance(grid.nodes()) > 0
    step = grid.nodes()[1, 1] - grid.nodes()[0, 0]
    _, dx, dy = grid.extend_with_gradient(arclength(grid, 2 * waves))
    slope = torch.stack([dx[:, inside], dy[:, inside]], -1) * step.prod().sqrt()
    drive, read = (
        wave_densities(electrodes, waves, pattern.stimulation),
        _channels(electrodes, pattern, waves),
    )
    u = torch.einsum("lw,wpc->lpc", drive, slope)
    rows = [-(torch.einsum("mw,wpc->mpc", part, slope) * u[k]).sum(-1) for k, part in enumerate(read)]
    coefficients = domain.boundary_weight * wanted @ arclength(domain, 2 * waves).mT
    g = torch.einsum("lw,wpc->lpc", coefficients, slope)
    return Readout(torch.cat(rows), -torch.einsum("lpc,wpc->lwp", g, slope))


def _waves(electrodes: Electrodes, domain: Domain) -> int:
    most = min(domain.at(_CELLS).boundary_size, domain.boundary_size) // 2 - 1
    return min(electrodes.count, _MOST_WAVES, most)


def _channels(electrodes: Electrodes, pattern: Pattern, waves: int) -> list[Tensor]:
    """The densities of the channels that are read, for each stimulation."""
    return [
        wave_densities(electrodes, waves, rows[kept])
        for rows, kept in zip(pattern.channels, pattern.mask, strict=True)
    ]


def wave_densities(
    electrodes: Electrodes, waves: int, rows: Float64[Tensor, "rows electrodes"]
) -> Float64[Tensor, "rows waves"]:
    """The coefficients of rows of currents, even under each electrode, in the waves of `currents.arclength`."""
    around = electrodes.body.perimeter
    kappa = torch.arange(1, waves + 1, dtype=torch.float64) * (2 * torch.pi / around)
    phase, half = kappa[:, None] * electrodes.places, kappa[:, None] * electrodes.widths / 2
    even = torch.sinc(half / torch.pi) * (2 / around) ** 0.5
    table = torch.stack([torch.cos(phase) * even, torch.sin(phase) * even], 1).flatten(0, 1)
    return rows @ table.mT


@cached
def uniform_readings(electrodes: Electrodes, pattern: Pattern) -> Float64[Tensor, "readings"]:
    """The readings of the empty body of conductivity 1, one unit high, with the contact impedances given."""
    return simulate_readings(electrodes, pattern, Phantom([]))
