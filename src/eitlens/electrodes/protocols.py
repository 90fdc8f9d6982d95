"""Patterns of other programs, neither of which is imported: pyEIT's `ex_mat` and `meas_mat`, EIDORS' `stim`."""

from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float64, Int64
from scipy import io, sparse
from torch import Tensor

from eitlens import checks
from eitlens.electrodes.patterns import Pattern
from eitlens.errors import InputError

_EIDORS = ("stimulation", "stim_pattern", "meas_pattern")
"""The fields of an element of EIDORS' structure."""


def from_pyeit(
    ex_mat: object, meas_mat: object, electrodes: int | None = None, current: float = 1.0
) -> Pattern:
    """Take the protocol of pyEIT: (n, 2) electrodes that drive, from 0, and what is read.

    `meas_mat` is (readings, 3), rows [n, m, stimulation] in the order of the stimulations, or (stimulations, channels,
    2); each reading is v_n - v_m.
    """
    drive, read = (
        checks.physics(given, name).long() for given, name in ((ex_mat, "ex_mat"), (meas_mat, "meas_mat"))
    )
    if drive.ndim != 2 or drive.shape[1] != 2:
        raise InputError(f"ex_mat: expected (stimulations, 2) electrodes, got shape {tuple(drive.shape)}")
    if read.ndim == 3 and read.shape[::2] == (len(drive), 2):
        number = torch.arange(len(drive)).repeat_interleave(read.shape[1])
        read = torch.cat([read.flatten(0, 1), number[:, None]], 1)
    if read.ndim != 2 or read.shape[1] != 3:
        raise InputError(
            f"meas_mat: expected (readings, 3) rows [n, m, stimulation], got shape {tuple(read.shape)}"
        )
    row = read[:, 2]
    count = int(max(drive.max(), read[:, :2].max())) + 1 if electrodes is None else electrodes
    for values, name, limit in (
        (drive, "ex_mat", count),
        (read[:, :2], "meas_mat", count),
        (row, "meas_mat", len(drive)),
    ):
        if bool(((values < 0) | (values >= limit)).any()):
            what = "stimulation" if values is row else "electrode"
            raise InputError(
                f"{name}: there is no {what} {int(values.max())}: they are numbered 0 to {limit - 1}"
            )
    if bool((row.diff() < 0).any()):
        raise InputError(
            "meas_mat: the readings must be in the order of the stimulations: sort them by the last column"
        )
    eye = torch.eye(count, dtype=torch.float64)
    size = torch.bincount(row, minlength=len(drive))
    place = torch.arange(len(row)) - (torch.cumsum(size, 0) - size)[row]
    channels = torch.zeros(len(drive), int(size.max()), count, dtype=torch.float64)
    mask = torch.zeros(channels.shape[:2], dtype=torch.bool)
    channels[row, place], mask[row, place] = eye[read[:, 0]] - eye[read[:, 1]], True
    return Pattern(checks.number(current, "current") * (eye[drive[:, 0]] - eye[drive[:, 1]]), channels, mask)


def to_pyeit(pattern: Pattern) -> tuple[Int64[np.ndarray, "stimulations 2"], Int64[np.ndarray, "readings 3"]]:
    """Return `ex_mat` and `meas_mat` as pyEIT has them; a pattern of other than pairs has none."""
    place = torch.nonzero(pattern.mask)
    read = _ends(pattern.channels[place[:, 0], place[:, 1]], "channel")
    return _ends(pattern.stimulation, "stimulation").numpy(), torch.cat([read, place[:, :1]], 1).numpy()


def _ends(rows: Float64[Tensor, "rows electrodes"], name: str) -> Int64[Tensor, "rows 2"]:
    """The two electrodes of each row."""
    if bool(((rows != 0).sum(-1) != 2).any()):
        k = int(((rows != 0).sum(-1) != 2).to(torch.int8).argmax())
        raise InputError(f"pyEIT knows pairs of electrodes alone: {name} {k + 1} is of another kind")
    return torch.stack([rows.argmax(-1), rows.argmin(-1)], -1)


def read_eidors(path: str | Path, variable: str = "stim") -> Pattern:
    """Take the stimulation structure of EIDORS from a .mat file (version 7 or older).

    `variable` is the structure's name, such as `stim`, or `fmdl.stimulation` for one inside another. Each of its
    elements has a `stim_pattern` of E amperes and a `meas_pattern` of (channels, E) weights.
    """
    try:
        values: Any = io.loadmat(path, simplify_cells=True)
        for name in variable.split("."):
            values = values[name]
    except (KeyError, IndexError, TypeError):
        raise InputError(f"{path}: there is no structure {variable!r} in it: name it (variable=…)") from None
    except (OSError, ValueError, NotImplementedError, io.matlab.MatReadError) as error:
        raise InputError(f"{path}: not a .mat file that can be read ({error}): save it with -v7") from None
    parts = [values] if isinstance(values, dict) else np.ravel(values)
    try:
        drive = [_dense(part["stim_pattern"]).reshape(-1) for part in parts]
        read = [_dense(part["meas_pattern"]).reshape(-1, drive[0].size) for part in parts]
    except (KeyError, IndexError, TypeError, ValueError):
        raise InputError(
            f"{path}: {variable}: expected elements with a stim_pattern and a meas_pattern"
        ) from None
    most = max(len(rows) for rows in read)
    channels, mask = np.zeros((len(read), most, drive[0].size)), np.zeros((len(read), most), bool)
    for k, rows in enumerate(read):
        channels[k, : len(rows)], mask[k, : len(rows)] = rows, True
    return Pattern(np.stack(drive), channels, mask)


def write_eidors(pattern: Pattern, path: str | Path) -> None:
    """Write the pattern as the structure `stim` of EIDORS to a .mat file."""
    parts = np.zeros(len(pattern.stimulation), dtype=[(name, object) for name in _EIDORS])
    for k, (drive, channels, mask) in enumerate(
        zip(pattern.stimulation, pattern.channels, pattern.mask, strict=True)
    ):
        parts[k] = (
            "Amp",
            sparse.csc_matrix(drive.numpy()[:, None]),
            sparse.csc_matrix(channels[mask].numpy()),
        )
    io.savemat(path, {"stim": parts})


def _dense(values: Any) -> np.ndarray:
    return np.asarray(values.toarray() if hasattr(values, "toarray") else values, dtype=np.float64)
