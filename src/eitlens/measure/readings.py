"""The measurement of a tank: electrodes, a pattern, and readings in volts, as a device delivers them."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Bool, Float64
from torch import Tensor

from eitlens import checks
from eitlens.domain import Domain
from eitlens.electrodes import Electrodes, Pattern
from eitlens.electrodes.base import check_pattern
from eitlens.errors import InputError, prefix_errors
from eitlens.forward.currents import CurrentsConfig
from eitlens.measure import names
from eitlens.measure.base import Frames, Measurement, Prepared

_JSON = ("electrodes", "pattern", "notes")
"""Names whose values are kept as JSON."""
if TYPE_CHECKING:
    from eitlens.measure.boundary_map import BoundaryMap

MOST_FRAMES = 1_000_000  # hours of a fast device
_LARGEST = 1e6  # volts: beyond all devices, so that the unit is wrong


@dataclass(frozen=True, eq=False)
class ElectrodeMeasurement(Measurement):
    """Readings of a pattern through electrodes, in volts, of one or more frames.

    Tensors, arrays and nested lists of real numbers will do; they are kept as float64 tensors on the CPU. A reading
    that is nan was not measured.

    Attributes:
        electrodes: where they are, on which body.
        pattern: what was driven, in amperes, and what was read.
        voltages: (F, R), a row a frame, a column a reading in the order of the pattern; one frame may be a plain row.
        reference: (F0, R), frames of the body without inclusions or of an earlier time, whose mean is compared with;
            left out for an absolute measurement. Zero where `voltages` are differences.
        conductivity: σ0 of the body around the inclusions in S/m, where it is known.
        height: of the tank in metres: over so much height the current spreads.
        times: (F,), seconds, where they are known.
        notes: what was found and corrected or masked, a line each.
        source: the file it was read from; no part of a file.

    >>> tank = eit.Disk(32, scale=0.1)
    >>> electrodes, pattern = eit.Electrodes.even(tank, 16), eit.Pattern.named("adjacent", 16, current=1e-3)
    >>> data = eit.Measurement.of_electrodes(electrodes, pattern, torch.zeros(208), reference=torch.zeros(208))
    >>> data.voltages.shape, data.frames
    (torch.Size([1, 208]), 1)
    """

    electrodes: Electrodes
    pattern: Pattern
    voltages: Frames
    reference: Frames | None = None
    conductivity: float | None = None
    height: float = 1.0
    times: Float64[Tensor, "frames"] | None = None
    notes: tuple[str, ...] = ()
    source: str = ""

    def __post_init__(self) -> None:
        for name, kind in (("electrodes", Electrodes), ("pattern", Pattern)):
            if not isinstance(getattr(self, name), kind):
                raise InputError(
                    f"{name}: expected {kind.__module__}.{kind.__name__}, got {checks.shown(getattr(self, name))}"
                )
        check_pattern(self.electrodes, self.pattern)
        for name in ("voltages", "reference"):
            given = getattr(self, name)
            if given is not None or name == "voltages":
                object.__setattr__(self, name, _table(given, name, self.pattern.count))
        if self.conductivity is not None:
            checks.positive_number(self.conductivity, "conductivity")
        checks.positive_number(self.height, "height")
        if self.times is not None:
            times = checks.finite(checks.physics(self.times, "times"), "times").detach().cpu().reshape(-1)
            if len(times) != self.frames:
                raise InputError(f"times: expected {self.frames}, one a frame, got {len(times)}")
            object.__setattr__(self, "times", times)
        object.__setattr__(self, "notes", tuple(str(note) for note in self.notes))

    @cached_property
    def domain(self) -> Domain:
        """The body."""
        return self.electrodes.body

    @property
    def frames(self) -> int:
        """The number of frames."""
        return len(self.voltages)

    @cached_property
    def baseline(self) -> Float64[Tensor, "readings"] | None:
        """The mean of the reference frames, nan where no frame has a value; None for an absolute measurement."""
        return None if self.reference is None else self.reference.nanmean(0)

    @property
    def difference(self) -> Frames:
        """What changed from the reference to each frame, in volts."""
        if self.baseline is None:
            raise InputError(f"{self.source or 'measurement'}: there is no reference: give one (--reference)")
        return self.voltages - self.baseline

    @property
    def present(self) -> Bool[Tensor, "readings"]:
        """True for a reading that every frame has, and the reference, where there is one."""
        seen = self.voltages.isfinite().all(0)
        return seen if self.baseline is None else seen & self.baseline.isfinite()

    def frame(self, number: int) -> "ElectrodeMeasurement":
        """The measurement of one frame, counted from 0."""
        return self.selected([number])

    def selected(self, rows: Sequence[int]) -> "ElectrodeMeasurement":
        """The measurement of some frames, counted from 0, in the order given; the reference stays."""
        chosen = [checks.whole(row, "frame") for row in rows]
        for number in chosen:
            if not 0 <= number < self.frames:
                raise InputError(f"there is no frame {number}: they are numbered 0 to {self.frames - 1}")
        times = None if self.times is None else self.times[chosen]
        return replace(self, voltages=self.voltages[chosen], times=times)

    def averaged(self, count: int | None = None) -> "ElectrodeMeasurement":
        """The means of so many frames in a row each, of all for None; what is left at the end is left out."""
        size = self.frames if count is None else checks.whole(count, "count")
        if not 1 <= size <= self.frames:
            raise InputError(f"cannot average {size} frames of {self.frames}")
        kept = self.frames // size * size
        means = torch.unflatten(self.voltages[:kept], 0, (-1, size)).nanmean(1)
        times = None if self.times is None else torch.unflatten(self.times[:kept], 0, (-1, size)).mean(1)
        return replace(self, voltages=means, times=times)

    def against(
        self, reference: "ElectrodeMeasurement | int | slice | Sequence[int]"
    ) -> "ElectrodeMeasurement":
        """The measurement compared with another, or with some of its own frames (counted from 0)."""
        if isinstance(reference, slice):
            frames = self.voltages[reference]
        elif not isinstance(reference, ElectrodeMeasurement | int | Sequence):
            raise InputError(
                f"reference: expected a measurement or numbers of frames, got {checks.shown(reference)}"
            )
        elif not isinstance(reference, ElectrodeMeasurement):
            frames = self.selected([reference] if isinstance(reference, int) else reference).voltages
        elif same_setup(self, reference):
            frames = reference.voltages
        else:
            raise InputError(
                f"{reference.source or 'reference'}: not the same electrodes and pattern as the measurement: "
                "a reference is read from the same tank in the same way"
            )
        if not len(frames):
            raise InputError(f"reference: no frames are chosen: there are {self.frames}")
        return replace(self, reference=frames)

    def masked(self, keep: Bool[Tensor, "readings"], note: str) -> "ElectrodeMeasurement":
        """The measurement without the readings where `keep` is false, with a note that says why."""
        reference = None if self.reference is None else torch.where(keep, self.reference, torch.nan)
        voltages = torch.where(keep, self.voltages, torch.nan)
        return replace(self, voltages=voltages, reference=reference, notes=(*self.notes, note))

    def _prepared(self, wanted: CurrentsConfig, fewest: int, domain: Domain) -> Prepared:
        """See `Measurement.prepare`: what the readings say of the wanted currents, by linear estimation."""
        from eitlens.measure.estimate import estimated

        return estimated(self, wanted, fewest, domain)

    def boundary_map(self) -> "BoundaryMap":
        """What the inclusions change in the Neumann-to-Dirichlet map, from the first frame."""
        from eitlens.measure.boundary_map import boundary_map

        with prefix_errors(self.source):
            return boundary_map(self)

    def to_arrays(self) -> dict[str, Any]:
        """The values for a file, by name, without what is left out: numbers, text and tensors."""
        values = {name: getattr(self, name) for name in names.OF_ELECTRODES}
        values |= {name: json.dumps(values[name].to_dict()) for name in ("electrodes", "pattern")}
        values["notes"] = json.dumps(self.notes) if self.notes else None
        return {key: value for key, value in values.items() if value is not None}

    def to_dict(self) -> dict[str, Any]:
        """The values for a file as plain JSON values; what was not measured is null."""
        values = super().to_dict()
        parts = {key: json.loads(values[key]) for key in _JSON if key in values}
        tables = {key: _without_nan(values[key]) for key in ("voltages", "reference") if key in values}
        return values | parts | tables

    @staticmethod
    def from_arrays(values: object, where: str = "measurement") -> "ElectrodeMeasurement":
        """From a mapping of names to arrays, lists of numbers and text; an unknown name or a bad value is an error."""
        known = checks.with_keys(values, where, names.OF_ELECTRODES, names.OF_ELECTRODES[:3])
        given = {key: value for key, value in known.items() if value is not None}
        with prefix_errors(where):
            for key in _JSON:
                given |= {key: _plain(given[key], key)} if key in given else {}
            for key in ("voltages", "reference"):
                given |= {key: _with_nan(given[key], key)} if key in given else {}
            for key in ("conductivity", "height"):
                given |= {key: checks.number(given[key], key)} if key in given else {}
            electrodes, pattern = (
                Electrodes.from_dict(given.pop("electrodes")),
                Pattern.from_dict(given.pop("pattern")),
            )
            return ElectrodeMeasurement(electrodes, pattern, **given, source=where)


def same_setup(one: ElectrodeMeasurement, other: ElectrodeMeasurement) -> bool:
    """Whether two measurements have the same electrodes and the same pattern."""
    return (
        one.pattern.to_dict() == other.pattern.to_dict()
        and one.electrodes.to_dict() == other.electrodes.to_dict()
    )


def _table(given: object, name: str, readings: int) -> Frames:
    """Rows of readings, with nan where there is none."""
    values = checks.physics(given, name).detach().cpu()
    table = values[None] if values.ndim == 1 else values
    if table.ndim != 2 or table.shape[1] != readings or not 1 <= len(table) <= MOST_FRAMES:
        swapped = table.ndim == 2 and table.shape[0] == readings
        raise InputError(
            f"{name}: expected (frames, {readings}) values, a row a frame and a column a reading of the pattern, got "
            f"shape {tuple(values.shape)}{': transpose it' if swapped else ''}"
        )
    if bool(table.isinf().any()):
        raise InputError(
            f"{name}: {int(table.isinf().sum())} values are infinite: give nan for what was not measured"
        )
    if not bool(table.isfinite().any()):
        raise InputError(f"{name}: all values are missing")
    if float(table.nan_to_num().abs().max()) > _LARGEST:
        raise InputError(
            f"{name}: values up to {float(table.nan_to_num().abs().max()):.3g} V: is the unit right?"
        )
    return table


def _plain(value: object, name: str) -> Any:
    """The value of a text that is JSON, from wherever a format keeps text."""
    value = value.item() if isinstance(value, np.ndarray) and value.size == 1 else value
    if isinstance(value, str):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            raise InputError(f"{name}: expected JSON, got {checks.shown(value)}") from None
    return value


def _with_nan(values: object, name: str) -> Tensor:
    """Numbers of a file, nan where JSON has null."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name}: expected rows of numbers, null where nothing was measured") from None
    return torch.from_numpy(array)


def _without_nan(rows: list[list[float]]) -> list[list[float | None]]:
    return [[value if math.isfinite(value) else None for value in row] for row in rows]
