"""The measured tanks of the challenge: readings freed of the instrument that the reference shows, and their codes."""

from pathlib import Path

import numpy as np
import scipy.io
import torch
from tank_world import LEVELS, Challenge, Coder

from eitlens.feature.maps import MapCode
from eitlens.measure import files
from eitlens.measure.instrument import fit_instrument, freed
from eitlens.measure.tank import fit_tank


def targets(data: Path) -> list[np.ndarray]:
    """The truths of the training targets, 256 × 256, row 0 at the top."""
    found = []
    for k in range(1, 5):
        values = scipy.io.loadmat(data / f"training/ground_truth/true{k}.mat")
        found.append(next(v for key, v in values.items() if key[0] != "_").astype(np.int64))
    return found


def measured_codes(
    data: Path, challenge: Challenge, coder: Coder, device: torch.device
) -> tuple[MapCode, list[str]]:
    """Codes of the four training targets at all levels, and of the 21 targets of the evaluation; and their names."""
    here = challenge.to(torch.device("cpu"))
    rows, names = [], []

    def add(file: Path, levels: range, name: str) -> None:
        measurement = files.read(file, reference=file.parent / "ref.mat")
        device_fit = fit_instrument(measurement, fit_tank(measurement, width=True))
        if name == "training_{}_1":
            print(f"reference: residual {device_fit.residual:.2%}", flush=True)
        change = freed(measurement, device_fit).difference
        size = measurement.pattern.stimulation.abs().amax(1).mean()
        unit = change * device_fit.tank.conductivity * measurement.height / size
        table = measurement.pattern.spread(unit)
        for level in levels:
            rows.append(here.reduced(table, torch.tensor([level])))
            names.append(name.format(level))

    for k in range(1, 5):
        add(data / f"training/data{k}.mat", range(1, LEVELS + 1), f"training_{{}}_{k}")
    for level in range(1, LEVELS + 1):
        for k in range(1, 4):
            add(data / f"evaluation/level_{level}/data{k}.mat", range(level, level + 1), f"level_{{}}_{k}")
    return coder(torch.cat(rows).to(device)), names
