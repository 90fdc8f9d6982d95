"""Patterns: which electrodes drive, and which differences of potentials are read, by name, by hand or from files.

    potentials = solver.voltages(phantom, pattern.stimulation)    (stimulations, electrodes)
    readings = pattern.read(potentials)                           (readings), stimulation by stimulation

Signs. A pair (l, m) drives current into l and out of m, and a channel (l, m) is the potential of l less that of m.
Other programs' patterns: `eitlens.electrodes.protocols`.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float64, Int64
from scipy.linalg import qr
from torch import Tensor

from eitlens import checks
from eitlens.errors import InputError
from eitlens.registry import Registry

_SUM = 1e-6
"""A sum this small, relative to the largest term, is zero: measured currents are given in few digits."""
_ZERO = 1e-9
"""What is this small, relative to the rest, is rounding."""
_RANK = 1e-8
"""Stimulations below this part of the largest are combinations of the others but for rounding."""
_DIGITS = 6
"""Digits in which two directions of current must agree to be the same."""
MOST_ELECTRODES = 1024  # the largest devices have 256
_LEAST, _MOST_AMPERES = 1e-15, 1e6  # far beyond all devices on both sides: it is the unit that is wrong


class Basis(NamedTuple):
    """Stimulations of which all are combinations: stimulation = mixing @ stimulations."""

    stimulations: Float64[Tensor, "rank electrodes"]
    mixing: Float64[Tensor, "stimulations rank"]


class Reciprocal(NamedTuple):
    """Readings that the same pair of electrode pairs gives twice: readings[other] = factor * readings[one]."""

    one: Int64[Tensor, "pairs"]
    other: Int64[Tensor, "pairs"]
    factor: Float64[Tensor, "pairs"]


@dataclass(frozen=True, eq=False)
class Pattern:
    """Stimulations, and the channels that are read for each.

    Attributes:
        stimulation: (L, E), amperes into each electrode; each row sums to zero.
        reading: (M, E), a channel a row, its weights of the electrodes, which sum to zero; or (L, M, E), a set for each
            stimulation.
        mask: (L, M), true where a channel is read; all are where it is left out.

    >>> pattern = eit.Pattern.named("adjacent", 16, current=1e-3)
    >>> pattern.stimulation.shape, pattern.count
    (torch.Size([16, 16]), 208)
    """

    stimulation: Float64[Tensor, "stimulations electrodes"]
    reading: Float64[Tensor, "channels electrodes"] | Float64[Tensor, "stimulations channels electrodes"]
    mask: Bool[Tensor, "stimulations channels"]

    def __init__(self, stimulation: object, reading: object, mask: object = None) -> None:
        drive = _rows(
            stimulation, "stimulation", (2,), "currents must have zero sum (what goes in comes out)"
        )
        read = _rows(
            reading, "reading", (2, 3), "a channel is a difference of electrodes: its weights sum to zero"
        )
        if not bool((drive != 0).any(-1).all()):
            k = int((drive == 0).all(-1).to(torch.int8).argmax())
            raise InputError(f"pattern: stimulation {k + 1} drives no current: leave it out")
        if read.shape[-1] != drive.shape[1] or (read.ndim == 3 and len(read) != len(drive)):
            raise InputError(
                f"pattern: {tuple(drive.shape)} stimulations (L, E) do not go with readings of shape "
                f"{tuple(read.shape)}: expected (M, {drive.shape[1]}) or ({len(drive)}, M, {drive.shape[1]})"
            )
        shape = (len(drive), read.shape[-2])
        kept = torch.ones(shape, dtype=torch.bool) if mask is None else checks.physics(mask, "mask") != 0
        if tuple(kept.shape) != shape:
            raise InputError(f"pattern: mask: expected {shape} values, got shape {tuple(kept.shape)}")
        for name, value in (("stimulation", drive), ("reading", read), ("mask", kept)):
            object.__setattr__(self, name, value)

    @staticmethod
    def named(
        name: str,
        electrodes: int,
        current: float = 1.0,
        readings: str = "adjacent",
        driven: bool = False,
        rotating: bool = False,
    ) -> "Pattern":
        """Make a pattern of a known kind for a number of electrodes and a current in amperes.

        Args:
            name: `adjacent`, `opposite`, `skip-3` (so many electrodes between the two that drive), `all-against-1`
                (from each into that one), `trigonometric` (cosines, then sines, along the row; `current` is their
                amplitude), or one that is registered.
            electrodes: how many there are.
            current: amperes.
            readings: the channels in the same words: pairs, or `all-against-1`, or `mean`: each electrode against the
                mean of all.
            driven: whether channels with an electrode that drives are read too. With trigonometric currents all drive.
            rotating: whether the first channel is that at the first electrode that drives, and so on, and not always at
                electrode 1.
        """
        count = checks.whole(electrodes, "electrodes")
        if not 3 <= count <= MOST_ELECTRODES:
            raise InputError(f"pattern: expected 3 to {MOST_ELECTRODES} electrodes, got {count}")
        amperes = checks.number(current, "current")
        if not _LEAST <= abs(amperes) <= _MOST_AMPERES:
            raise InputError(
                f"pattern: a current of {amperes:g} A: expected a current that some device drives"
            )
        try:
            return Pattern.driven_by(amperes * _named(name, count), readings, driven, rotating)
        except InputError as error:
            raise InputError(f"pattern {name!r}: {error}") from None

    @staticmethod
    def driven_by(
        stimulation: object, readings: str = "adjacent", driven: bool = False, rotating: bool = False
    ) -> "Pattern":
        """Make a pattern of currents (L, E) in amperes, and of channels by their name, as in `named`."""
        drive = checks.physics(stimulation, "stimulation")
        count = drive.shape[-1]
        read = torch.eye(count, dtype=torch.float64) if readings == "mean" else _named(readings, count)
        read = _rotated(drive, read) if rotating else read
        touched = ((drive != 0)[:, None] & (read != 0)).any(-1)
        read = read - read.mean(-1, keepdim=True)  # the mean of all, where it is a single electrode
        if not driven and bool(touched.all()):
            raise InputError("every channel has an electrode that drives: allow them (driven=True, --driven)")
        return Pattern(drive, read, None if driven else ~touched)

    @property
    def electrodes(self) -> int:
        """The number of electrodes."""
        return self.stimulation.shape[1]

    @property
    def count(self) -> int:
        """The number of readings."""
        return int(self.mask.sum())

    @property
    def channels(self) -> Float64[Tensor, "stimulations channels electrodes"]:
        """The channels of each stimulation, also where they are the same for all."""
        return self.reading.expand(len(self.stimulation), -1, -1) if self.reading.ndim == 2 else self.reading

    def read(
        self, potentials: Float64[Tensor, "*batch stimulations electrodes"]
    ) -> Float64[Tensor, "*batch readings"]:
        """The readings from the potentials of the electrodes, one stimulation after the other, without masked ones."""
        given = checks.physics(potentials, "potentials")
        if given.ndim < 2 or given.shape[-2:] != self.stimulation.shape:
            raise InputError(
                f"potentials: expected (…, {len(self.stimulation)}, {self.electrodes}) values, "
                f"got shape {tuple(given.shape)}"
            )
        equation = "...le,me->...lm" if self.reading.ndim == 2 else "...le,lme->...lm"
        return torch.einsum(equation, given, self.reading.to(given))[..., self.mask.to(given.device)]

    def spread(
        self, readings: Float64[Tensor, "*batch readings"]
    ) -> Float64[Tensor, "*batch stimulations channels"]:
        """The readings as a table, nan where a channel is not read."""
        given = checks.physics(readings, "readings")
        if given.ndim == 0 or given.shape[-1] != self.count:
            raise InputError(f"readings: expected (…, {self.count}) values, got shape {tuple(given.shape)}")
        table = given.new_full((*given.shape[:-1], *self.mask.shape), torch.nan)
        table[..., self.mask.to(given.device)] = given
        return table

    def basis(self) -> Basis:
        """The fewest stimulations that make up all others: a solver needs no more right-hand sides."""
        drive = self.stimulation.numpy()
        _, triangle, order = qr(drive.T, mode="economic", pivoting=True)
        size = np.abs(np.diag(triangle))
        some = torch.from_numpy(drive[np.sort(order[: int((size > _RANK * size[0]).sum())])])
        mixing = torch.linalg.lstsq(some.T, self.stimulation.T).solution.T
        near = mixing.round()  # pairs combine to pairs with whole factors
        return Basis(some, torch.where((mixing - near).abs() < _ZERO, near, mixing))

    def reciprocal(self) -> Reciprocal:
        """The pairs of readings in which the electrodes that drive and those that are read have changed places."""
        place = torch.nonzero(self.mask)
        drive, read = self.stimulation[place[:, 0]], self.channels[place[:, 0], place[:, 1]]
        currents, channels = _directions(drive), _directions(read)
        seen: dict[tuple[bytes, bytes], int] = {}
        found = []
        for k, (current, channel) in enumerate(zip(currents, channels, strict=True)):
            partner = seen.get((channel, current))
            if partner is not None:
                # V = M Z I: with I' = a M and I = b M' follows V' = (a / b) V.
                a = float(drive[k] @ read[partner] / read[partner].square().sum())
                b = float(drive[partner] @ read[k] / read[k].square().sum())
                found.append((partner, k, a / b))
            seen.setdefault((current, channel), k)
        one, other, factor = zip(*found, strict=True) if found else ((), (), ())
        return Reciprocal(
            torch.tensor(one, dtype=torch.int64),
            torch.tensor(other, dtype=torch.int64),
            torch.tensor(factor, dtype=torch.float64),
        )

    def renumbered(self, order: object) -> "Pattern":
        """The pattern for a device whose electrode k + 1 sits where number order[k] + 1 of ours does."""
        index = torch.as_tensor(order, dtype=torch.int64)
        if not torch.equal(index.sort().values, torch.arange(self.electrodes)):
            raise InputError(
                f"order: expected each of 0 … {self.electrodes - 1} once, got {checks.shown(order)}"
            )
        place = torch.argsort(index)
        return Pattern(self.stimulation[:, place], self.reading[..., place], self.mask)

    def turned(self, by: int) -> "Pattern":
        """The pattern of a device whose number 1 is our number 1 + by."""
        return self.renumbered((torch.arange(self.electrodes) + checks.whole(by, "by")) % self.electrodes)

    def mirrored(self) -> "Pattern":
        """The pattern of a device that counts the other way round from the same number 1."""
        return self.renumbered(-torch.arange(self.electrodes) % self.electrodes)

    def without(self, *numbers: int) -> "Pattern":
        """The pattern less all readings in which these electrodes, counted from 1, drive or are read."""
        for number in numbers:
            if not 1 <= checks.whole(number, "electrode") <= self.electrodes:
                raise InputError(f"there is no electrode {number}: they are numbered 1 to {self.electrodes}")
        gone = torch.tensor([number - 1 for number in numbers], dtype=torch.int64)
        drives = (self.stimulation[:, gone] != 0).any(-1)[:, None]
        used = (self.channels[..., gone] != 0).any(-1)
        return Pattern(self.stimulation, self.reading, self.mask & ~drives & ~used)

    def to_dict(self) -> dict[str, Any]:
        """The pattern as plain JSON values."""
        return {name: getattr(self, name).tolist() for name in ("stimulation", "reading", "mask")}

    @staticmethod
    def from_dict(values: object) -> "Pattern":
        """The pattern from plain JSON values, each checked."""
        keys = {"stimulation", "reading", "mask"}
        if not isinstance(values, dict) or not {"stimulation", "reading"} <= values.keys() <= keys:
            raise InputError(
                "pattern: expected an object with the keys stimulation, reading and, if wanted, mask"
            )
        return Pattern(values["stimulation"], values["reading"], values.get("mask"))


def _rows(given: object, name: str, dimensions: tuple[int, ...], why: str) -> Tensor:
    """Rows over the electrodes, of zero sum and none of zeros alone where it may be used."""
    rows = checks.finite(checks.physics(given, f"pattern: {name}"), f"pattern: {name}").detach().cpu()
    if rows.ndim not in dimensions or 0 in rows.shape or rows.shape[-1] > MOST_ELECTRODES:
        shape = "(L, E)" if dimensions == (2,) else "(M, E) or (L, M, E)"
        raise InputError(f"pattern: {name}: expected {shape} values, got shape {tuple(rows.shape)}")
    wrong = rows.sum(-1).abs() > _SUM * rows.abs().amax(-1)
    if bool(wrong.any()):
        k = torch.nonzero(wrong)[0].tolist()
        total = float(rows.sum(-1)[tuple(k)])
        raise InputError(
            f"pattern: {name}: row {', '.join(str(i + 1) for i in k)} sums to {total:.3g}: {why}"
        )
    return rows


def _directions(rows: Float64[Tensor, "rows electrodes"]) -> list[bytes]:
    """A key of each row that is the same for all its multiples."""
    size = rows.abs()
    first = (size > _ZERO * size.amax(-1, keepdim=True)).to(torch.int8).argmax(-1, keepdim=True)
    unit = torch.round(rows / rows.gather(-1, first), decimals=_DIGITS) + 0.0
    return [row.tobytes() for row in unit.numpy()]


def _rotated(drive: Tensor, read: Tensor) -> Float64[Tensor, "stimulations channels electrodes"]:
    """The channels from that at the first electrode that drives on."""
    first = (drive > 0).to(torch.int8).argmax(-1).tolist()
    return torch.stack([read.roll(-k, 0) for k in first])


def _named(name: str, count: int) -> Float64[Tensor, "rows electrodes"]:
    """The rows of one ampere, or of one channel, by their name."""
    found = re.fullmatch(r"(.+)-(\d+)", name) if isinstance(name, str) else None
    if found and f"{found[1]}-k" in PATTERNS:
        return checks.physics(PATTERNS[f"{found[1]}-k"](count, int(found[2])), name)
    PATTERNS.check("pattern", name)
    return checks.physics(PATTERNS[name](count), name)


def _pairs(count: int, distance: int) -> Float64[Tensor, "rows electrodes"]:
    """Rows that drive in at each electrode and out at the one a number of electrodes further on."""
    eye = torch.eye(count, dtype=torch.float64)
    return eye - eye.roll(distance, 1)


def adjacent(count: int) -> Float64[Tensor, "rows electrodes"]:
    """Each electrode against the next."""
    return _pairs(count, 1)


def opposite(count: int) -> Float64[Tensor, "rows electrodes"]:
    """Each electrode against the one across."""
    return _pairs(count, count // 2)


def skip(count: int, between: int) -> Float64[Tensor, "rows electrodes"]:
    """Each electrode against another, with so many between them."""
    if not 0 <= between < count - 1:
        raise InputError(f"pattern 'skip-{between}': {count} electrodes can skip 0 to {count - 2}")
    return _pairs(count, between + 1)


def all_against(count: int, number: int) -> Float64[Tensor, "rows electrodes"]:
    """Each of the others against one electrode, counted from 1."""
    if not 1 <= number <= count:
        raise InputError(f"pattern 'all-against-{number}': the electrodes are numbered 1 to {count}")
    eye = torch.eye(count, dtype=torch.float64)
    others = [k for k in range(count) if k != number - 1]
    return eye[others] - eye[number - 1]


def trigonometric(count: int) -> Float64[Tensor, "rows electrodes"]:
    """The cosines and then the sines of the electrodes' angles 2πk / E: a basis of all currents."""
    angle = torch.arange(count, dtype=torch.float64) * (2 * torch.pi / count)
    cosines = [torch.cos(order * angle) for order in range(1, count // 2 + 1)]
    sines = [torch.sin(order * angle) for order in range(1, (count - 1) // 2 + 1)]
    rows = torch.stack(cosines + sines)
    return rows - rows.mean(-1, keepdim=True)


Rows = Callable[..., Tensor]


def _accepted(name: str, thing: object) -> Rows:
    if not callable(thing):
        raise InputError(
            f"pattern {name!r}: expected a function of the number of electrodes (of a number k too, if the name ends "
            f"in -k) that returns rows of zero sum, got {thing!r}"
        )
    return thing


PATTERNS: Registry[Rows] = Registry(
    "pattern",
    {
        "adjacent": adjacent,
        "opposite": opposite,
        "skip-k": skip,
        "all-against-k": all_against,
        "trigonometric": trigonometric,
    },
    _accepted,
)
"""Rows of one ampere or one channel by name; a name that ends in -k is spelled with a number."""
