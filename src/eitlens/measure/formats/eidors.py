"""Arrays under any names, as EIDORS keeps frames: a column a frame of 208 or 256 values; told by their sizes.

A file may hold several recordings; `file.mat::name` chooses one. Of two, one whose name says so (`ref`, `homog`, `vh`)
is the reference of the other. A few well-known files are told by their names, and their tanks are known:

- `zc_…`, Montreal 1995: a tank of 0.30 m, the absolute values of amplified signals, 7 frames a second (R. Guardo).
- `v_reference`, `v_rotate`, IIRC 2006: a tank of 0.20 m, saline 0.06 m deep, electrodes of 0.01 m; complex values.
- `phantomdata_20` … `_28`, Ottawa 2008: Goe-MF II; three tanks, each empty, with glass and with metal.
  `phantomdata_true_electrode_positions` has a column for each, and the outline runs through that of the empty tank.
  Their scale is that of photographs, so sizes are relative.

The units of the three are not known, so their conductivities are relative as well. Reference: A. Adler, W. R. B.
Lionheart, "Uses and abuses of EIDORS", Physiological Measurement 27 (2006) S25–S42, and its data collection.
"""

from typing import Any

import numpy as np

from eitlens.domain import bodies
from eitlens.errors import InputError
from eitlens.measure.recording import Recording
from eitlens.measure.setup import Setup

_REFERENCES = ("ref", "homog", "vh", "empty", "background")
_FRAME = 256, 208  # values: with and without those at electrodes that drive
_ADJACENT = Setup(electrodes=16, pattern="adjacent")
_GOE_MF = Setup(electrodes=16, pattern="adjacent", flipped=True, current=5e-3)
MONTREAL = Setup(scale=0.15, rate=7.0, calibrated=True).over(_ADJACENT)
IIRC = Setup(scale=0.10, height=0.06, coverage=16 * 0.01 / (np.pi * 0.20)).over(_ADJACENT)
_POSITIONS = "phantomdata_true_electrode_positions"
_FIRST_OTTAWA = 20
_GROUP = (
    3  # empty, glass and metal in the same tank: the positions of the first, so that they can be compared
)
_SEVERAL = 12  # names that an error lists


def recording(values: dict[str, Any], chosen: str = "") -> Recording:
    """The recording of one name, or the only one, or the only one beside its reference."""
    tables = {
        name: np.atleast_2d(value).T if np.ndim(value) == 1 else value
        for name, value in values.items()
        if isinstance(value, np.ndarray)
        and value.dtype.kind in "biufc"
        and value.ndim in (1, 2)
        and value.size > 1
    }
    frames = {name: table for name, table in tables.items() if set(table.shape) & set(_FRAME)} or tables
    if chosen:
        if chosen not in tables:
            raise InputError(f"there is no array {chosen!r}: there are {_listed(tables)}")
        return Recording(tables[chosen], _known(chosen, tables))
    water = [name for name in frames if any(word in name.lower() for word in _REFERENCES)]
    if len(frames) == 2 and len(water) == 1:
        (name,) = frames.keys() - set(water)
        return Recording(frames[name], _known(name, tables), frames[water[0]])
    if len(frames) != 1:
        hint = f": name one behind the file, as in file.mat::{next(iter(frames))}" if frames else ""
        raise InputError(
            f"there are {len(frames) or 'no'} arrays of frames{f' ({_listed(frames)})' if frames else ''}{hint}"
        )
    ((name, table),) = frames.items()
    return Recording(table, _known(name, tables))


def _known(name: str, tables: dict[str, np.ndarray]) -> Setup:
    """What is known of the tank of some files by the names in them."""
    if name.startswith("zc_"):
        return MONTREAL
    if name in ("v_reference", "v_rotate"):
        return IIRC
    positions = tables.get(_POSITIONS)
    number = name.removeprefix("phantomdata_")
    if positions is None or not number.isdecimal():
        return Setup()
    column = (int(number) - _FIRST_OTTAWA) // _GROUP * _GROUP
    if not 0 <= column < positions.shape[1]:
        raise InputError(f"{name}: there is no column {column + 1} of electrode positions")
    middles = np.stack([positions[:, column].real, positions[:, column].imag], 1)
    points = (middles - middles.mean(0)) / np.abs(middles - middles.mean(0)).max()
    return Setup(body=bodies.through(points.tolist(), "ottawa"), points=points.tolist()).over(_GOE_MF)


def _listed(names: Any) -> str:
    known = list(names)
    return ", ".join(known[:_SEVERAL]) + (", …" if len(known) > _SEVERAL else "")
