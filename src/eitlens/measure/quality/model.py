"""What the empty tank would read, under any assumption about the pattern, the numbering and the electrodes.

With R the potentials of the electrodes for unit currents (E × E), stimulation d and channel c read c R d. A wrong
assumption changes c, d or the rows of R, and nothing has to be solved again. R is made once for some contacts, from
perfect to bad, and the best of them counts. Contacts of single electrodes that are better or worse than the others
change R_ee and little else, so that readings Σ_e δ_e c_e d_e cost nothing, whatever δ is.
"""

from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Bool, Float64, Int64
from torch import Tensor

from eitlens.electrodes import Electrodes, Pattern
from eitlens.measure.readings import ElectrodeMeasurement
from eitlens.measure.tank import empty_readings, resistance_model

Readings = Float64[Tensor, "readings"]
Keep = Bool[Tensor, "readings"]
# ζ over the mean width of the electrodes: from perfect to bad contacts, a factor of about three apart.
_CONTACTS = (1e-4, 1e-2, 3e-2, 0.1, 0.3, 1.0, 3.0)
_SAME = 1e-9  # of the largest singular value: contacts whose readings are less are not read
_MAIN = 0.5  # of the largest weight in a channel
_STEP = 1e-3  # of the distance of electrodes, for the derivative in their places
_POINTS = 8  # of an electrode: three digits do for a derivative
_OFF = 0.02  # of the distance of electrodes: so far off they usually are
_NOISE = 0.003  # of the readings: what they are off beside that
_USUAL = 2  # the contact in the row above for which the derivative is taken: it hardly depends on it


@dataclass(frozen=True, eq=False)
class EmptyBody:
    """R of the empty body of conductivity 1, for some contacts, and how it changes with the places of electrodes."""

    electrodes: Electrodes

    @cached_property
    def resistances(self) -> Float64[Tensor, "contacts electrodes electrodes"]:
        """R for contacts from perfect to bad."""
        model = resistance_model(self.electrodes)
        return torch.stack([model(contact, 1.0) for contact in self._contacts()])

    @cached_property
    def moves(self) -> Float64[Tensor, "moved electrodes electrodes"]:
        """What R changes when an electrode is off as usual; of none, if the body has corners and a solve takes long."""
        row, count = self.electrodes, self.electrodes.count
        if row.body.corners:
            return torch.zeros(0, count, count, dtype=torch.float64)
        step, contact = row.body.perimeter / count, self._contacts()[_USUAL]
        places = row.places + _STEP * step * torch.eye(count, dtype=torch.float64)
        rows = [row, *(Electrodes(row.body, place, row.widths) for place in places)]
        found = torch.stack([resistance_model(other, _POINTS)(contact, 1.0) for other in rows])
        return (found[1:] - found[0]) * (_OFF / _STEP)

    def _contacts(self) -> list[Float64[Tensor, "electrodes"]]:
        widths = self.electrodes.widths
        return [(widths.mean() * value).expand(len(widths)) for value in _CONTACTS]


@dataclass(frozen=True, eq=False)
class TankModel:
    """The readings of an empty tank as they were measured, and as they would be."""

    measurement: ElectrodeMeasurement
    body: EmptyBody

    @cached_property
    def readings(self) -> Readings:
        """Those of the reference, or of the mean frame."""
        return empty_readings(self.measurement)[0]

    @cached_property
    def given(self) -> float:
        """The residual of the measurement as it is."""
        return self.residual(self.measurement.pattern)

    def residual(self, pattern: Pattern, readings: Readings | None = None, keep: Keep | None = None) -> float:
        """What a pattern leaves of the readings, or of others, of those that are kept."""
        rows = _read(pattern, self.body.resistances)
        return float(self.unexplained(rows, pattern, readings, keep).min())

    def renumbered(
        self, orders: Int64[Tensor, "orders electrodes"]
    ) -> Float64[Tensor, "contacts orders readings"]:
        """The readings if electrode k + 1 sits where number order[k] + 1 is said to be."""
        pattern = self.measurement.pattern
        moved = self.body.resistances[:, orders[:, :, None], orders[:, None, :]]
        return _read(pattern, moved)

    def unexplained(
        self,
        rows: Float64[Tensor, "*models readings"],
        pattern: Pattern,
        readings: Readings | None = None,
        keep: Keep | None = None,
        contacts: Float64[Tensor, "readings electrodes"] | None = None,
    ) -> Float64[Tensor, "*models"]:
        """What is left of the readings by each model, at its best scale, which is not negative."""
        given = self.readings if readings is None else readings
        seen = given.isfinite() if keep is None else given.isfinite() & keep
        free = (_contacts(pattern) if contacts is None else contacts)[seen]
        target, model = _without(given[seen], free), _without(rows[..., seen], free)
        scale = (model @ target / model.square().sum(-1).clamp(min=1e-300)).clamp(min=0)
        left = (target - scale[..., None] * model).square().sum(-1).sqrt()
        return left / given[seen].square().sum().sqrt()

    def fitted(self, order: Int64[Tensor, "electrodes"] | None = None) -> "Fitted":
        """The readings of the pattern, renumbered or not, with contacts and places of electrodes as they fit best."""
        pattern, count = self.measurement.pattern, self.measurement.electrodes.count
        number = torch.arange(count) if order is None else order
        rows = self.renumbered(number[None])[:, 0]
        best = int(self.unexplained(rows, pattern).argmin())
        moved = _read(pattern, self.body.moves[:, number[:, None], number])
        seen = self.readings.isfinite()
        target, row = self.readings[seen], rows[best, seen]
        scale = (row @ target) / (rows[_USUAL, seen] @ row)
        free = torch.cat([rows[best, None], scale * moved, _contacts(pattern).mT]).mT
        costs = torch.cat([torch.zeros(1), torch.ones(len(moved)), torch.zeros(count)]).to(target)
        return Fitted(self.readings, free, costs * _NOISE * target.square().mean().sqrt())


@dataclass(frozen=True, eq=False)
class Fitted:
    """Readings as sums of some rows, by least squares; a row with a cost is taken up to about its noise over the cost.

    The rows are those of the tank, of places of electrodes that are off as usual, and of contacts.
    """

    readings: Readings
    rows: Float64[Tensor, "readings numbers"]
    costs: Float64[Tensor, "numbers"]

    @cached_property
    def values(self) -> Readings:
        """The readings that fit best."""
        seen = self.readings.isfinite()
        wide, target = self._with_costs(self.rows[seen]), self._padded(self.readings[seen])
        found = torch.linalg.lstsq(wide, target[:, None], driver="gelsd").solution
        values: Readings = (self.rows @ found)[:, 0]
        return values

    @cached_property
    def misfit(self) -> float:
        """The root mean square of what is left and of what it costs, over that of the readings."""
        seen = self.readings.isfinite()
        left = _without(self._padded(self.readings[seen]), self._with_costs(self.rows[seen]))
        return float((left.square().sum() / self.readings[seen].square().sum()).sqrt())

    def added(self, more: Float64[Tensor, "others readings"]) -> tuple[Tensor, Tensor]:
        """How much of each other row would be taken, and the misfit with it."""
        seen = self.readings.isfinite()
        wide = self._with_costs(self.rows[seen])
        left, other = (
            _without(self._padded(self.readings[seen]), wide),
            _without(self._padded(more[:, seen]), wide),
        )
        size = other.square().sum(-1).clamp(min=1e-300)
        share = other @ left / size
        rest = (left.square().sum() - share.square() * size).clamp(min=0) / self.readings[seen].square().sum()
        return share, rest.sqrt()

    def _with_costs(self, rows: Tensor) -> Tensor:
        return torch.cat([rows, self.costs.diag()])

    def _padded(self, values: Tensor) -> Tensor:
        return torch.nn.functional.pad(values, (0, len(self.costs)))


def _read(
    pattern: Pattern, resistances: Float64[Tensor, "*models electrodes electrodes"]
) -> Float64[Tensor, "*models readings"]:
    return pattern.read(pattern.stimulation @ resistances)


def drives(pattern: Pattern) -> Float64[Tensor, "readings electrodes"]:
    """The currents while each reading is taken."""
    return pattern.stimulation[torch.nonzero(pattern.mask)[:, 0]]


def reads(pattern: Pattern) -> Float64[Tensor, "readings electrodes"]:
    """The weights of the electrodes in each reading."""
    return pattern.channels[pattern.mask]


def mainly_reads(pattern: Pattern) -> Bool[Tensor, "readings electrodes"]:
    """True for the electrodes that a channel is about: the mean of all, which some take off, is not one of them."""
    weights = reads(pattern).abs()
    return weights > _MAIN * weights.amax(-1, keepdim=True)


def _contacts(pattern: Pattern) -> Float64[Tensor, "readings electrodes"]:
    """What a worse contact of each electrode adds to the readings."""
    return drives(pattern) * reads(pattern)


def _without(
    values: Float64[Tensor, "*more readings"], free: Float64[Tensor, "readings electrodes"]
) -> Tensor:
    """The values less their part in the span of the columns."""
    left, size, _ = torch.linalg.svd(free, full_matrices=False)
    basis = left[:, size > _SAME * size[0].clamp(min=1e-300)]
    left_over: Tensor = values - (values @ basis) @ basis.mT
    return left_over
