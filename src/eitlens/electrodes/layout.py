"""Electrodes: where each sits on a body, how wide it is, and the impedance of its contact."""

import math
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float64
from torch import Tensor

from eitlens import checks
from eitlens.domain import Domain, bodies
from eitlens.errors import InputError, prefix_errors

MOST = 1024
"""Electrodes of a body."""
DEFAULT_IMPEDANCE = 1e-6
"""Ω m²: next to nothing."""
_OFF = 1e-2
"""So far from the boundary, in units of the body's coordinates, an electrode may be given; it is moved there."""
_OVERLAP = 1e-9
"""Electrodes that share less than this part of the boundary touch by rounding."""
_ROUND = 4096
"""Places along the boundary between which an angle is looked for."""
_OFFSET = 0.3
"""Part of a step to the first of them: an electrode is seldom just there."""
_SEAM = 1e-12
"""Rounding of an angle: so near to the first node from behind is there."""


@dataclass(frozen=True, eq=False)
class Electrodes:
    """Electrodes on a body, each with its own place, width and contact impedance.

    Electrode number 1 is the first of each row of numbers, number 2 the second, wherever they sit. `Electrodes.even`
    spaces them evenly; `at_angles` and `at_points` put each where it is. The places and widths kept here are in units
    of the body's coordinates, of which one is `body.scale` metres.

    Attributes:
        body: what they sit on.
        places: (E,), arclength of the middle of each, counter-clockwise from the body's first boundary node.
        widths: (E,) along the boundary, or one for all; 0 for an electrode that is a point.
        impedance: (E,) z of each contact in Ω m², or one for all: voltage over current density. Points have none.

    >>> eit.Electrodes.even(eit.Disk(32), 4).places / torch.pi
    tensor([0.0000, 0.5000, 1.0000, 1.5000], dtype=torch.float64)
    """

    body: Domain
    places: Float64[Tensor, "electrodes"]
    widths: Float64[Tensor, "electrodes"]
    impedance: Float64[Tensor, "electrodes"]

    def __init__(
        self, body: Domain, places: object, widths: object, impedance: object = DEFAULT_IMPEDANCE
    ) -> None:
        if not isinstance(body, Domain):
            raise InputError(
                f"Electrodes: expected a body such as eitlens.Disk(200), got {checks.shown(body)}"
            )
        s = checks.finite(checks.physics(places, "Electrodes: places"), "Electrodes: places")
        if s.ndim != 1 or not 2 <= len(s) <= MOST:
            raise InputError(
                f"Electrodes: expected 2 to {MOST} places in one row, got shape {tuple(s.shape)}"
            )
        object.__setattr__(self, "body", body)
        object.__setattr__(self, "places", _around(s, body))
        object.__setattr__(self, "widths", _each(widths, "widths", s))
        object.__setattr__(self, "impedance", _each(impedance, "impedance", s))
        self._check_apart()

    @staticmethod
    def even(
        body: Domain,
        count: int = 32,
        coverage: float = 0.5,
        impedance: object = DEFAULT_IMPEDANCE,
        first: float = 0.0,
        clockwise: bool = False,
    ) -> "Electrodes":
        """Space `count` equal electrodes evenly, so that together they cover a part of the boundary.

        `first` is the polar angle of number 1, in radians, counter-clockwise from the x axis: π/2 is the top. The
        numbers run counter-clockwise, or `clockwise`. A coverage of 0 makes points.
        """
        given = checks.whole(count, "Electrodes: count")
        share = checks.number(coverage, "Electrodes: coverage")
        if not 2 <= given <= MOST or not 0 <= share < 1:
            raise InputError(
                f"Electrodes need 2 <= count <= {MOST} and 0 <= coverage < 1, got count={given}, coverage={share:g}"
            )
        start = _by_angle(
            body, torch.tensor([checks.number(first, "Electrodes: first")], dtype=torch.float64)
        )
        step = body.perimeter / given
        row = torch.arange(given, dtype=torch.float64) * (-step if clockwise else step)
        return Electrodes(body, start + row, share * step, impedance)

    @staticmethod
    def at_angles(
        body: Domain, angles: object, width: object, impedance: object = DEFAULT_IMPEDANCE
    ) -> "Electrodes":
        """Put electrode k at the polar angle angles[k], in radians about the body's origin; widths in metres."""
        given = checks.finite(checks.physics(angles, "Electrodes: angles"), "Electrodes: angles").flatten()
        return Electrodes(body, _by_angle(body, given), _in_units(width, body), impedance)

    @staticmethod
    def at_points(
        body: Domain, points: object, width: object, impedance: object = DEFAULT_IMPEDANCE
    ) -> "Electrodes":
        """Put electrode k at points[k], (x, y) in metres as the body's outline was given; widths in metres.

        Points within 1 % of the body's size from its boundary are moved there; others are refused.
        """
        given = checks.finite(checks.physics(points, "Electrodes: points"), "Electrodes: points")
        if given.ndim != 2 or given.shape[1] != 2:
            raise InputError(f"Electrodes: expected (E, 2) points, got shape {tuple(given.shape)}")
        place = (given - given.new_tensor(body.origin)) / body.scale
        away = body.clearance(place.detach()).abs()
        if bool((away > _OFF).any()):
            k = int(away.argmax())
            x, y = given[k].tolist()
            raise InputError(
                f"electrode {k + 1} at ({x:g}, {y:g}) m is {float(away[k]) * body.scale:.3g} m off the boundary of the "
                f"{body.name}: check its place, and the unit and the origin of the body"
            )
        return Electrodes(body, body.locate(place), _in_units(width, body), impedance)

    def __len__(self) -> int:
        return len(self.places)

    @property
    def count(self) -> int:
        """The number of electrodes."""
        return len(self.places)

    @property
    def starts(self) -> Float64[Tensor, "electrodes"]:
        """Arclength in [0, perimeter) where each begins, counter-clockwise."""
        return _around(self.places - self.widths / 2, self.body)

    @property
    def ends(self) -> Float64[Tensor, "electrodes"]:
        """Arclength where each ends; above the perimeter for one across the body's first node."""
        return self.starts + self.widths

    @property
    def relative_impedance(self) -> Float64[Tensor, "electrodes"]:
        """The impedance z / scale that goes with the body's coordinates, where a density is a current per unit."""
        return self.impedance / self.body.scale

    def points(self) -> Float64[Tensor, "electrodes 2"]:
        """Coordinates of their middles, in units of the body."""
        return self.body.place(self.places)

    def without(self, *numbers: int) -> "Electrodes":
        """The row with gaps: these electrodes, counted from 1, are taken off, and the others move up."""
        for number in numbers:
            if not 1 <= checks.whole(number, "electrode") <= self.count:
                raise InputError(f"there is no electrode {number}: they are numbered 1 to {self.count}")
        left = torch.tensor([k for k in range(self.count) if k + 1 not in numbers])
        return Electrodes(self.body, self.places[left], self.widths[left], self.impedance[left])

    def to_dict(self) -> dict[str, Any]:
        """The layout as plain JSON values."""
        rows = {name: getattr(self, name).tolist() for name in ("places", "widths", "impedance")}
        return {"body": bodies.to_dict(self.body), **rows}

    @staticmethod
    def from_dict(values: object) -> "Electrodes":
        """The layout from plain JSON values, each checked."""
        keys = ("body", "places", "widths", "impedance")
        if not isinstance(values, dict) or set(values) != set(keys):
            raise InputError(f"electrodes: expected an object with the keys {', '.join(keys)}")
        with prefix_errors("electrodes"):
            body = bodies.from_dict(values["body"])
        return Electrodes(body, *(values[key] for key in keys[1:]))

    def _check_apart(self) -> None:
        starts, ends = self.starts.detach(), self.ends.detach()
        order = torch.argsort(starts)
        after = order.roll(-1)
        gap = starts[after] - ends[order]
        gap[-1] += self.body.perimeter
        if bool((gap < -_OVERLAP * self.body.perimeter).any()):
            k = int(gap.argmin())
            one, other = sorted((int(order[k]) + 1, int(after[k]) + 1))
            raise InputError(
                f"electrodes {one} and {other} overlap by {-float(gap[k]) * self.body.scale:.3g} m: "
                "make them narrower or move them apart"
            )
        if self.count != len(torch.unique(self.places.detach())):
            raise InputError("electrodes: two are at the same place: give each once")


def _each(given: object, name: str, places: Tensor) -> Float64[Tensor, "electrodes"]:
    """One number an electrode, not negative."""
    values = checks.finite(checks.physics(given, f"Electrodes: {name}"), f"Electrodes: {name}")
    if values.numel() not in (1, len(places)) or values.ndim > 1:
        raise InputError(
            f"Electrodes: {name}: expected one number or {len(places)}, got shape {tuple(values.shape)}"
        )
    if bool((values < 0).any()):
        raise InputError(f"Electrodes: {name} must not be negative, got {float(values.min()):g}")
    return values.expand(len(places)).clone()


def _around(s: Float64[Tensor, "electrodes"], body: Domain) -> Float64[Tensor, "electrodes"]:
    """Arclengths in [0, perimeter)."""
    turned = s % body.perimeter
    return torch.where(turned < body.perimeter, turned, 0.0)  # the remainder of -1e-17 is rounded up


def _in_units(width: object, body: Domain) -> Tensor:
    return checks.physics(width, "Electrodes: width") / body.scale


def _by_angle(body: Domain, angles: Float64[Tensor, "electrodes"]) -> Float64[Tensor, "electrodes"]:
    """Arclength of the boundary point at each polar angle, by bisection; refused where there is not just one."""
    s = (torch.arange(_ROUND + 1, dtype=torch.float64) + _OFFSET) * (body.perimeter / _ROUND)
    place = torch.view_as_complex(body.place(s).contiguous())
    seen = (place / torch.polar(torch.ones_like(angles), angles)[:, None]).angle()
    crossing = (seen[:, :-1] <= 0) & (seen[:, 1:] > 0) & (seen.diff(dim=-1) < math.pi)
    if bool((crossing.sum(-1) != 1).any()):
        k = int((crossing.sum(-1) != 1).to(torch.int64).argmax())
        raise InputError(
            f"Electrodes: the ray at the angle {float(angles[k]):g} does not meet the boundary of the {body.name} just "
            "once: give coordinates instead (Electrodes.at_points)"
        )
    low = s[crossing.to(torch.int64).argmax(-1)]
    high = low + body.perimeter / _ROUND
    for _ in range(45):  # 2^-45 of a 4096th is below rounding
        middle = (low + high) / 2
        here = torch.view_as_complex(body.place(middle).contiguous())
        left = (here / torch.polar(torch.ones_like(angles), angles)).angle() <= 0
        low, high = torch.where(left, middle, low), torch.where(left, high, middle)
    s = middle % body.perimeter
    return torch.where(s + _SEAM < body.perimeter, s, 0.0)
