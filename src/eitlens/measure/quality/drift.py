"""Drift: what a frame has of the empty body's readings, as when the water conducts better than before.

A frame differs from the reference by b times the reference and by what the inclusions do. Inclusions inside change the
map from currents to potentials, and what they change in wave j read under wave k decays like ρ^(j + k), ρ the radius
they reach to. The readings of the empty body have no such decay. So with a Gaussian prior for the change,

    cov(c δR d, c' δR d') = ½ s² [κ(c, c') κ(d, d') + κ(c, d') κ(d, c')],    κ = Σ_k ρ^2k / k² a_k ⊗ a_k,

white noise, and nothing known of b, generalised least squares gives b and its deviation. ρ, s and the noise are those
of the largest likelihood. No model of the tank is needed beside the places of the electrodes.
"""

import math
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float64
from torch import Tensor

from eitlens.electrodes import Electrodes, Pattern
from eitlens.measure.estimate import wave_densities
from eitlens.measure.quality.base import Fault, noted
from eitlens.measure.quality.model import drives, reads
from eitlens.measure.readings import ElectrodeMeasurement

KIND = "drift"
_REACHES = (0.5, 0.65, 0.8, 0.95)  # ρ that are tried
_NOISES = torch.logspace(-6, 0, 13, dtype=torch.float64)  # variance of the noise over that of the change
_WAVES = 48  # finer ones are not felt inside
_MOST = 480  # readings that are taken: the work grows with their cube
_LEAST = 0.02  # a smaller drift does not show in an image
_SURE = 4.0  # deviations


class Drift(NamedTuple):
    """b of each frame, and its standard deviation for the frame that changed most."""

    factors: Float64[Tensor, "frames"]
    deviation: float

    @property
    def largest(self) -> float:
        """The b of the frame that drifted most."""
        return float(self.factors[self.factors.abs().argmax()])


class _Mixed(NamedTuple):
    """Readings in directions in which the change is independent, for one ρ: its variance, the frames, the reference."""

    variance: Float64[Tensor, "directions"]
    frames: Float64[Tensor, "frames directions"]
    empty: Float64[Tensor, "directions"]


def drift(measurement: ElectrodeMeasurement) -> Drift | None:
    """The component of each frame's change along the empty body's readings; None without a reference."""
    known = measurement.baseline
    if known is None or not bool((known.nan_to_num() != 0).any()):
        return None
    pattern, rows = _reduced(measurement.pattern, torch.cat([known[None], measurement.difference]))
    there = rows.isfinite().all(0)
    if not bool(there.any()) or not bool(rows[1:, there].any()):
        return Drift(torch.zeros(measurement.frames, dtype=torch.float64), 0.0)
    there = _some(there)
    rows = rows[:, there] / rows[0, there].square().mean().sqrt()
    parts = [_mixed(measurement.electrodes, pattern, there, rows, reach) for reach in _REACHES]
    largest = int(rows[1:].square().sum(-1).argmax())
    options = [(part, float(noise)) for part in parts for noise in _NOISES]
    part, noise = max(options, key=lambda option: _likelihood(option[0], option[1], largest))
    return _estimated(part, noise, largest)


def drifting(found: Drift) -> list[Fault]:
    """A drift that is large and sure."""
    size = found.largest
    if abs(size) < max(_LEAST, _SURE * found.deviation):
        return []
    more, frames = "more" if size > 0 else "less", "" if len(found.factors) == 1 else "up to "
    text = f"drift: all readings are {frames}{abs(size):.1%} {more} than in the reference, beside what an object does"

    def fix(given: ElectrodeMeasurement) -> ElectrodeMeasurement:
        note = f"drift of {size:+.1%} against the reference is taken off"
        taken = found.factors[:, None] * (given.voltages - given.difference)
        return noted(given, note, voltages=given.voltages - taken)

    return [Fault(KIND, text, size, "take off that part of the reference", fix=fix)]


def _reduced(
    pattern: Pattern, rows: Float64[Tensor, "frames readings"]
) -> tuple[Pattern, Float64[Tensor, "frames fewer"]]:
    """The readings of as few stimulations as the others are combinations of, where all channels are read."""
    basis = pattern.basis()
    complete = bool(pattern.mask.all()) and pattern.reading.ndim == 2 and bool(rows.isfinite().all())
    if not complete or len(basis.stimulations) == len(pattern.stimulation):
        return pattern, rows
    fewer = torch.linalg.pinv(basis.mixing) @ pattern.spread(rows)
    return Pattern(basis.stimulations, pattern.reading), fewer.flatten(1)


def _some(there: Bool[Tensor, "readings"]) -> Bool[Tensor, "readings"]:
    """Not too many of those that are true, evenly spread but in no step with the pattern."""
    numbers = torch.nonzero(there)[:, 0]
    chosen = numbers[torch.randperm(len(numbers), generator=torch.Generator().manual_seed(0))[:_MOST]]
    return torch.zeros_like(there).index_fill(0, chosen, True)


def _mixed(electrodes: Electrodes, pattern: Pattern, there: Tensor, rows: Tensor, reach: float) -> _Mixed:
    one, other = drives(pattern)[there], reads(pattern)[there]
    wave = torch.arange(1, _WAVES + 1, dtype=torch.float64).repeat_interleave(2)
    eye = torch.eye(electrodes.count, dtype=torch.float64)
    felt = wave_densities(electrodes, _WAVES, eye) * reach**wave / wave
    kernel = felt @ felt.mT
    straight = (one @ kernel @ one.mT) * (other @ kernel @ other.mT)
    crossed = (one @ kernel @ other.mT) * (other @ kernel @ one.mT)
    variance, directions = torch.linalg.eigh((straight + crossed) / straight.diagonal().mean())
    turned = rows @ directions
    return _Mixed(variance.clamp(min=0), turned[1:], turned[0])


def _estimated(part: _Mixed, noise: float, frame: int) -> Drift:
    weight = 1 / (part.variance + noise)
    size = (part.empty.square() * weight).sum()
    factors = (part.frames * part.empty * weight).sum(-1) / size
    left = part.frames[frame] - factors[frame] * part.empty
    return Drift(factors, math.sqrt(float((left.square() * weight).mean() / size)))


def _likelihood(part: _Mixed, noise: float, frame: int) -> float:
    """The logarithm of the restricted likelihood of a frame, s at its best."""
    weight = 1 / (part.variance + noise)
    size = (part.empty.square() * weight).sum()
    factor = (part.frames[frame] * part.empty * weight).sum() / size
    left = ((part.frames[frame] - factor * part.empty).square() * weight).mean().clamp(min=1e-300)
    return -0.5 * float(len(weight) * left.log() - weight.log().sum() + size.log())
