"""Random devices for round tanks: electrodes, patterns and gaps, for a network that is to read all of them."""

import math
from dataclasses import dataclass

import torch

from eitlens import checks
from eitlens.electrodes import Pattern
from eitlens.errors import InputError
from eitlens.feature.maps import MapPrior
from eitlens.feed.tanks import Range, ReadingDevice, Ring, Uncertain

_DRIVES = ("adjacent", "adjacent", "skip-1", "skip-2", "skip-3", "opposite", "all-against-1", "trigonometric")
"""Names of patterns; the commonest in the field is drawn twice as often."""
_PAIRS_DRIVEN = 0.4  # of the devices that drive pairs also read at electrodes that drive
_WHOLE = 0.6  # of the devices have all their electrodes; the others lack up to a third


@dataclass(frozen=True)
class Fleet:
    """Random devices.

    Attributes:
        electrodes: numbers of electrodes to choose from.
        coverage: of the boundary by electrodes, least and most.
        impedance: of the contacts, in radii over conductivity.
        unknown: the factor by which width and impedance of a tank may differ from what the code takes them for.
        pairs: random tanks of each device.
    """

    electrodes: tuple[int, ...] = (16, 32)
    coverage: Range = (0.2, 0.75)
    impedance: Range = (1e-5, 0.1)
    unknown: tuple[Range, Range] = ((0.95, 1.05), (0.5, 2.0))
    pairs: int = 8

    def __post_init__(self) -> None:
        for name in ("coverage", "impedance"):
            low, high = getattr(self, name)
            if not 0 < low <= high:
                raise InputError(f"Fleet: {name}=({low}, {high}): expected 0 < low <= high")
        if self.coverage[1] * self.unknown[0][1] >= 1:
            raise InputError("Fleet: coverage: the widest electrodes would overlap: choose less")
        checks.at_least("Fleet: pairs", self.pairs, 1)

    def device(self, prior: MapPrior, draw: torch.Generator, spread: Uncertain) -> ReadingDevice:
        """One random device."""

        def uniform() -> float:
            return float(torch.rand((), generator=draw, dtype=torch.float64, device=draw.device))

        count = self.electrodes[int(uniform() * len(self.electrodes))]
        pattern = _pattern(count, uniform())
        gone = _gone(count, uniform(), draw)
        pattern = pattern.without(*gone)
        low, high = self.coverage
        coverage = low + (high - low) * uniform()
        low, high = self.impedance
        contact = low * (high / low) ** uniform()
        angles = torch.arange(count, dtype=torch.float64, device=draw.device) * (2 * math.pi / count)
        ring = Ring(angles, 2 * math.pi * coverage / count, contact)
        tanks = ring.pairs(self.pairs, prior.count, spread, draw, *self.unknown)
        return ReadingDevice.of(pattern, pattern.mask, ring, tanks, prior)


def _pattern(count: int, u: float) -> Pattern:
    """A pattern; the last digits of the number say whether driven electrodes are read."""
    place = u * len(_DRIVES)
    name = _DRIVES[int(place)]
    if name == "trigonometric":
        return Pattern.named(name, count, readings="mean", driven=True)
    return Pattern.named(name, count, driven=place % 1 < _PAIRS_DRIVEN)


def _gone(count: int, u: float, draw: torch.Generator) -> list[int]:
    """The numbers of the electrodes that are missing."""
    if u < _WHOLE:
        return []
    most = count // 3
    missing = 1 + int((u - _WHOLE) / (1 - _WHOLE) * most)
    order = torch.randperm(count, generator=draw, device=draw.device)
    return sorted(int(k) + 1 for k in order[:missing])
