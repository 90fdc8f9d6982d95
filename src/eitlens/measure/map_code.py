"""The code of any measurement of a round tank: what its readings say of the map Λ_σ - Λ_σ0 (`eitlens.feature.maps`).

Electrodes, pattern and missing readings say how a change of the map is read; the empty tank is fitted to the reference.
Currents that are combinations of others are read more than once. They are brought down to as many as are independent
first, by least squares and for each channel, so that a model error which they share does not count many times.
"""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float64, Int64
from torch import Tensor

from eitlens.domain import Disk
from eitlens.electrodes import EmptyTank, Pattern, empty_tank
from eitlens.errors import InputError
from eitlens.feature.maps import MapCode, MapPrior, MapReading
from eitlens.measure.readings import ElectrodeMeasurement
from eitlens.measure.tank import TankFit, fit_tank

_TOLD = 1e-6  # a current that is this near to a combination of those that were read is known
_LEAST = 1e-6  # of the empty tank's readings: smaller than what any device tells


@dataclass(frozen=True)
class Doubt:
    """The errors that are assumed, as standard deviations.

    Attributes:
        relative: of each difference, over itself: what the linear model and the electrodes leave.
        floor: of each difference, over the root mean square of all.
        drift: of the background's conductivity since the reference, relative.
    """

    relative: float = 0.03
    floor: float = 0.01
    drift: float = 0.1


@dataclass(frozen=True, eq=False)
class MappedReadings:
    """Readings of a round tank as a code takes them.

    Attributes:
        readings: (F, R), changes of the independent stimulations, of a tank of conductivity 1, one unit high.
        reading: of the prior, by the electrodes and the pattern.
        empty: the readings of the empty tank, in whose direction the background drifts.
        doubt: the errors that are assumed.
    """

    readings: Float64[Tensor, "frames readings"]
    reading: MapReading
    empty: Float64[Tensor, "readings"]
    doubt: Doubt

    def selected(self, rows: Int64[Tensor, "rows"]) -> "MappedReadings":
        """Some frames of them."""
        return replace(self, readings=self.readings[rows])

    def code(self) -> MapCode:
        """The codes of all frames."""
        y, doubt = self.readings, self.doubt
        known = y.nan_to_num()
        size = known.square().sum(1, keepdim=True) / y.isfinite().sum(1, keepdim=True).clamp(min=1)
        # Without a change there is no error to speak of, and no code without an error.
        least = _LEAST**2 * self.empty.square().mean()
        variance = (doubt.relative * known).square() + torch.maximum(doubt.floor**2 * size, least)
        return self.reading.code(y, variance, doubt.drift * self.empty[None])

    @property
    def size(self) -> Float64[Tensor, "frames"]:
        """The changes over the readings of the empty tank."""
        there = self.readings.isfinite()
        empty = torch.where(there, self.empty, 0.0).norm(dim=1)
        found: Tensor = self.readings.nan_to_num().norm(dim=1) / empty.clamp(min=1e-300)
        return found

    def misfit(self, code: MapCode) -> Float64[Tensor, "frames"]:
        """The part of the changes that a code and a drift of the background leave unexplained; 0 without a change."""
        there = self.readings.isfinite()
        known, empty = self.readings.nan_to_num(), torch.where(there, self.empty, 0.0)
        left = torch.where(there, known - self.reading.explained(code.mean), 0.0)
        drift = (left * empty).sum(1, keepdim=True) / empty.square().sum(1, keepdim=True).clamp(min=1e-300)
        found = (left - drift * empty).norm(dim=1) / known.norm(dim=1).clamp(min=1e-300)
        return torch.where(self.size > _LEAST, found, 0.0)


def map_code(
    measurement: ElectrodeMeasurement, prior: MapPrior, doubt: Doubt | None = None, fit: TankFit | None = None
) -> MapCode:
    """The codes of all frames of a measurement of a disk."""
    return mapped_readings(measurement, prior, doubt, fit).code()


def mapped_readings(
    measurement: ElectrodeMeasurement, prior: MapPrior, doubt: Doubt | None = None, fit: TankFit | None = None
) -> MappedReadings:
    """The changes of all frames of a measurement of a disk, with what the prior needs to know of its electrodes."""
    if measurement.domain.name != Disk.name:
        raise InputError(
            f"the code of maps is for round tanks, and the measurement is of a {measurement.domain.name}"
        )
    found, pattern = fit or fit_tank(measurement), measurement.pattern
    tank = _disk(found, prior.count)
    change = found.polarity * found.conductivity * measurement.height * measurement.difference
    basis = pattern.basis().stimulations
    channels = pattern.channels[:1] if _fixed(pattern) else pattern.channels
    drive = basis if _fixed(pattern) else pattern.stimulation
    reading = prior.read(drive @ tank.density.mT, channels @ tank.density.mT, tank.drawn)
    whole = channels.expand(len(drive), -1, -1)
    empty = torch.einsum("le,ef,lcf->lc", drive, tank.resistance, whole).flatten()
    return MappedReadings(reduced(pattern, change).flatten(1), reading, empty, doubt or Doubt())


def reduced(
    pattern: Pattern, readings: Float64[Tensor, "frames readings"]
) -> Float64[Tensor, "frames stimulations channels"]:
    """The readings of the independent stimulations, nan where none tells; of all where channels differ among them."""
    table = pattern.spread(readings)
    if not _fixed(pattern):
        return table
    masks, which = torch.unique(table.isfinite(), dim=0, return_inverse=True)
    rows = [_reduced_alike(pattern, table[which == k], there) for k, there in enumerate(masks)]
    order = torch.argsort(which, stable=True)
    return torch.cat(rows)[torch.argsort(order)]


def _reduced_alike(
    pattern: Pattern,
    table: Float64[Tensor, "frames stimulations channels"],
    there: Bool[Tensor, "stimulations channels"],
) -> Float64[Tensor, "frames kept channels"]:
    """The same of frames that have the same readings: what one frame lacks, others may have."""
    matrices = reductions(pattern, there)
    told = ~matrices.isnan().any(-1)
    found = torch.einsum("ckl,flc->fkc", matrices.nan_to_num(), table.nan_to_num())
    return torch.where(told.mT, found, torch.nan)


def reductions(
    pattern: Pattern, there: Bool[Tensor, "stimulations channels"]
) -> Float64[Tensor, "channels kept stimulations"]:
    """For each channel the map from the readings that are there to those of the independent stimulations.

    By least squares; rows of nan where they do not tell.
    """
    mixing = pattern.basis().mixing
    masks, which = torch.unique(there, dim=1, return_inverse=True)
    found = []
    for mask in masks.T:
        rows = mixing * mask[:, None]
        inverse = torch.linalg.pinv(rows)
        told = (inverse @ rows - torch.eye(rows.shape[1]).to(rows)).norm(dim=1) < _TOLD
        found.append(torch.where(told[:, None], inverse * mask, torch.nan))
    return torch.stack(found)[which]


def _fixed(pattern: Pattern) -> bool:
    """Whether all stimulations are read through the same channels."""
    return pattern.reading.ndim == 2


def _disk(found: TankFit, waves: int) -> EmptyTank:
    """The empty tank of conductivity 1, one unit high."""
    row = found.electrodes
    if bool((row.widths <= 0).any()):
        raise InputError("the code of maps needs electrodes of some width, got points of width 0")
    contact = row.relative_impedance * found.conductivity
    return empty_tank(row.places, row.widths / 2, contact, waves)
