"""Open 2D EIT data, University of Eastern Finland 2017: `Uel`, `CurrentPattern`, `MeasPattern`.

A round tank of radius 0.14 m with 16 electrodes of 0.025 m, which cover 45 % of the circle, and 0.07 m of saline;
number 1 is at the top and they run clockwise. 79 currents: neighbours, skip 1, 2 and 3, all against number 1. Currents
are milliamperes, voltages volts between neighbours, also at electrodes that drive.

Reference: A. Hauptmann, V. Kolehmainen, N. M. Mach, T. Savolainen, A. Seppänen, S. Siltanen, "Open 2D electrical
impedance tomography data archive", arXiv:1704.01178.
"""

from typing import Any

import numpy as np

from eitlens.electrodes import Pattern
from eitlens.measure.recording import Recording
from eitlens.measure.setup import Setup

TANK = Setup(body="disk", scale=0.14, electrodes=16, coverage=0.45, first=90.0, clockwise=True, height=0.07)
_NAMES = {"Uel", "CurrentPattern", "MeasPattern"}
_MILLIAMPERES = 1e-3


def knows(values: dict[str, Any]) -> bool:
    """Whether the names are those of the archive."""
    return values.keys() >= _NAMES


def recording(values: dict[str, Any]) -> Recording:
    """The one frame of a target; a column a current."""
    drive, read, volts = (np.asarray(values[name]).T for name in ("CurrentPattern", "MeasPattern", "Uel"))
    known = Setup(pattern=Pattern(_MILLIAMPERES * drive, read)).over(TANK)
    return Recording(volts.reshape(1, -1), known)
