"""The paper's measurement: densities of current and potentials at points of the boundary."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from jaxtyping import Bool, Float64
from torch import Tensor

from eitlens import checks
from eitlens.domain import Domain, Square, bodies, boundary, check_boundary_values
from eitlens.domain.bodies import SQUARE
from eitlens.electrodes import Electrodes, Pattern
from eitlens.errors import InputError, prefix_errors
from eitlens.forward import add_noise
from eitlens.forward.base import Currents, Data
from eitlens.forward.currents import CurrentsConfig
from eitlens.measure import names
from eitlens.measure.base import FEWEST_POINTS, Measurement, Prepared
from eitlens.measure.combine import combined

# More of them no device has and memory would not hold.
MOST_POINTS, MOST_CURRENTS = 20_000, 64
_APART = 1e-6  # of the strongest combination of currents: a weaker one is rounding
_LARGEST, _SMALLEST = 1e12, 1e-12  # far beyond all volts and amperes; their squares are still numbers
_LEAST_CONDUCTIVITY = 1e-9  # and its inverse the largest: beyond them it is the unit that is wrong


@dataclass(frozen=True)
class PointMeasurement(Measurement):
    """Voltages at points of the boundary of a body, for a number of injected currents.

    Tensors, arrays and nested lists of real numbers will do; they are kept as float64 tensors on the CPU.

    Attributes:
        points: (N, 2), on the boundary, in any order, none twice.
        currents: (L, N), the density g of the injected current at the points; zero mean along the boundary.
        voltages: (L, N), the potential f at the points, up to a constant for each current.
        reference: (L, N), the potential f0 of the body without inclusions, measured or computed; when left out it
            is computed for a uniform body of conductivity `conductivity`. Zero when `voltages` are differences.
        mask: (N,) or (L, N), true where the voltage was measured; what is false is ignored and filled in.
        conductivity: σ0 of the body around the inclusions.
        domain: the body, on any grid. In files it is a name or an outline, and left out for the square.
        source: the file it was read from, for errors that are found later; no part of a file.

    >>> square = eit.Square(200)
    >>> g = eit.currents.cosine(square, 3)
    >>> data = eit.Measurement.of_points(square.boundary(), g, torch.zeros(3, 800))
    >>> data.points.shape, data.currents.shape
    (torch.Size([800, 2]), torch.Size([3, 800]))
    """

    points: Float64[Tensor, "points 2"]
    currents: Float64[Tensor, "currents points"]
    voltages: Float64[Tensor, "currents points"]
    reference: Float64[Tensor, "currents points"] | None = None
    mask: Bool[Tensor, "points"] | Bool[Tensor, "currents points"] | None = None
    conductivity: float = 1.0
    domain: Domain = SQUARE
    source: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.domain, Domain):
            raise InputError(f"domain: expected a body such as eitlens.Disk(200), got {self.domain!r}")
        for name in ("points", "currents", "voltages", "reference", "mask"):
            object.__setattr__(self, name, _kept(getattr(self, name), name))
        object.__setattr__(self, "conductivity", checks.number(self.conductivity, "conductivity"))
        if self.points.ndim != 2 or self.points.shape[1] != 2:
            raise InputError(
                f"points: expected (N, 2) coordinates, got an array of shape {_shape(self.points)}"
            )
        count = len(self.points)
        if not FEWEST_POINTS <= count <= MOST_POINTS:
            raise InputError(
                f"points: expected {FEWEST_POINTS} to {MOST_POINTS} boundary points, got {count}"
            )
        _bounded(self.points, "points")
        checks.positive_number(self.conductivity, "conductivity")
        if not _LEAST_CONDUCTIVITY <= self.conductivity <= 1 / _LEAST_CONDUCTIVITY:
            raise InputError(f"conductivity: {self.conductivity:.3g} is out of range: is the unit right?")
        _check_rows(self.currents, "currents", count, None)
        if float(self.currents.abs().max()) < _SMALLEST:
            raise InputError("currents: all are zero or nearly: there is no voltage without current")
        _check_rows(self.voltages, "voltages", count, len(self.currents), self.present)
        if self.reference is not None:
            _check_rows(self.reference, "reference", count, len(self.currents), self.present)

    @property
    def present(self) -> Bool[Tensor, "currents points"]:
        """True where a voltage was measured."""
        shape = (len(self.currents), len(self.points))
        if self.mask is None:
            return torch.ones(shape, dtype=torch.bool)
        if tuple(self.mask.shape) not in (shape, shape[1:]):
            raise InputError(
                f"mask: expected {shape[1]} values, or {shape}, true where a voltage was measured; "
                f"got an array of shape {_shape(self.mask)}"
            )
        return self.mask.expand(shape)

    @property
    def frames(self) -> int:
        """One: a sequence is for electrodes."""
        return 1

    @property
    def times(self) -> None:
        """Not known."""

    @cached_property
    def electrodes(self) -> Electrodes:
        """The points, as electrodes without width."""
        return Electrodes.at_points(self.domain, self.points, 0.0)

    @cached_property
    def pattern(self) -> Pattern:
        """The current through the piece of the boundary around each point, and its potential against their mean."""
        s, ends = self.electrodes.places, self.domain.perimeter
        order = torch.argsort(s)
        gap = torch.diff(s[order], append=s[order][:1] + ends)
        piece = torch.empty_like(s).index_copy(0, order, (gap + gap.roll(1)) / 2)
        amperes = self.currents * piece
        against_mean = torch.eye(len(s), dtype=torch.float64) - 1 / len(s)
        return Pattern(amperes - amperes.mean(1, keepdim=True), against_mean, self.present)

    def frame(self, number: int) -> "PointMeasurement":
        """The measurement itself, which has one frame."""
        if checks.whole(number, "frame") != 0:
            raise InputError(f"there is no frame {number}: measurements at points have one")
        return self

    def _prepared(self, wanted: CurrentsConfig, fewest: int, domain: Domain) -> Prepared:
        """See `Measurement.prepare`: the injected currents combined, and splines between the points."""
        return combined(self, wanted, fewest, domain)

    def to_arrays(self) -> dict[str, Any]:
        """The values for a file, by name, without what is left out."""
        values = {name: getattr(self, name) for name in names.OF_POINTS}
        values["domain"] = None if self.domain.name == SQUARE.name else bodies.to_text(self.domain)
        return {key: value for key, value in values.items() if value is not None}

    @staticmethod
    def from_arrays(values: object, where: str = "measurement") -> "PointMeasurement":
        """From a mapping of names to arrays or lists of numbers; an unknown name or a bad value is an error."""
        known = checks.with_keys(values, where, names.OF_POINTS, names.OF_POINTS[:3])
        given = {key: value for key, value in known.items() if value is not None}
        body = _body(where, given.pop("domain", SQUARE.name))
        arrays: dict[str, Any] = {k: checks.physics(v, f"{where}: {k}") for k, v in given.items()}
        for key in ("currents", "voltages", "reference"):
            if key in arrays and arrays[key].ndim == 1:  # a single current may be given as a plain row
                arrays[key] = arrays[key][None]
        with prefix_errors(where):
            return PointMeasurement(**arrays, domain=body, source=where)


def of_difference(
    difference: Data, currents: CurrentsConfig | None = None, domain: Domain | None = None
) -> PointMeasurement:
    """From f - f0 for the first L of a family, cosines by default, at the boundary nodes of a domain.

    Without one, values (L, 4n) are taken to be those at the nodes of Square(n).
    """
    given = checks.physics(difference, "f - f0").detach().cpu()
    body = _square(given) if domain is None else domain
    data = check_boundary_values(body, given, "f - f0")
    if data.ndim != 2:
        raise InputError(f"f - f0: expected (L, N) values, got an array of shape {_shape(given)}")
    family = currents if currents is not None else CurrentsConfig(count=len(data))
    return PointMeasurement(body.boundary(), family.build(body), data, torch.zeros_like(data), domain=body)


def _square(difference: Data) -> Square:
    """The square with so many boundary nodes."""
    if difference.ndim != 2 or difference.shape[1] % 4 or difference.shape[1] < FEWEST_POINTS:
        raise InputError(
            f"f - f0: expected (L, 4n) values at the boundary nodes, got an array of shape {_shape(difference)}: "
            "give `points` for others"
        )
    return Square(difference.shape[1] // 4)


def _body(where: str, given: object) -> Domain:
    """The body of that name or outline."""
    import numpy as np

    name = str(given.item() if isinstance(given, np.ndarray) and given.size == 1 else given)
    with prefix_errors(f"{where}: domain"):
        return bodies.from_text(name)


def measured(
    domain: Domain, currents: Currents, difference: Data, outside: float, tau: float, seed: int, points: int
) -> PointMeasurement:
    """Voltages as a device would give them: at the nodes, or at `points` even places, with noise on f - f0."""
    reference = domain.background(currents) / outside
    if points == 0:
        noisy = reference + add_noise(difference, tau, seed)
        return PointMeasurement(domain.boundary(), currents, noisy, reference, None, outside, domain)
    s = (torch.arange(points, dtype=torch.float64) + 0.5) * (domain.perimeter / points)
    place, g, f0, change = (
        boundary.from_nodes(values, s, domain)
        for values in (domain.boundary().T, currents, reference, difference)
    )
    told = int(torch.linalg.matrix_rank(g, rtol=_APART))
    if told < len(g):
        raise InputError(
            f"{points} points tell {told} of {len(g)} currents apart: take more points or fewer currents"
        )
    return PointMeasurement(place.T, g, f0 + add_noise(change, tau, seed), f0, None, outside, domain)


def _kept(given: object, name: str) -> Tensor | None:
    """The values given, as a float64 tensor; a mask as a boolean one."""
    if given is None and name in ("reference", "mask"):
        return None
    values = checks.physics(given, name).detach().cpu()
    if name != "mask":
        return values
    if not bool(((values == 0) | (values == 1)).all()):
        raise InputError("mask: expected true or false, 1 or 0, where a voltage was measured and where not")
    return values == 1


def _check_rows(
    values: Tensor, name: str, points: int, rows: int | None, present: Tensor | None = None
) -> None:
    if values.ndim != 2 or values.shape[1] != points or rows not in (None, len(values)):
        expected = f"({'L' if rows is None else rows}, {points})"
        swapped = values.ndim == 2 and values.shape[0] == points
        raise InputError(
            f"{name}: expected {expected} values, a row a current and a column a point, "
            f"got an array of shape {_shape(values)}{': transpose it' if swapped else ''}"
        )
    if not 1 <= len(values) <= MOST_CURRENTS:
        raise InputError(f"{name}: expected 1 to {MOST_CURRENTS} currents, got {len(values)}")
    _bounded(values if present is None else values[present], name)


def _bounded(values: Tensor, name: str) -> None:
    """Finite, and of a size whose square is still a number."""
    checks.finite(values, name)
    if values.numel() and float(values.abs().max()) > _LARGEST:
        raise InputError(f"{name}: values up to {float(values.abs().max()):.3g}: is the unit right?")


def _shape(values: Tensor) -> tuple[int, ...]:
    return tuple(values.shape)
