"""From readings of electrodes to f - f0 of any currents: what the readings say of the map Λ_σ - Λ_σ0, by estimation.

To first order in the change δσ of the conductivity, a stimulation with the density d and a channel that reads with the
density c (a unit current through its electrodes) give

    δV = ∫ c (Λ_σ - Λ_σ0) d = -∫ δσ ∇φ_d · ∇φ_c,

φ_d and φ_c the potentials of the empty body. Channels that are not read, such as those at electrodes that drive, are
no gaps in a function that could be interpolated; but the δσ that explains the others gives them too. So δσ is
estimated from all readings by least squares with a Gaussian prior (white noise), and its data of the wanted currents
are the answer. They need no more than the readings tell: where two δσ have the same readings, their data are alike.
How far the prior is followed is chosen by generalised cross validation, which also tells the noise.

The currents are taken to be even under an electrode, and in as many waves along the boundary as there are electrodes.

Reference: G. H. Golub, M. Heath, G. Wahba, "Generalized cross-validation as a method for choosing a good ridge
parameter", Technometrics 21 (1979).
"""

from typing import TYPE_CHECKING, NamedTuple

import torch
from jaxtyping import Float64
from torch import Tensor

from eitlens.domain import Domain
from eitlens.electrodes import Electrodes, Pattern
from eitlens.errors import InputError
from eitlens.forward.currents import CurrentsConfig, arclength, project
from eitlens.measure.base import Prepared

if TYPE_CHECKING:
    from eitlens.measure.readings import ElectrodeMeasurement

_CELLS = 48  # a side of the grid of δσ: its squares are smaller than what any electrode tells apart
_MOST_WAVES = 48  # of either kind; finer ones reach no deeper than a hundredth of the perimeter
_STRENGTHS = torch.logspace(
    -10, 2, 49, dtype=torch.float64
)  # of the prior, that are tried, over the largest σ²
_KNOWN = 0.5  # a current is read if the readings tell so much of the variance that its data have in the prior


class Readout(NamedTuple):
    """The readings and the data of the wanted currents as linear maps of δσ, at the nodes of a grid."""

    readings: Float64[Tensor, "readings nodes"]
    wanted: Float64[Tensor, "currents waves nodes"]


def estimated(
    measurement: "ElectrodeMeasurement", wanted: CurrentsConfig, fewest: int, domain: Domain
) -> Prepared:
    """The data of the wanted currents that the readings of the first frame tell."""
    electrodes, pattern = measurement.electrodes, measurement.pattern
    change, sigma = _change(measurement)
    present = change.isfinite()
    if not bool(present.any()):
        raise InputError("readings: none is there in both the frame and the reference")
    waves = _waves(electrodes, domain)
    maps = readout(electrodes, pattern, wanted.build(domain), domain, waves)
    fit = fitted(maps.readings[present], change[present])
    told = _told(maps.wanted, fit)
    count = int((told > _KNOWN).to(torch.int64).cumprod(0).sum())
    if count < fewest:
        raise InputError(
            f"stimulation: the {len(pattern.stimulation)} given tell too little of current {count + 1} of the "
            f"{wanted.family} family, which the model reads: drive with more pairs of electrodes"
        )
    basis = arclength(domain, 2 * waves)
    data = torch.einsum("lwp,p,wn->ln", maps.wanted[:count], fit.change, basis)
    seen = torch.ones(data.shape, dtype=torch.bool)
    gap = float((torch.diff(electrodes.places.sort().values)).max()) if electrodes.count > 1 else 0.0
    unread = max(min(wanted.count, len(pattern.basis().stimulations)) - count, 0)
    return Prepared(project(data), seen, fit.noise, gap, 0.0, 0.0, unread, domain, sigma)


def _change(measurement: "ElectrodeMeasurement") -> tuple[Float64[Tensor, "readings"], float]:
    """U - U0 of a body of conductivity 1, one unit high, for the first frame, nan where it is missing; and σ0."""
    frame, baseline = measurement.voltages[0], measurement.baseline
    model = uniform_readings(measurement.electrodes, measurement.pattern)
    sigma = measurement.conductivity
    known = frame if baseline is None or not bool((baseline.nan_to_num() != 0).any()) else baseline
    if sigma is None:
        seen = known.isfinite()
        sigma = float((model[seen] @ model[seen]) / (model[seen] @ known[seen])) / measurement.height
    scale = abs(sigma) * measurement.height
    change = frame * scale - model if baseline is None else (frame - baseline) * scale
    return change, abs(sigma)


class Fit(NamedTuple):
    """δσ, the directions in which the readings tell it, how surely, and the noise in them."""

    change: Float64[Tensor, "nodes"]
    directions: Float64[Tensor, "nodes rank"]
    surely: Float64[Tensor, "rank"]
    noise: float


def fitted(rows: Float64[Tensor, "readings nodes"], change: Float64[Tensor, "readings"]) -> Fit:
    """The ridge regression whose strength generalised cross validation chooses."""
    left, size, right = torch.linalg.svd(rows, full_matrices=False)
    part = left.mT @ change
    strength = _STRENGTHS[:, None] * size[0].square()
    kept = size.square() / (size.square() + strength)
    outside = (change.square().sum() - part.square().sum()).clamp(min=0)
    rest = ((1 - kept) * part).square().sum(1) + outside
    free = len(change) - kept.sum(1)
    best = int((rest / free.square()).argmin())
    total = change.square().mean().sqrt().clamp(min=1e-300)
    noise = float((rest[best] / free[best]).sqrt() / total)
    found = right.mT @ (kept[best] / size.clamp(min=1e-300) * part)
    return Fit(found, right.mT, kept[best], min(noise, 1.0))


def _told(wanted: Float64[Tensor, "currents waves nodes"], fit: Fit) -> Float64[Tensor, "currents"]:
    """The part of the prior variance of each current's data that the readings take away."""
    seen = (wanted @ fit.directions).square() @ fit.surely
    return seen.sum(1) / wanted.square().sum((1, 2))


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


def uniform_readings(electrodes: Electrodes, pattern: Pattern) -> Float64[Tensor, "readings"]:
    """The readings of the empty body of conductivity 1, one unit high, without contact impedance."""
    from eitlens.electrodes import simulate_readings
    from eitlens.phantom import Phantom

    return simulate_readings(electrodes, pattern, Phantom([]))
