"""A setup: what the user knows of a tank and its device, where the file of a measurement does not say it."""

import math
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import torch

from eitlens import checks
from eitlens.domain import Domain, bodies
from eitlens.electrodes import Electrodes, Pattern
from eitlens.electrodes.layout import DEFAULT_IMPEDANCE
from eitlens.errors import InputError, prefix_errors
from eitlens.files import read_json
from eitlens.measure import units

HELP = "give the setup, such as --electrodes 16 --pattern adjacent, or --setup tank.json (docs/your_tank.md)"
_COVERAGE = 0.5  # half of the boundary, where nothing is said
_WORDS = ("readings", "driven", "rotating", "flipped")
"""What is said of a pattern beside its name."""
_UNITS = {
    "scale": "m",
    "current": "A",
    "height": "m",
    "conductivity": "S/m",
    "rate": "Hz",
    "impedance": "Ωm²",
}
"""The SI unit of each quantity, which may also be given as text: "5 mA"."""
_POSITIVE, _SIGNED = {"scale", "height", "conductivity", "rate"}, {"current"}
_SMALLEST, _LARGEST = 1e-15, 1e12
"""Beyond all tanks and devices in SI units; a contact may be perfect, which is 0."""


@dataclass(frozen=True, eq=False)
class Setup:
    """The tank and the device of a measurement: what is None, the file says, or it is not known.

    Quantities are SI numbers or text with a unit, such as "5 mA". Angles are degrees.

    Attributes:
        body: a body, the name of one (`disk`, `thorax`, …) or the .json file of one; a disk if nobody says.
        scale: metres of one unit of the body's coordinates: the radius of a disk.
        electrodes: how many are spaced evenly; or `Electrodes`, which know their body and their places themselves.
        coverage: the part of the boundary under electrodes, half if nobody says.
        impedance: of the contacts, in Ω m².
        first: the angle of electrode 1, counter-clockwise from the right; 90 is the top.
        clockwise: whether the numbers run clockwise.
        points: (E, 2), the electrodes' middles in metres, where they are not evenly spaced.
        pattern: what drives, by name (`adjacent`, `skip-2`, …), or a whole `Pattern`.
        readings: the channels in the same words; adjacent if nobody says.
        driven: whether channels at electrodes that drive are used; if nobody says, they are not.
        rotating: whether the channels begin at the electrode that drives, and not always at electrode 1.
        flipped: whether a channel is the second electrode less the first.
        calibrated: whether each channel has a gain of its own, or lost its sign; then the gains are those by which the
            reference is what the empty tank reads, and without a reference the signs alone are that tank's.
        current: in amperes.
        unit: of the values: V, mV, uV.
        height: of the tank, in metres.
        conductivity: of the empty tank, in S/m.
        rate: frames a second.

    >>> setup = eit.Setup(electrodes=16, pattern="adjacent", current="5 mA", scale="15 cm")
    >>> setup.current, setup.stimulated().count
    (0.005, 208)
    """

    body: Domain | str | None = None
    scale: float | str | None = None
    electrodes: int | Electrodes | None = None
    coverage: float | None = None
    impedance: float | None = None
    first: float | None = None
    clockwise: bool | None = None
    points: Any = None
    pattern: str | Pattern | None = None
    readings: str | None = None
    driven: bool | None = None
    rotating: bool | None = None
    flipped: bool | None = None
    calibrated: bool | None = None
    current: float | str | None = None
    unit: str | None = None
    height: float | str | None = None
    conductivity: float | str | None = None
    rate: float | str | None = None

    def __post_init__(self) -> None:
        for name, unit in _UNITS.items():
            if getattr(self, name) is not None:
                with prefix_errors(name):
                    object.__setattr__(self, name, _sensible(units.si(getattr(self, name), unit), name))
        for name in ("coverage", "first"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, _finite(checks.number(getattr(self, name), name), name))
        if not isinstance(self.body, Domain | str | None):
            raise InputError(f"body: expected a body, or the name of one, got {checks.shown(self.body)}")
        for name in (*_WORDS, "clockwise", "calibrated"):
            if name != "readings" and getattr(self, name) not in (None, True, False):
                raise InputError(f"{name}: expected true or false, got {checks.shown(getattr(self, name))}")

    def over(self, known: "Setup") -> "Setup":
        """This setup, and what `known` says where this one says nothing."""
        said = {name: value for name in NAMES if (value := getattr(self, name)) is not None}
        if isinstance(self.pattern, Pattern):  # it says all of these itself
            said = dict.fromkeys(_WORDS) | said
        return replace(known, **said)

    @property
    def domain(self) -> Domain:
        """The body, in its size."""
        body = bodies.chosen(self.body or "disk") if isinstance(self.body, str | None) else self.body
        return body if self.scale is None else bodies.scaled(body, float(self.scale))

    def placed(self) -> Electrodes:
        """The electrodes on the body."""
        if isinstance(self.electrodes, Electrodes):
            return self.electrodes
        body, share = self.domain, _COVERAGE if self.coverage is None else self.coverage
        impedance = DEFAULT_IMPEDANCE if self.impedance is None else self.impedance
        if self.points is not None:
            width = share * body.perimeter * body.scale / len(self.points)
            return Electrodes.at_points(body, self.points, width, impedance)
        count, first = self._count(), math.radians(self.first or 0.0)
        return Electrodes.even(body, count, share, impedance, first, bool(self.clockwise))

    def stimulated(self) -> Pattern:
        """The pattern, with a current of 1 A if nobody says."""
        if self.pattern is None:
            raise InputError(f"the pattern is not known: {HELP}")
        words = self.readings or "adjacent", bool(self.driven), bool(self.rotating)
        if not isinstance(self.pattern, Pattern):
            current = 1.0 if self.current is None else float(self.current)
            found = Pattern.named(self.pattern, self._count(), current, *words)
        else:
            asked = any(word is not None for word in (self.readings, self.driven, self.rotating))
            found = Pattern.driven_by(self.pattern.stimulation, *words) if asked else self.pattern
            found = found if self.current is None else _with_current(found, float(self.current))
        return Pattern(found.stimulation, -found.reading, found.mask) if self.flipped else found

    def _count(self) -> int:
        if isinstance(self.electrodes, Electrodes):
            return self.electrodes.count
        if self.electrodes is None:
            raise InputError(f"the number of electrodes is not known: {HELP}")
        return self.electrodes

    @staticmethod
    def from_dict(values: object) -> "Setup":
        """From plain JSON values: the names above; a body, electrodes or a pattern may be what files keep of one."""
        given = checks.with_keys(values, "setup", NAMES)
        builders = {
            "body": bodies.from_dict,
            "electrodes": Electrodes.from_dict,
            "pattern": Pattern.from_dict,
        }
        for name, build in builders.items():
            if isinstance(given.get(name), dict):
                given[name] = build(given[name])
        if given.get("points") is not None:
            given["points"] = torch.as_tensor(given["points"], dtype=torch.float64)
        return Setup(**given)

    @staticmethod
    def load(path: Path | str) -> "Setup":
        """From a JSON file."""
        example = '{"electrodes": 16, "pattern": "adjacent", "current": "5 mA", "scale": "15 cm"}'
        return read_json(Path(path), Setup.from_dict, f"a setup looks like {example}")


def _sensible(value: float, name: str) -> float:
    """A quantity that is finite, of a size that some tank has, and positive unless its sign has a meaning."""
    size = abs(_finite(value, name))
    if name in _POSITIVE and value <= 0:
        raise InputError(f"expected a positive number, got {value:g}")
    if value < 0 and name not in _SIGNED:
        raise InputError(f"expected no negative number, got {value:g}")
    if size and not _SMALLEST <= size <= _LARGEST:
        raise InputError(f"{value:.3g} {_UNITS[name]}: is the unit right?")
    return value


def _finite(value: float, name: str) -> float:
    if not math.isfinite(value):
        raise InputError(f"{name}: expected a finite number, got {value}")
    return value


def _with_current(pattern: Pattern, current: float) -> Pattern:
    """The pattern with another current through the electrode that drives most."""
    size = current / pattern.stimulation.abs().max()
    return Pattern(pattern.stimulation * size, pattern.reading, pattern.mask)


NAMES = tuple(field.name for field in fields(Setup))
"""What a setup may say."""
