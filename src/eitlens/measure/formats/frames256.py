"""Raw frames: 256 numbers each of 4 bytes, one frame behind the other and nothing else, as the .get files of Goe-MF II.

The numbers are 32-bit floats with the lowest byte first: for each of 16 adjacent pairs that drive, the readings of all
16 adjacent pairs, zero at electrodes that drive. Goe-MF II drives 5 mA, and its readings are the second electrode less
the first. The file says nothing of the tank.

Reference: A. Adler, W. R. B. Lionheart, "Uses and abuses of EIDORS", Physiological Measurement 27 (2006) S25–S42.
"""

import numpy as np

from eitlens.errors import InputError
from eitlens.measure.recording import Recording
from eitlens.measure.setup import Setup

_READINGS = 256
_KIND = np.dtype("<f4")
_LARGEST = 1e6  # beyond are no readings, but other bytes
_LOOKED_AT = 8  # frames that have to look like readings
DEVICE = Setup(electrodes=16, pattern="adjacent", flipped=True, current=5e-3)


def recognises(content: bytes) -> bool:
    """Whether it is whole frames of numbers as large as readings."""
    size = _READINGS * _KIND.itemsize
    if not content or len(content) % size:
        return False
    if b"\x00" not in content and content[:size].isascii():  # text that happens to be as long
        return False
    first = np.frombuffer(content[: _LOOKED_AT * size], _KIND)
    return bool(np.isfinite(first).all() and (np.abs(first) < _LARGEST).all() and first.any())


def read(content: bytes, limit: int) -> Recording:
    """The frames."""
    if 2 * len(content) > limit:
        raise InputError(f"more than {limit >> 20} MiB of numbers")
    return Recording(np.frombuffer(content, _KIND).reshape(-1, _READINGS).astype(np.float64), DEVICE)
