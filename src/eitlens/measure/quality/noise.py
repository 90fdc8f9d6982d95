"""Noise: by how much repeated frames of the same body differ.

The frames of a reference are repeated frames. Those of the measurement are not: what is in the body may move.
"""

import torch
from jaxtyping import Float64
from torch import Tensor

from eitlens.measure.quality.base import Fault
from eitlens.measure.readings import ElectrodeMeasurement

KIND = "noise"
_REPEATED = 2  # frames, at least
_LARGEST = 0.005  # of the readings: images get worse from here on


def noise(measurement: ElectrodeMeasurement) -> float | None:
    """The root mean square of the noise of a frame over that of the readings; None without a repeated reference."""
    frames = measurement.reference
    return None if frames is None or len(frames) < _REPEATED else _noise(frames)


def noisy(measurement: ElectrodeMeasurement) -> list[Fault]:
    """Noise that is too large."""
    size = noise(measurement)
    if size is None or size < _LARGEST:
        return []
    text = f"noise is {size:.2%} of the readings: frames of the same body differ by so much"
    return [Fault(KIND, text, size, "average frames, drive more current, or check cables and ground")]


def _noise(frames: Float64[Tensor, "frames readings"]) -> float:
    """Half the mean square of the steps from frame to frame, less what is a change of scale; the usual step counts."""
    there = frames[:, frames.isfinite().all(0)]
    if not there.numel() or not bool(there.any()):
        return 0.0
    mean = there.mean(0)
    steps = there.diff(dim=0)
    steps = steps - (steps @ mean / mean.square().sum().clamp(min=1e-300))[:, None] * mean
    usual = steps.square().mean(-1).median() / 2
    return float(torch.sqrt(usual / there.square().mean()))
