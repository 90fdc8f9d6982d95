"""A sequence: the frames of several files as one measurement, and the frames that they are compared with."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import torch

from eitlens.errors import InputError
from eitlens.measure.base import Measurement
from eitlens.measure.parsing import measured
from eitlens.measure.readings import ElectrodeMeasurement, same_setup
from eitlens.measure.recording import Recording, calibrated
from eitlens.measure.setup import NAMES, Setup

_STILL = ("calibrated", "rate")
"""What may be said of files that say all of the tank themselves."""


class Found(NamedTuple):
    """What was found in a file, and the name of the file."""

    content: Recording | Measurement
    where: str

    @property
    def empty(self) -> bool:
        """Whether it says that it is of the empty tank."""
        return isinstance(self.content, Recording) and self.content.empty


def compared(found: Sequence[Found], setup: Setup, reference: Sequence[Found] = ()) -> Measurement:
    """The measurement of files in their order, compared with those of a reference.

    Without a reference the files that say they are of the empty tank are that of the others.
    """
    target = [one for one in found if reference or not one.empty] or found
    water = [*reference] or [one for one in found if one.empty and len(target) < len(found)]
    _check_asked([*found, *reference], setup)
    joined = _joined(target, setup)
    if water:
        joined = _electrodes(joined).against(_electrodes(_joined(water, setup)))
    first = target[0].content
    if not isinstance(first, Recording):
        return calibrated(_electrodes(joined)) if setup.calibrated else joined
    frames = _electrodes(joined)
    if frames.times is not None:  # of the day, where the device tells it
        frames = replace(frames, times=frames.times - frames.times[0])
    return calibrated(frames) if setup.over(first.known).calibrated else frames


def _check_asked(found: Sequence[Found], setup: Setup) -> None:
    """Refuse a setup that no file has a use for: ignored in silence, it would mislead."""
    said = [name for name in NAMES if getattr(setup, name) is not None and name not in _STILL]
    if said and not any(isinstance(one.content, Recording) for one in found):
        raise InputError(
            f"{found[0].where}: the file says all of the tank itself: leave out "
            + ", ".join(f"--{name}" for name in said)
        )


def _joined(found: Sequence[Found], setup: Setup) -> Measurement:
    """One measurement of the frames of several files."""
    parts = [measured(one.content, setup, one.where) for one in found]
    if len(parts) == 1:
        return parts[0]
    frames = [_electrodes(part) for part in parts]
    for frame in frames:
        if not same_setup(frames[0], frame):
            raise InputError(f"{frame.source}: not the same electrodes and pattern as {frames[0].source}")
    voltages = torch.cat([frame.voltages for frame in frames])
    notes = tuple(dict.fromkeys(note for frame in frames for note in frame.notes))
    return replace(frames[0], voltages=voltages, times=_times(frames, setup), notes=notes)


def _times(frames: Sequence[ElectrodeMeasurement], setup: Setup) -> torch.Tensor | None:
    """By the rate that the user gives, or of the files where they go on from one to the next."""
    if setup.rate is not None:
        count = sum(frame.frames for frame in frames)
        return torch.arange(count, dtype=torch.float64) / float(setup.rate)
    known = [frame.times for frame in frames if frame.times is not None]
    times = torch.cat(known) if len(known) == len(frames) else None
    return times if times is not None and bool((times.diff() > 0).all()) else None


def _electrodes(given: Measurement) -> ElectrodeMeasurement:
    if not isinstance(given, ElectrodeMeasurement):
        raise InputError(
            f"{given.source}: sequences and reference files are for measurements of electrodes alone"
        )
    return given
