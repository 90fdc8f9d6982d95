"""Saturation: readings that end at the largest value a device can give."""

import torch
from jaxtyping import Bool
from torch import Tensor

from eitlens.measure.quality.base import Fault
from eitlens.measure.readings import ElectrodeMeasurement

KIND = "saturation"
_SAME = 1e-9  # of the largest reading: equal but for rounding
_FEWEST = 3  # readings that are equal by chance are fewer
_VARIES = 1e-6  # of the readings: frames that differ by less are no repeats of a noisy measurement


def saturated(measurement: ElectrodeMeasurement) -> list[Fault]:
    """Readings that are the largest of all in every frame, to the last digit, where others vary."""
    parts = [measurement.voltages] + ([] if measurement.reference is None else [measurement.reference])
    frames = torch.cat(parts)
    at_end = _at_end(frames)
    if len(frames) < 2 or int(at_end.sum()) < _FEWEST or not _varies(frames[:, ~at_end]):
        return []
    count = int(at_end.sum())
    stimulations = tuple(sorted(set((torch.nonzero(measurement.pattern.mask)[at_end, 0] + 1).tolist())))
    limit = float(frames.nan_to_num().abs().max())
    text = (
        f"{count} readings are saturated: they are {limit:.4g} V in every frame, the largest value there is"
    )

    def fix(given: ElectrodeMeasurement) -> ElectrodeMeasurement:
        return given.masked(~at_end, f"{count} saturated readings are left out")

    remedy = "leave them out; and drive less current, or amplify less"
    return [Fault(KIND, text, count / len(at_end), remedy, stimulations=stimulations, fix=fix)]


def _at_end(frames: Tensor) -> Bool[Tensor, "readings"]:
    size = frames.nan_to_num().abs()
    return (size >= (1 - _SAME) * size.max()).all(0)


def _varies(frames: Tensor) -> bool:
    there = frames[:, frames.isfinite().all(0)]
    return bool(there.numel()) and float(there.std(0).mean()) > _VARIES * float(there.abs().mean())
