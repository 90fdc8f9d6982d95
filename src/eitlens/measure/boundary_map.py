"""From readings of electrodes to the Neumann-to-Dirichlet map: what the inclusions change in it, as a matrix.

The body is taken to the unit disk, and the matrix M is between the waves cos kθ / √π, k = 1 … K, and then sin kθ / √π.
Electrodes are exact (`electrodes/waves.py`): with C the waves in the density that currents through electrodes of the
empty tank have, and H the density that waves in the potential draw from them, a current I and a channel c read

    δV = (C c)ᵀ N (C I),        N = M (1 + HM)⁻¹,    so that    M = (1 - NH)⁻¹ N.

N is symmetric, and linear in the readings: it is found by least squares with a prior for its entries, the strength of
which generalised cross validation chooses. An entry between the waves i and j has the variance that it would have if
the conductivity changed by white noise within the radius ρ, ρ^{2(i+j-1)} / (i + j - 1) but for a factor. So readings
that are missing, such as those of electrodes that drive, leave an entry where the others and the prior have it.
"""

from typing import TYPE_CHECKING, NamedTuple

import torch
from jaxtyping import Float64
from torch import Tensor

from eitlens.domain import Disk
from eitlens.electrodes.disk import onto
from eitlens.electrodes.waves import EmptyTank, empty_tank
from eitlens.errors import InputError
from eitlens.measure.tank import TankFit, fit_tank

if TYPE_CHECKING:
    from eitlens.measure.readings import ElectrodeMeasurement

Waves = Float64[Tensor, "waves waves"]
_MOST = 16  # waves of either kind: half as many as electrodes, and not so many that the fit takes minutes
_STRENGTHS = torch.logspace(-10, 2, 49, dtype=torch.float64)  # of the prior, tried, over the largest σ²
_DRAWS = 8  # whose spread is known to a quarter
_REACH = 0.9  # ρ: inclusions do not touch the boundary


class BoundaryMap(NamedTuple):
    """What the inclusions change in the Neumann-to-Dirichlet map.

    Attributes:
        change: M, for a body of conductivity 1.
        draws: (S, 2K, 2K), other maps that the readings allow as well, drawn from the posterior of the fit.
        noise: of the readings, over the root mean square of what changed in them.
        conductivity: σ0 of the body in S/m, given or fitted.
    """

    change: Waves
    draws: Float64[Tensor, "draws waves waves"]
    noise: float
    conductivity: float


def boundary_map(measurement: "ElectrodeMeasurement") -> BoundaryMap:
    """Estimate M from the first frame; without a reference, against the empty tank that fits the frame best."""
    count = min(measurement.electrodes.count // 2, _MOST)
    fit = fit_tank(measurement)
    sigma = fit.conductivity if measurement.conductivity is None else measurement.conductivity
    tank = _tank(fit, sigma, count)
    base = fit.readings if measurement.baseline is None else measurement.baseline
    values = (measurement.voltages[0] - base) * (fit.polarity * sigma * measurement.height)
    present = values.isfinite()
    if not bool(present.any()) or not bool(values[present].any()):
        raise InputError(
            "readings: nothing changed from the reference to the frame: there is nothing to image"
        )
    rows, one, other = _design(measurement, tank)
    found = _fitted(rows[present], values[present])
    entries = torch.cat([found.change[None], _drawn(found)]) * _scale(one, other, count)
    inner = torch.zeros(len(entries), 2 * count, 2 * count, dtype=torch.float64)
    inner[:, one, other] = entries
    inner[:, other, one] = entries
    whole = torch.linalg.solve(torch.eye(2 * count, dtype=torch.float64) - inner @ tank.drawn, inner)
    maps = (whole + whole.mT) / 2
    return BoundaryMap(maps[0], maps[1:], found.noise, sigma)


class Ridge(NamedTuple):
    """Entries in units of their prior, the directions in which the readings tell them, how surely, and the noise."""

    change: Float64[Tensor, "entries"]
    directions: Float64[Tensor, "entries rank"]
    surely: Float64[Tensor, "rank"]
    noise: float


def _fitted(rows: Float64[Tensor, "readings entries"], values: Float64[Tensor, "readings"]) -> Ridge:
    """The ridge regression whose strength generalised cross validation chooses."""
    left, size, right = torch.linalg.svd(rows, full_matrices=False)
    part = left.mT @ values
    kept = size.square() / (size.square() + _STRENGTHS[:, None] * size[0].square())
    outside = (values.square().sum() - part.square().sum()).clamp(min=0)
    rest = ((1 - kept) * part).square().sum(1) + outside
    free = len(values) - kept.sum(1)
    best = int((rest / free.square()).argmin())
    noise = float((rest[best] / free[best]).sqrt() / values.square().mean().sqrt())
    found = right.mT @ (kept[best] / size.clamp(min=1e-300) * part)
    return Ridge(found, right.mT, kept[best], min(noise, 1.0))


def _drawn(fit: Ridge) -> Float64[Tensor, "draws entries"]:
    """Draws of the posterior: prior noise, less of it in the directions that the readings tell.

    The prior's variance is that of the entries found, for as many as were found.
    """
    generator = torch.Generator().manual_seed(0)
    noise = torch.randn(_DRAWS, len(fit.change), dtype=torch.float64, generator=generator)
    told = noise @ fit.directions
    spread = noise - (told * (1 - (1 - fit.surely).clamp(min=0).sqrt())) @ fit.directions.mT
    return fit.change + (fit.change.square().sum() / fit.surely.sum()).sqrt() * spread


def _tank(fit: TankFit, sigma: float, count: int) -> EmptyTank:
    """The empty tank of conductivity 1, with contacts as they are for the conductivity it has."""
    row = fit.electrodes
    contact = row.relative_impedance * sigma
    circle = None if row.body.name == Disk.name else onto(row.body)
    return empty_tank(row.places, row.widths / 2, contact, count, onto=circle)


def _design(
    measurement: "ElectrodeMeasurement", tank: EmptyTank
) -> tuple[Float64[Tensor, "readings entries"], Tensor, Tensor]:
    """The readings as a linear map of the entries of N in units of their prior; and the row and column of each."""
    pattern, count = measurement.pattern, len(tank.density) // 2
    drive = pattern.stimulation @ tank.density.mT
    one, other = torch.triu_indices(2 * count, 2 * count)
    factor = torch.where(one == other, 0.5, 1.0) * _scale(one, other, count)
    rows = []
    for current, channels, kept in zip(drive, pattern.channels, pattern.mask, strict=True):
        read = channels[kept] @ tank.density.mT
        rows.append((read[:, one] * current[other] + read[:, other] * current[one]) * factor)
    return torch.cat(rows), one, other


def _scale(one: Tensor, other: Tensor, count: int) -> Float64[Tensor, "entries"]:
    """The standard deviation of each entry in the prior."""
    both = (one % count + other % count + 1).double()  # i + j - 1, as the waves are numbered from 0 here
    return _REACH**both / both.sqrt()
