"""ACT 3 of Rensselaer Polytechnic Institute: a text of 993 numbers, or a .mat with `ACT2006_homog`, `ACT2000_phant`.

A text begins with the amplitude of the currents in milliamperes; then come 31 × 32 millivolts, for each current one of
each electrode: cos kθ for k = 1 … 16, then sin kθ for k = 1 … 15, at the angles θ = 2π l / 32 of the electrodes l = 1
… 32. They run counter-clockwise and number 32 is on the right. The potentials of a current have a constant in common,
which is taken off: a reading is a potential less the mean of all. The .mat file leaves the amplitude out: 0.2 mA. Its
complex values have the quadrature in the imaginary part.

The tank of these files is 0.30 m wide. Its electrodes are taken to be 0.025 m wide and 0.016 m high, as high as the
saline: with them and the 0.424 S/m of the saline the model is as large as the readings.

Reference: D. Isaacson, J. L. Mueller, J. C. Newell, S. Siltanen, "Reconstructions of chest phantoms by the D-bar
method for electrical impedance tomography", IEEE Transactions on Medical Imaging 23 (2004) 821–828.
"""

from typing import Any

import numpy as np
import torch

from eitlens.electrodes import Pattern
from eitlens.errors import InputError
from eitlens.measure.recording import Recording
from eitlens.measure.setup import Setup

ELECTRODES, COSINES, SINES = 32, 16, 15
_COUNT = (COSINES + SINES) * ELECTRODES
_STEP = 360.0 / ELECTRODES  # degrees from the right to number 1
_COVERAGE = ELECTRODES * 0.025 / (np.pi * 0.30)
TANK = Setup(
    body="disk", scale=0.15, electrodes=ELECTRODES, coverage=_COVERAGE, first=_STEP, height=0.016, unit="mV"
)
_AMPLITUDE = 0.2  # mA, of the .mat file
_MILLIAMPERES = 1e-3
_LARGEST = 10.0  # mA: a first number beyond is no amplitude of this device
_WATER, _PHANTOM = "ACT2006_homog", "ACT2000_phant"
_LONGEST = 64 << 10  # bytes: a number in a line, and room for blanks


def recognises(content: bytes) -> bool:
    """Whether it is 993 lines of one number, the first small and alone."""
    if len(content) > _LONGEST or b"\x00" in content:
        return False
    words = content.split()
    if len(words) != _COUNT + 1 or len(content.splitlines()) < len(words):
        return False
    try:
        return 0 < float(words[0]) < _LARGEST
    except ValueError:
        return False


def read(content: bytes, limit: int) -> Recording:
    """The frame of a text."""
    numbers = np.array([float(word) for word in content.split()])
    return Recording(_potentials(numbers[1:]), _known(float(numbers[0])), potentials=True)


def knows(values: dict[str, Any]) -> bool:
    """Whether the names are those of the .mat file."""
    return bool({_WATER, _PHANTOM} & values.keys())


def recording(values: dict[str, Any]) -> Recording:
    """The frame of the phantom with that of water as its reference, or whichever is there."""
    found = {name: _potentials(values[name]) for name in (_WATER, _PHANTOM) if name in values}
    known, water = _known(_AMPLITUDE), found.get(_WATER)
    if _PHANTOM not in found:
        return Recording(found[_WATER], known, empty=True, potentials=True)
    return Recording(found[_PHANTOM], known, water, potentials=True)


def _potentials(values: Any) -> np.ndarray:
    if np.size(values) != _COUNT:
        raise InputError(f"expected {_COUNT} potentials, got an array of shape {np.shape(values)}")
    return np.reshape(values, (1, COSINES + SINES, ELECTRODES))


def _known(amplitude: float) -> Setup:
    angle = torch.arange(1, ELECTRODES + 1, dtype=torch.float64) * (2 * torch.pi / ELECTRODES)
    rows = [torch.cos(k * angle) for k in range(1, COSINES + 1)]
    rows += [torch.sin(k * angle) for k in range(1, SINES + 1)]
    drive = torch.stack(rows)
    drive = drive - drive.mean(1, keepdim=True)
    pattern = Pattern.driven_by(_MILLIAMPERES * amplitude * drive, "mean", driven=True)
    return Setup(pattern=pattern).over(TANK)
