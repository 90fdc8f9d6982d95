"""Dräger PulmoVista's `.eit`: a header in text, then frames in binary, of the formats 31, 32 and 51.

The file begins with three whole numbers of four bytes: the format, the length of the header less 8 bytes, and one of
unknown use. Frames follow the header at once and have no header of their own: the time of the day in days, then 208
numbers in double precision, the voltages in millivolts in phase with the device's clock: 16 adjacent pairs drive, and
for each are the 13 pairs read that come after the one that drives. In format 51, counted from the time as 0, the
quadrature begins at number 323, and the currents of the pairs in milliamperes are numbers 225 to 240 and 547 to 562.
So a reading is taken in phase with its current.

A frame has 5495 bytes in format 51. Whether a length is right the times tell: they go up by one over the frame rate.
Where that of the format is wrong, the length whose times do so is looked for. (Two public readers take the time of a
frame for part of the one before it, which costs them the last frame.)

Of the body the file says nothing. A reading is the second electrode less the first.
"""

import re

import numpy as np

from eitlens.errors import InputError
from eitlens.measure.recording import Recording
from eitlens.measure.setup import Setup

ELECTRODES, READINGS = 16, 208
_LENGTHS = {31: 4112, 32: 3200, 51: 5495}
"""Bytes of a frame by format, those of 31 and 32 after other readers."""
_PREAMBLE, _BLANK = 12, 8  # bytes before the header, and after its length
_DAY = 86400.0
_LEAST = 8 * (1 + READINGS)  # bytes of the time and the readings
_MOST = 16384  # bytes of a frame: three times the longest known
_QUADRATURE, _CURRENT, _CURRENT_QUADRATURE = 323, 225, 547  # numbers before them in a frame of format 51
_WHOLE = 51  # the format of which these are known
_RATE = re.compile(rb"Framerate \[Hz\]:\s*(\d{1,4})")
_AMPLITUDE = re.compile(rb"Amplitude \[uA\]:\s*(\d{1,6})")
_MICRO, _MILLI = 1e-6, 1e-3
_USUAL_RATE = 20  # Hz


def recognises(content: bytes) -> bool:
    """Whether it has the header."""
    return int.from_bytes(content[:4], "little") in _LENGTHS and b"Draeger EIT" in content[:256]


def read(content: bytes, limit: int) -> Recording:
    """All frames, each with its time since the first."""
    kind = int.from_bytes(content[:4], "little")
    start = int.from_bytes(content[4:8], "little") + _BLANK
    header, body = content[:start], content[start:]
    told = _RATE.search(header)
    rate = float(told[1]) if told and int(told[1]) else _USUAL_RATE
    length = _length(body, _LENGTHS[kind], rate)
    count = len(body) // length
    if not count:
        raise InputError("there is no whole frame behind the header")
    rows = np.frombuffer(body[: count * length], np.uint8).reshape(count, length)
    table = rows[:, : length // 8 * 8].copy().view("<f8")
    amplitude = _AMPLITUDE.search(header)
    current = _MICRO * float(amplitude[1]) if amplitude and int(amplitude[1]) else None
    known = Setup(
        electrodes=ELECTRODES, pattern="adjacent", rotating=True, flipped=True, unit="mV", current=current
    )
    times = (table[:, 0] - table[0, 0]) * _DAY % _DAY
    if kind != _WHOLE:
        note = "the readings are in phase with the device's clock, not with the current"
        return Recording(table[:, 1 : 1 + READINGS], known, times=times, notes=(note,))
    return Recording(_in_phase(table), known, times=times)


def _in_phase(table: np.ndarray) -> np.ndarray:
    """The readings in phase with the currents."""
    parts = table[:, 1 : 1 + READINGS], table[:, _QUADRATURE : _QUADRATURE + READINGS]
    sent = [table[:, k : k + ELECTRODES] for k in (_CURRENT, _CURRENT_QUADRATURE)]
    size = np.hypot(*sent)
    if not np.isfinite(table[:, : _CURRENT_QUADRATURE + ELECTRODES]).all() or not size.all():
        raise InputError("a frame holds values that are no numbers, or no current: the file is damaged")
    cosine, sine = (np.repeat(part / size, READINGS // ELECTRODES, axis=1) for part in sent)
    found: np.ndarray = parts[0] * cosine + parts[1] * sine
    return found


def _length(body: bytes, usual: int, rate: float) -> int:
    """The bytes of a frame: as the format has it, unless the times say otherwise."""
    if len(body) < 2 * usual or _follow(body, usual, rate):
        return usual
    return next((length for length in range(_LEAST, _MOST) if _follow(body, length, rate)), usual)


def _follow(body: bytes, length: int, rate: float) -> bool:
    """Whether the first times, if frames are so long, are those of a recording."""
    starts = range(0, min(len(body) - 8, 4 * length), length)
    times = [float(np.frombuffer(body, "<f8", 1, at)[0]) for at in starts]
    steps = np.diff(times) * _DAY
    return (
        len(steps) > 0 and all(0 <= t < 1 for t in times) and bool(((steps > 0) & (steps < 3 / rate)).all())
    )
