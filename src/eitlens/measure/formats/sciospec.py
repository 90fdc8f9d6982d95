"""Sciospec's `.eit`: text, a header of 9, 11 or 18 lines, then for each current a line of two electrodes and of volts.

The first line is the length of the header. The time of the day and the amplitude in amperes are in it. A line `1 4`:
the current goes into electrode 1 and out of 4. The lines behind it, one for each frequency, have real and imaginary
parts of the potential of each channel against ground. The first frequency is taken, and of the complex values the real
parts, which are in phase with the current. As the ground is unknown, differences of neighbours are read, and not those
at electrodes that drive, whose contacts are in them; other setups read what they name.

A file is one frame; a folder of them is a recording. The file says nothing of the tank.

Reference: Sciospec Scientific Instruments GmbH, manual of the EIT software.
"""

import re

import numpy as np
import torch

from eitlens.electrodes import Pattern
from eitlens.errors import InputError
from eitlens.measure.recording import Recording
from eitlens.measure.setup import Setup

_HEADERS = {9: 1, 11: 2, 18: 2}
"""Lines of a header, and the number of the line (from 0) with the name of the setup."""
_TIME, _FREQUENCIES, _AMPLITUDE = 1, 5, 6  # lines behind the name
_CHANNELS = "MeasurementChannels:"
_MOST = 1024  # electrodes


def recognises(content: bytes) -> bool:
    """Whether it is text that begins with the length of a header and has a line of two electrodes behind it."""
    lines = content[:8192].split(b"\n")
    first = lines[0].strip()
    if not first.isdigit() or len(first) > 2 or int(first) not in _HEADERS or len(lines) <= int(first):
        return False
    pair = lines[int(first)].split()
    return len(pair) == 2 and all(word.isdigit() for word in pair)


def read(content: bytes, limit: int) -> Recording:
    """The one frame."""
    if len(content) > limit // 8:
        raise InputError(f"more than {limit >> 23} MiB of text in one frame")
    lines = content.decode("latin-1").splitlines()
    length = int(lines[0])
    name = _HEADERS[length]
    step = 1 + int(lines[name + _FREQUENCIES])
    amplitude = float(lines[name + _AMPLITUDE])
    body = [line for line in lines[length:] if line.strip()]
    if step < 2 or not body or len(body) % step:
        raise InputError(
            f"expected a line of electrodes and {step - 1} of volts for each current, got {len(body)} lines"
        )
    channels = _channels(lines[:length])
    potentials = np.array([_complex(line) for line in body[1::step]])
    if channels is None:
        channels = list(range(1, potentials.shape[1] + 1))
    if not channels or max(channels) > potentials.shape[1]:
        raise InputError(
            f"channel {max(channels, default=0)} is measured, but a line has {potentials.shape[1]} values"
        )
    potentials = potentials[:, [k - 1 for k in channels]]
    drive = _drive(body[::step], channels, amplitude)
    known = Setup(electrodes=len(channels), pattern=Pattern.driven_by(drive))
    return Recording(potentials[None], known, times=_seconds(lines[name + _TIME]), potentials=True)


def _seconds(line: str) -> np.ndarray | None:
    """The time of the day behind the date."""
    found = re.search(r"(\d{1,2}):(\d\d):(\d\d(?:\.\d{1,6})?)\s*$", line)
    return (
        None if found is None else np.array([3600 * float(found[1]) + 60 * float(found[2]) + float(found[3])])
    )


def _channels(header: list[str]) -> list[int] | None:
    """The electrodes that are measured, where the header says so."""
    told = next((line for line in header if line.startswith(_CHANNELS)), None)
    return None if told is None else [int(word) for word in told.removeprefix(_CHANNELS).split(",")]


def _complex(line: str) -> np.ndarray:
    numbers = np.array([float(word) for word in line.split()])
    if len(numbers) % 2 or not 0 < len(numbers) <= 2 * _MOST:
        raise InputError(f"expected pairs of real and imaginary parts, got {len(numbers)} numbers in a line")
    return numbers[::2] + 1j * numbers[1::2]


def _drive(pairs: list[str], channels: list[int], amplitude: float) -> torch.Tensor:
    """The currents through the measured electrodes."""
    rows = torch.zeros(len(pairs), len(channels), dtype=torch.float64)
    for row, line in zip(rows, pairs, strict=True):
        ends = [int(word) for word in line.split()]
        if len(ends) != 2 or not set(ends) <= set(channels):
            raise InputError(f"{line[:40]!r}: expected two of the electrodes that are measured")
        row[channels.index(ends[0])], row[channels.index(ends[1])] = amplitude, -amplitude
    return rows
