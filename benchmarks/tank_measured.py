"""The measured tanks of the challenge: the instrument from the reference, readings freed of it, their codes."""

from pathlib import Path

import numpy as np
import scipy.io
import torch
from tank_world import LEVELS, Challenge, Coder
from torch import Tensor

from eitlens.electrodes import Instrument
from eitlens.feature.maps import MapCode

_ROUNDS = 4


def targets(data: Path) -> list[np.ndarray]:
    """The truths of the training targets, 256 × 256, row 0 at the top."""
    found = []
    for k in range(1, 5):
        values = scipy.io.loadmat(data / f"training/ground_truth/true{k}.mat")
        found.append(next(v for key, v in values.items() if key[0] != "_").astype(np.int64))
    return found


def fitted(challenge: Challenge, water: Tensor, resistance: Tensor) -> tuple[Instrument, float, float]:
    """The instrument of a reading of water (76, 31), its resistivity, and the relative residual; all linear steps.

    Around the model V = r M U of the nominal electrodes with a common mode c, gains g and errors a of the sources.
    """
    drive, rows = challenge.drive.cpu(), challenge.channels.cpu()
    sources, sinks = drive.clamp(min=0), (-drive).clamp(min=0)
    keep = water.isfinite()
    keep[[14, 15, 30, 45, 60, 75]] &= torch.tensor([c not in (29, 30) for c in range(31)])
    channels, electrodes = len(rows), drive.shape[1]
    c, g, a = torch.zeros(channels).double(), torch.zeros(channels).double(), torch.zeros(electrodes).double()
    scale, left = 1.0, 1.0
    for _ in range(_ROUNDS):
        potential = drive @ resistance
        ground = (potential * sinks / sinks.sum(-1, keepdim=True)).sum(-1, keepdim=True)
        mean = rows.abs() / rows.abs().sum(-1, keepdim=True)
        plain, common = potential @ rows.T, potential @ mean.T - ground
        size = (sources @ torch.ones(electrodes).double())[:, None]
        source = (sources / size) @ a
        model = (1 + source)[:, None] * ((1 + g) * plain + c * common)
        scale = float((model[keep] @ water[keep]) / (model[keep] @ model[keep]))
        gap = (water / scale - model)[keep]
        number, place = torch.nonzero(keep).T
        parts = torch.zeros(len(gap), 2 * channels + electrodes).double()
        line = torch.arange(len(gap))
        parts[line, place] = common[number, place]
        parts[line, channels + place] = plain[number, place]
        parts[:, 2 * channels :] = (sources / size)[number] * model[keep][:, None]
        # A little of nothing: what the data do not tell (all gains at once) stays zero.
        ridge = 1e-3 * parts.norm() / parts.shape[1] ** 0.5 * torch.eye(parts.shape[1]).double()
        step = torch.linalg.lstsq(
            torch.cat([parts, ridge]), torch.cat([gap, torch.zeros(len(ridge)).double()])
        ).solution
        c, g, a = c + step[:channels], g + step[channels : 2 * channels], a + step[2 * channels :]
        left = float((gap - parts @ step).norm() / (water / scale)[keep].norm())
    return Instrument(rows, g, c, a), scale, left


def measured_codes(
    data: Path, challenge: Challenge, coder: Coder, device: torch.device
) -> tuple[MapCode, list[str]]:
    """Codes of the four training targets at all levels, and of the 21 targets of the evaluation; and their names."""
    from tank import nominal

    resistance = nominal(torch.device("cpu")).resistance
    here = challenge.to(torch.device("cpu"))
    rows, names = [], []

    def add(folder: Path, file: str, reference: str, level: int, name: str) -> None:
        values, water = scipy.io.loadmat(folder / file), scipy.io.loadmat(folder / reference)
        empty = torch.tensor(water["Uelref"]).reshape(len(here.drive), -1)
        instrument, scale, left = fitted(here, empty.clone(), resistance)
        frame = torch.tensor(values["Uel"]).reshape(empty.shape)
        # Electrodes are missing in the frame alone: there the reference says the rest, and what it says is not used.
        both = torch.stack([torch.where(frame.isfinite(), frame, empty), empty])
        freed = instrument.freed(both, here.drive)
        change = (freed[0] - freed[1]) / scale
        y = here.reduced(change[None], torch.tensor([level]))
        rows.append(y)
        names.append(name)
        if name in ("training_1_1",):
            print(f"reference: residual {left:.2%}", flush=True)

    for level in range(1, LEVELS + 1):
        for k in range(1, 5):
            add(data / "training", f"data{k}.mat", "ref.mat", level, f"training_{level}_{k}")
        folder = data / f"evaluation/level_{level}"
        for file in sorted(folder.glob("data*.mat")):
            add(folder, file.name, "ref.mat", level, f"level_{level}_{file.stem.removeprefix('data')}")
    return coder(torch.cat(rows).to(device)), names
