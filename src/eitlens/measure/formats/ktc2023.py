"""Kuopio Tomography Challenge 2023: `Uel` (frames of a target) or `Uelref` (of water alone), `Inj`, `Mpat`.

A round tank of radius 0.115 m with 32 electrodes, 5.625° wide each, number 1 at the top, counter-clockwise. 76
currents between odd electrodes; for each 31 voltages between neighbours. Currents are taken to be milliamperes and
voltages volts, and the height of the water is not said: conductivities of the tank are S/m times metres of water.

In a folder, `ref.mat` is taken as the reference of the others. What a level of the challenge removes is NaN.

Reference: M. Räsänen et al., "Kuopio Tomography Challenge 2023", doi:10.5281/zenodo.8252370.
"""

from typing import Any

import numpy as np

from eitlens.electrodes import Pattern
from eitlens.errors import InputError
from eitlens.measure.recording import Recording
from eitlens.measure.setup import Setup

TANK = Setup(body="disk", scale=0.115, electrodes=32, coverage=0.5, first=90.0, clockwise=False)
_MILLIAMPERES = 1e-3


def knows(values: dict[str, Any]) -> bool:
    """Whether the names are those of the challenge."""
    return "Mpat" in values and bool({"Uel", "Uelref"} & values.keys())


def recording(values: dict[str, Any]) -> Recording:
    """The frames of the target, or of water where there is no target."""
    drive = next((values[name] for name in ("Inj", "Injref") if name in values), None)
    if drive is None:
        raise InputError("expected Inj, the currents, beside Uel and Mpat")
    pattern = Pattern(_MILLIAMPERES * np.asarray(drive).T, np.asarray(values["Mpat"]).T)
    water, target = values.get("Uelref"), values.get("Uel")
    known = Setup(pattern=pattern).over(TANK)
    if target is None:
        return Recording(np.asarray(water), known, empty=True)
    return Recording(np.asarray(target), known, None if water is None else np.asarray(water))
