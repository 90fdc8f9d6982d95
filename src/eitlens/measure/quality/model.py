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

from eitlens.electrodes import Pattern
from eitlens.measure.readings import ElectrodeMeasurement
from eitlens.measure.tank import empty_readings, resistance_model

Readings = Float64[Tensor, "readings"]
Keep = Bool[Tensor, "readings"]
# ζ over the mean width of the electrodes: from perfect to bad contacts, a factor of about three apart.
_CONTACTS = (1e-4, 1e-2, 3e-2, 0.1, 0.3, 1.0, 3.0)
_MAIN = 0.5  # of the largest weight in a channel
_SAME = 1e-9  # of the largest singular value: contacts whose readings are less are not read


@dataclass(frozen=True, eq=False)
class TankModel:
    """The readings of an empty tank as they were measured, and as they would be."""

    measurement: ElectrodeMeasurement

    @cached_property
    def readings(self) -> Readings:
        """Those of the reference, or of the mean frame."""
        return empty_readings(self.measurement)[0]

    @cached_property
    def resistances(self) -> Float64[Tensor, "contacts electrodes electrodes"]:
        """R of a body of conductivity 1 for some contacts."""
        electrodes = self.measurement.electrodes
        model, width = resistance_model(electrodes), electrodes.widths.mean()
        contacts = [(width * value).expand(electrodes.count) for value in _CONTACTS]
        return torch.stack([model(contact, 1.0) for contact in contacts])

    @cached_property
    def given(self) -> float:
        """The residual of the measurement as it is."""
        return self.residual(self.measurement.pattern)

    def residual(self, pattern: Pattern, readings: Readings | None = None, keep: Keep | None = None) -> float:
        """What a pattern leaves of the readings, or of others, of those that are kept."""
        rows = _read(pattern, self.resistances)
        return float(self.unexplained(rows, pattern, readings, keep).min())

    def renumbered(
        self, orders: Int64[Tensor, "orders electrodes"]
    ) -> Float64[Tensor, "contacts orders readings"]:
        """The readings if electrode k + 1 sits where number order[k] + 1 is said to be."""
        pattern = self.measurement.pattern
        moved = self.resistances[:, orders[:, :, None], orders[:, None, :]]
        return _read(pattern, moved)

    def unexplained(
        self,
        rows: Float64[Tensor, "*models readings"],
        pattern: Pattern,
        readings: Readings | None = None,
        keep: Keep | None = None,
    ) -> Float64[Tensor, "*models"]:
        """What is left of the readings by each model, at its best scale, which is not negative."""
        given = self.readings if readings is None else readings
        seen = given.isfinite() if keep is None else given.isfinite() & keep
        free = _contacts(pattern)[seen]
        target, model = _without(given[seen], free), _without(rows[..., seen], free)
        scale = (model @ target / model.square().sum(-1).clamp(min=1e-300)).clamp(min=0)
        left = (target - scale[..., None] * model).square().sum(-1).sqrt()
        return left / given[seen].square().sum().sqrt()

    def expected(self) -> Readings:
        """The readings of the measurement's own pattern with the best contacts, each electrode's its own."""
        pattern = self.measurement.pattern
        rows = _read(pattern, self.resistances)
        best = rows[int(self.unexplained(rows, pattern).argmin())]
        seen = self.readings.isfinite()
        free = torch.cat([best[:, None], _contacts(pattern)], 1)
        share: Tensor = torch.linalg.lstsq(free[seen], self.readings[seen, None], driver="gelsd").solution
        return (free @ share)[:, 0]


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
    return values - (values @ basis) @ basis.mT
