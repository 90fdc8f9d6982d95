"""Text of Manchester's systems: lines that begin with #, then a row a reading of `Vr Vi I`, in volts and amperes.

The header has the numbers of electrodes and of readings (`#Length`) and the strategy. Adjacent pairs drive, and for
each are read the pairs that have no electrode in common with it, in the order of their numbers, the second electrode
less the first. Vr is in phase. The current is the mean of the column I, which is noisier than the voltages: divided by
it one by one they are reciprocal to 11 %, as they are to 1.4 %. Frames are turned to the same current. Rows behind
`#Length` repeat the last and are left out.

The electrodes of the collection of 2004 run clockwise from the top of a round tank, whose size is not said.

Reference: EIDORS data collection, Manchester 2004.
"""

import re

import numpy as np

from eitlens.errors import InputError
from eitlens.measure.recording import Recording
from eitlens.measure.setup import Setup

_MAGIC = b"#MEAS"
_CURRENT = 3e-4  # A, to which frames are turned: about that of the collection
_LONGEST = 1 << 20  # bytes: thousands of readings


def recognises(content: bytes) -> bool:
    """Whether it begins with the first line of the header."""
    return content.startswith(_MAGIC)


def read(content: bytes, limit: int) -> Recording:
    """The one frame."""
    if len(content) > min(limit, _LONGEST):
        raise InputError(f"more than {_LONGEST >> 20} MiB of text in one frame")
    lines = content.decode("latin-1").splitlines()
    header = "\n".join(line for line in lines if line.startswith("#"))
    electrodes, count = (_told(name, header) for name in ("Electrodes", "Length"))
    strategy = re.search(r"^#Strategy,\s*(\w+)", header, re.M)
    if not strategy or strategy[1].lower() != "adjacent":
        raise InputError(f"the strategy is {strategy[1] if strategy else 'not said'}: only Adjacent is known")
    rows = [line.split() for line in lines if line.strip() and not line.startswith("#")][:count]
    if len(rows) < count or {len(row) for row in rows} != {3}:
        raise InputError(f"expected {count} rows of three numbers, Vr Vi I, got {len(rows)}")
    table = np.array([[float(word) for word in row] for row in rows])
    tank = Setup(body="disk", electrodes=electrodes, first=90.0, clockwise=True)
    current = float(np.abs(table[:, 2]).mean())
    if not current > 0:
        raise InputError("the column I has no current")
    device = Setup(pattern="adjacent", flipped=True, current=_CURRENT)
    return Recording(table[None, :, 0] * (_CURRENT / current), device.over(tank))


def _told(name: str, header: str) -> int:
    found = re.search(rf"^#{name},\s*(\d{{1,6}})\b", header, re.M)
    if not found:
        raise InputError(f"the header has no #{name}")
    return int(found[1])
