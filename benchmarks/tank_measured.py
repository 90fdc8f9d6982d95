"""The Kuopio challenge for the tank's network: its devices by level, and the codes of its measurements."""

import math
from pathlib import Path

import numpy as np
import scipy.io
import torch
from torch import Tensor

from eitlens.electrodes import Pattern
from eitlens.feature.maps import MapPrior, packed
from eitlens.feed.tanks import ReadingDevice, Ring, Uncertain
from eitlens.measure import files
from eitlens.measure.instrument import fit_instrument, freed
from eitlens.measure.map_code import reduced
from eitlens.measure.readings import ElectrodeMeasurement
from eitlens.measure.tank import fit_tank

ELECTRODES, LEVELS, TARGETS = 32, 7, (4, 3)
"""Targets of the training, and of each level of the evaluation."""
UNRELIABLE = ((14, 15, 30, 45, 60, 75), (29, 30))
"""Injections of electrode 31 and channels at it, which linearity shows to be wrong."""
WIDTH, IMPEDANCE = 1.26 * math.radians(5.625), 1e-4
"""Of the electrodes, as the reference shows them."""
WIDTHS, IMPEDANCES = (0.94, 1.06), (1e-2, 20.0)
"""Factors of both in simulated tanks."""


def pattern_of(data: Path) -> Pattern:
    """The injections and channels."""
    return files.read(data / "training/ref.mat").pattern


def read_at(pattern: Pattern, level: int) -> Tensor:
    """The readings of a level: electrodes 1 to 2 (level - 1) are taken away."""
    there = pattern.without(*range(1, 2 * level - 1)).mask.clone()
    there[torch.tensor(UNRELIABLE[0])[:, None], torch.tensor(UNRELIABLE[1])] = False
    return there


def devices(
    data: Path, prior: MapPrior, where: torch.device, pairs: int, samples: int, seed: int
) -> list[ReadingDevice]:
    """The device at each level, all with the same random electrodes and directions of change."""
    pattern, spread = pattern_of(data), Uncertain()
    draw = torch.Generator(device=where).manual_seed(seed)
    angles = math.pi / 2 + torch.arange(ELECTRODES, dtype=torch.float64, device=where) * (
        2 * math.pi / ELECTRODES
    )
    ring = Ring(angles, WIDTH, IMPEDANCE)
    tanks = ring.pairs(pairs, prior.count, spread, draw, WIDTHS, IMPEDANCES)
    found = []
    for level in range(1, LEVELS + 1):
        device = ReadingDevice.of(pattern, read_at(pattern, level), ring, tanks, prior)
        found.append(device.with_changes(spread, draw, samples, 64))
    return found


def targets(data: Path) -> list[np.ndarray]:
    """The truths of the training targets, 256 × 256, row 0 at the top."""
    found = []
    for k in range(1, TARGETS[0] + 1):
        values = scipy.io.loadmat(data / f"training/ground_truth/true{k}.mat")
        found.append(next(v for key, v in values.items() if key[0] != "_").astype(np.int64))
    return found


def measured_codes(data: Path, known: list[ReadingDevice]) -> tuple[Tensor, list[str]]:
    """Codes of the training targets at all levels, and of the targets of the evaluation; and their names."""
    codes, names = [], []

    def add(file: Path, levels: range, name: str) -> None:
        measurement = files.read(file, reference=file.parent / "ref.mat")
        assert isinstance(measurement, ElectrodeMeasurement)
        fit = fit_instrument(measurement, fit_tank(measurement, width=True))
        change = freed(measurement, fit).difference * fit.tank.conductivity * measurement.height
        table = measurement.pattern.spread(change)[0]
        for level in levels:
            there = read_at(measurement.pattern, level)
            y = reduced(
                measurement.pattern, torch.where(there, table, torch.nan)[measurement.pattern.mask][None]
            )
            device = known[level - 1]
            codes.append(packed(device.code(y.flatten(1).to(device.empty))))
            names.append(name.format(level))

    for k in range(1, TARGETS[0] + 1):
        add(data / f"training/data{k}.mat", range(1, LEVELS + 1), f"training_{{}}_{k}")
    for level in range(1, LEVELS + 1):
        for k in range(1, TARGETS[1] + 1):
            add(data / f"evaluation/level_{level}/data{k}.mat", range(level, level + 1), f"level_{{}}_{k}")
    return torch.cat(codes), names
