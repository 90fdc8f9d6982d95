"""The empty tank behind a measurement: its conductivity and its contacts, fitted to readings without inclusions.

The readings of the empty body are V = ± m(ζ, w) / (σ h): of a pattern, through electrodes whose widths are w times the
given ones, with the contacts ζ = σ z / scale in a body of conductivity 1 that is 1 m high. So σ and the sign follow
from ζ and w by one division, and least squares has only these to find.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from jaxtyping import Float64, Int64
from numpy.typing import NDArray
from scipy.optimize import least_squares
from torch import Tensor

from eitlens.domain import Disk
from eitlens.electrodes import CompleteElectrodeSolver, Electrodes, Pattern, even_resistance
from eitlens.errors import InputError, prefix_errors
from eitlens.forward.elements import ElementElectrodeSolver
from eitlens.forward.integral import BoundaryIntegralSolver
from eitlens.measure.readings import ElectrodeMeasurement

Contacts = Float64[Tensor, "electrodes"]
Readings = Float64[Tensor, "readings"]
Resistances = Callable[[Contacts, float], Float64[Tensor, "electrodes electrodes"]]
_CONTACTS = (1e-6, 1e3)  # ζ over the mean width: perfect contact, and a contact that is all there is
_TRIED = 10  # contacts from one end to the other, the best of which is where the search begins
_WIDTHS = (0.3, 2.0)  # an effective width beyond is another electrode
_APART = 0.98  # of the factor at which wider electrodes touch
_STEP = 1e-3  # of a logarithm, for its derivative: above what a new mesh changes, where there is one
_SURE = 1e-10  # change of the squared misfit that ends the search
_VALLEY = 1e-13  # the same where a width is fitted, too: it is hard to tell from the contact
_MOST_STEPS = 60  # what is not found by then is flat
_EQUAL = (
    1e-4  # of the readings, for a contact e times the others: less than noise, enough where nothing tells
)
_EXPLAINED = 0.02  # of the reference: where no more is left, the width is not looked for
_WIDER = 0.8  # of it must be left at most with a width: without channels at electrodes that drive, any width will do
_TELLING = 3  # fewer readings than this for each number that is fitted tell nothing
_EVEN = 1e-9  # of a step from electrode to electrode: rounding
_CHANGES = 1e-9  # of the largest reading: a reference below is zero, and the frames are differences


@dataclass(frozen=True, eq=False)
class TankFit:
    """The empty tank that explains a reference best.

    Attributes:
        conductivity: σ in S/m; a wrong height of the tank, or a wrong gain of the device, is in it too.
        electrodes: those of the measurement, with the contact impedances (and widths) that were found.
        readings: of the empty tank, in volts, with the sign of the measured ones.
        residual: the root mean square of measured less modelled readings, over that of the measured ones.
        polarity: 1; or -1 where the readings are the negative of what the pattern says.
        width: the factor between the electrodes' effective widths and the given ones; 1 where it was not fitted.
        fitted: what the readings were: "reference", or "mean frame" where there is no reference.
    """

    conductivity: float
    electrodes: Electrodes
    readings: Readings
    residual: float
    polarity: int
    width: float
    fitted: str

    def summary(self) -> dict[str, Any]:
        """What was found as plain JSON values: SI units, and the impedance of each electrode."""
        names = ("conductivity", "residual", "polarity", "width", "fitted")
        return {name: getattr(self, name) for name in names} | {
            "impedance": self.electrodes.impedance.tolist()
        }


def fit_tank(measurement: ElectrodeMeasurement, each: bool = False, width: bool = False) -> TankFit:
    """Fit σ and the contact impedance of the empty tank to the reference, or to the mean frame if there is none.

    All contacts have the same impedance, or with `each` their own; with `width` all electrodes are wider or narrower
    by one factor. Missing readings (nan) are left out. Where the readings hardly depend on the contacts, as without
    channels at electrodes that drive, σ and the model are sure and the impedance is not.

    >>> from eitlens.measure.tank import fit_tank
    >>> tank = eit.Disk(32, scale=0.1)
    >>> electrodes, pattern = eit.Electrodes.even(tank, 16), eit.Pattern.named("adjacent", 16, current=1e-3)
    >>> water = eit.simulate_readings(electrodes, pattern, eit.Phantom([], outside=0.3))
    >>> found = fit_tank(eit.Measurement.of_electrodes(electrodes, pattern, water))
    >>> round(found.conductivity, 4), found.fitted
    (0.3, 'mean frame')
    """
    with prefix_errors(measurement.source):
        measured, fitted = empty_readings(measurement)
        _check_enough(int(measured.isfinite().sum()), each, width, measurement.electrodes)
        return _fitted(measurement, measured, fitted, each, width)


def fit_wide_tank(measurement: ElectrodeMeasurement) -> TankFit:
    """Fit the empty tank; where that explains the reference badly, with an effective width of all electrodes."""
    fit = fit_tank(measurement)
    if fit.residual < _EXPLAINED or measurement.reference is None:
        return fit
    try:
        wide = fit_tank(measurement, width=True)
    except InputError:  # too few readings to tell a width
        return fit
    return wide if wide.residual < _WIDER * fit.residual else fit


def empty_readings(measurement: ElectrodeMeasurement) -> tuple[Readings, str]:
    """The readings that stand for the empty tank, and what they are called."""
    known, name = measurement.baseline, "reference"
    if known is None:
        known, name = measurement.voltages.nanmean(0), "mean frame"
    largest = float(measurement.voltages.nan_to_num().abs().max())
    if float(known.nan_to_num().abs().max()) <= _CHANGES * largest:
        raise InputError(
            f"the {name} is zero, so the frames are differences and tell nothing of the empty tank: "
            "give the readings of the empty tank as the reference (--reference)"
        )
    return known, name


def resistance_model(electrodes: Electrodes, points: int = 16) -> Resistances:
    """The potentials of the electrodes for unit currents in the body of conductivity 1, as a function of ζ and w.

    Each electrode of a smooth body has so many points: 16 give five digits, 8 give three.
    """
    eye = torch.eye(electrodes.count, dtype=torch.float64)
    currents = eye - eye.mean(-1)
    return (
        _elements(electrodes, currents) if electrodes.body.corners else _exact(electrodes, currents, points)
    )


def _exact(electrodes: Electrodes, currents: Tensor, points: int) -> Resistances:
    """By charges on the electrodes of a smooth body."""
    body, solver, turn = electrodes.body, BoundaryIntegralSolver(electrodes.body), _turn(electrodes)

    def potentials(contacts: Contacts, width: float) -> Tensor:
        if turn is not None and bool((contacts == contacts[0]).all()):
            half_width = float(electrodes.widths[0]) * width / 2
            even = even_resistance(electrodes.count, half_width, float(contacts[0]), points)
            return currents @ even[turn[:, None], turn]
        row = Electrodes(body, electrodes.places, electrodes.widths * width, contacts * body.scale)
        return CompleteElectrodeSolver(solver, row, points).background(currents)

    return potentials


def _turn(electrodes: Electrodes) -> Int64[Tensor, "electrodes"] | None:
    """The place of each of equal electrodes among even ones on a disk; None for others."""
    step, places, widths = electrodes.body.perimeter / electrodes.count, electrodes.places, electrodes.widths
    place = (places - places[0]) / step
    turn = place.round()
    apart = len(set(turn.remainder(electrodes.count).tolist())) == electrodes.count
    equal = bool((widths == widths[0]).all()) and bool(((place - turn).abs() < _EVEN).all())
    return turn.long() if electrodes.body.name == Disk.name and apart and equal else None


def _elements(electrodes: Electrodes, currents: Tensor) -> Resistances:
    """By finite elements on a body with corners, on one mesh as long as the width is the same."""

    @lru_cache(maxsize=1)
    def mesh(width: float) -> ElementElectrodeSolver:
        row = Electrodes(electrodes.body, electrodes.places, electrodes.widths * width)
        return ElementElectrodeSolver(row.body, row.starts, row.ends, row.relative_impedance)

    return lambda contacts, width: mesh(width).moved(impedance=contacts).background(currents)


@dataclass(frozen=True, eq=False)
class _Fit:
    """The search for ζ and w, in their logarithms: one contact for all or one each, and the width if it is last."""

    electrodes: Electrodes
    pattern: Pattern
    resistances: Resistances
    measured: Readings
    width: bool

    def found(self, each: bool) -> tuple[Contacts, float]:
        """The least-squares ζ and w: equal contacts, from the best of some on; and from them each its own."""
        start = min(self._starts(), key=self._size)
        same = self._improved(start, self._misfit)
        if not each:
            return self._unpacked(same)
        equal = np.concatenate([np.full(self.electrodes.count, same[0]), same[1:]])

        def misfit(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
            # Contacts that the readings do not tell stay as they are.
            return np.concatenate([self._misfit(numbers), _EQUAL * (numbers - equal)])

        return self._unpacked(self._improved(equal, misfit))

    def model(self, contacts: Contacts, width: float) -> Readings:
        """The readings of the empty tank of conductivity 1, 1 m high."""
        return self.pattern.read(self.pattern.stimulation @ self.resistances(contacts, width))

    def scale(self, rows: Readings) -> float:
        """What the modelled readings are multiplied by."""
        seen = self.measured.isfinite()
        return float((rows[seen] @ self.measured[seen]) / rows[seen].square().sum())

    def residual(self, rows: Readings) -> Readings:
        """Measured less modelled readings that are there, over the size of the measured ones."""
        seen = self.measured.isfinite()
        there = self.measured[seen]
        relative: Readings = (there - self.scale(rows) * rows[seen]) / there.norm()
        return relative

    def _misfit(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(self.residual(self.model(*self._unpacked(numbers))))

    def _improved(
        self, start: NDArray[np.float64], misfit: Callable[[NDArray[np.float64]], NDArray[np.float64]]
    ) -> NDArray[np.float64]:
        """Least squares, with derivatives by differences."""

        def slopes(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
            at, steps = misfit(numbers), _STEP * np.eye(len(numbers))
            return np.stack([(misfit(numbers + step) - at) / _STEP for step in steps], 1)

        (low, high), sure = self._bounds(len(start)), _VALLEY if self.width else _SURE
        inside = np.clip(start, low + _STEP, high - _STEP)
        found = least_squares(
            misfit, inside, slopes, (low, high), "dogbox", ftol=sure, gtol=sure, max_nfev=_MOST_STEPS
        )
        return np.asarray(found.x)

    def _size(self, numbers: NDArray[np.float64]) -> float:
        return float(np.square(self._misfit(numbers)).sum())

    def _unpacked(self, numbers: NDArray[np.float64]) -> tuple[Contacts, float]:
        values = torch.from_numpy(np.exp(numbers))
        contacts: Contacts = self.electrodes.widths.mean() * (values[:-1] if self.width else values)
        return contacts.expand(self.electrodes.count), float(values[-1]) if self.width else 1.0

    def _bounds(self, count: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        low, high = (np.full(count, np.log(end)) for end in _CONTACTS)
        if self.width:
            low[-1] = np.log(_WIDTHS[0])
            high[-1] = np.log(min(_WIDTHS[1], _APART * _widest(self.electrodes)))
        return low, high

    def _starts(self) -> list[NDArray[np.float64]]:
        """Equal contacts from perfect to bad, electrodes of the given width."""
        low, high = np.log(_CONTACTS)
        tried = np.linspace(low, high, _TRIED)
        return [np.array([value, 0.0][: 1 + self.width]) for value in tried]


def _fitted(
    measurement: ElectrodeMeasurement, measured: Readings, fitted: str, each: bool, width: bool
) -> TankFit:
    electrodes = measurement.electrodes
    fit = _Fit(electrodes, measurement.pattern, resistance_model(electrodes), measured, width)
    contacts, factor = fit.found(each)
    rows = fit.model(contacts, factor)
    scale, residual = fit.scale(rows), float(fit.residual(rows).norm())
    if scale == 0:
        raise InputError(f"the {fitted} has nothing of the readings of an empty tank: check the pattern")
    sigma = 1 / (abs(scale) * measurement.height)
    body, impedance = electrodes.body, contacts * electrodes.body.scale / sigma
    found = Electrodes(body, electrodes.places, electrodes.widths * factor, impedance)
    return TankFit(sigma, found, scale * rows, residual, 1 if scale > 0 else -1, factor, fitted)


def _widest(electrodes: Electrodes) -> float:
    """The factor at which the widened electrodes would touch."""
    order = torch.argsort(electrodes.places)
    places, widths = electrodes.places[order], electrodes.widths[order]
    gap = (places.roll(-1) - places) % electrodes.body.perimeter
    return float((2 * gap / (widths + widths.roll(-1))).min())


def _check_enough(readings: int, each: bool, width: bool, electrodes: Electrodes) -> None:
    numbers = 1 + (electrodes.count if each else 1) + width
    if bool((electrodes.widths <= 0).any()):
        raise InputError("electrodes of no width have no contact impedance: give their widths")
    if readings < _TELLING * numbers:
        raise InputError(
            f"{readings} readings are too few to fit {numbers} numbers of the empty tank: "
            f"at least {_TELLING * numbers} are needed"
        )
