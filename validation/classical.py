"""Classical images of simulated tanks: every method for electrodes, at three levels of noise, in one table.

    python validation/classical.py [--tanks 48] [--methods noser greit] [--processes 2] [--out FILE] [--toy]

Tanks of 16 and of 32 electrodes (adjacent currents, 0.3 S/m) with one or two inclusions, a fifth or five times as
conductive as the water. White noise of 10⁻⁴, 10⁻³ and 10⁻² of the root mean square of the readings, in the frame and in
the reference. Each frame is imaged by itself, so that each has its own strength. Scores are those of `eitlens compare`
(`eitlens.evaluate.images`): position error in radii, 1 where nothing is seen; Dice after Otsu's threshold; error of σ,
‖σ0 + x - σ‖ / ‖σ‖ over the nodes of the body.

Each method is compared with a simpler one on the same tanks (`SIMPLER`, `steps` in the result file). `seconds` are of
an image in a process of one thread, its share of what is made once for a tank included.

A run replaces the rows of its own methods and keeps the others, whatever other runs write to the file meanwhile.
docs/classical.md has what `--out results/classical.json` writes. `--toy` images two tanks of 16 electrodes.
"""

import argparse
import json
import math
import multiprocessing
import os
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import torch
from study import OUT
from torch import Tensor

from eitlens.device import available_cores
from eitlens.domain import Disk
from eitlens.electrodes import Electrodes, Pattern, simulate_readings
from eitlens.errors import InputError
from eitlens.evaluate.images import relative_error, scores
from eitlens.files import write_json
from eitlens.imaging import METHODS, Options
from eitlens.imaging.by_linear import LINEAR
from eitlens.imaging.by_tank import TANK as TANK_METHODS
from eitlens.measure import Measurement
from eitlens.phantom import Phantom, circle
from eitlens.train.lock import lock_file

LEVELS, COUNTS, SIGMA, CONTRAST, GRID = (1e-4, 1e-3, 1e-2), (16, 32), 0.3, 5.0, 48
TANK = Disk(GRID, scale=0.1)
SCORES = ("position", "dice", "error")
NAMES = (*LINEAR, *TANK_METHODS, "dbar")
_PARTS = 8  # of the tanks of a cell: what a process takes at a time
SIMPLER = {
    "noser": "tikhonov",
    "laplace": "tikhonov",
    "gaussian": "tikhonov",
    "greit": "tikhonov",
    "dbar": "tikhonov",
    "gauss-newton": "laplace",
    "total-variation": "gauss-newton",
    "level-set": "gauss-newton",
    "outlines": "level-set",
}
"""A method, and the simpler one that it should beat."""

Record = dict[str, Any]


class Cell(NamedTuple):
    """A method on tanks of one layout and one level of noise."""

    electrodes: int
    tau: float
    method: str


class Task(NamedTuple):
    """One tank of a cell, the number k of so many."""

    cell: Cell
    k: int
    tanks: int


@lru_cache(maxsize=1)
def tanks(count: int) -> list[Phantom]:
    """Half of them with one inclusion and half with two that do not touch, from a fixed seed."""
    draw = torch.Generator().manual_seed(23)
    found: list[Phantom] = []
    while len(found) < count:
        u = torch.rand(8, generator=draw, dtype=torch.float64).tolist()
        number = 1 + len(found) % 2
        parts = [
            (0.8 * math.sqrt(u[4 * k]), 2 * math.pi * u[4 * k + 1], 0.1 + 0.15 * u[4 * k + 2])
            for k in range(number)
        ]
        discs = [((r * math.cos(a), r * math.sin(a)), size) for r, a, size in parts]
        apart = number == 1 or math.dist(discs[0][0], discs[1][0]) > discs[0][1] + discs[1][1] + 0.15
        if apart and all(math.hypot(*c) + size < 0.92 for c, size in discs):
            values = [SIGMA * CONTRAST ** (1 if u[4 * k + 3] > 0.5 else -1) for k in range(number)]
            found.append(Phantom([circle(c, size) for c, size in discs], values, outside=SIGMA))
    return found


@lru_cache(maxsize=len(LEVELS) * len(COUNTS))
def readings(electrodes: int, tau: float, count: int) -> Measurement:
    """A frame of each tank, and their reference."""
    row, pattern = Electrodes.even(TANK, electrodes, 0.5, 1e-4), Pattern.named("adjacent", electrodes, 1e-3)
    volts = simulate_readings(row, pattern, [*tanks(count), Phantom([], outside=SIGMA)])
    size = tau * volts[-1].square().mean().sqrt()
    draw = torch.Generator().manual_seed(electrodes)
    noisy = volts + size * torch.randn(volts.shape, generator=draw, dtype=torch.float64)
    return Measurement.of_electrodes(row, pattern, noisy[:-1], reference=noisy[-1:])


def rate(task: Task) -> list[float]:
    """Scores, seconds, and 1 where there is an image; where there is none, the scores of nothing seen."""
    electrodes, tau, method = task.cell
    body = tanks(task.tanks)[task.k]
    try:
        found = METHODS[method](readings(electrodes, tau, task.tanks).frame(task.k), Options(n=GRID))
    except InputError as error:
        print(f"  {task.cell}, tank {task.k}: {error}", flush=True)
        return [1.0, 0.0, relative_error(torch.zeros(TANK.shape), "change", TANK, body) or 0.0, 0.0, 0.0]
    told = scores(found.image, found.quantity, found.domain, body)
    return [1.0 if told.position is None else told.position, told.dice, told.error or 0.0, found.seconds, 1.0]


def rated(cells: list[Cell], count: int, processes: int) -> Iterator[tuple[Cell, Tensor]]:
    """The scores of all tanks (tanks, 5), a cell after the other."""
    tasks = [Task(cell, k, count) for cell in cells for k in range(count)]
    os.environ["OMP_NUM_THREADS"] = "1"  # of the processes that begin now
    with ProcessPoolExecutor(processes, multiprocessing.get_context("spawn")) as pool:
        rows = pool.map(rate, tasks, chunksize=max(1, count // _PARTS))
        for cell in cells:
            yield cell, torch.tensor([next(rows) for _ in range(count)], dtype=torch.float64)


def steps(layouts: Record) -> Record:
    """What each method gains over the simpler one: means over the cells that both have, of the same tanks."""
    told: Record = {}
    for name, simpler in SIMPLER.items():
        levels = [level for found in layouts.values() for level in found.values()]
        both = [(level[name], level[simpler]) for level in levels if name in level and simpler in level]
        if both:
            more = {key: sum(one[key] - other[key] for one, other in both) / len(both) for key in SCORES}
            told[name] = {"than": simpler, "cells": len(both)} | more
    return told


def merge(out: Path, count: int, rows: dict[Cell, Tensor]) -> None:
    """Replace these rows in the result file, under a lock."""
    with lock_file(out.with_suffix(".lock"), wait=True):
        record = json.loads(out.read_text(encoding="utf-8")) if out.exists() else {}
        if record.get("tanks") != count:
            record = {"tanks": count, "scores": {}}
        for (electrodes, tau, method), table in rows.items():
            level = record["scores"].setdefault(f"{electrodes}", {}).setdefault(f"{tau:g}", {})
            level[method] = dict(zip((*SCORES, "seconds", "images"), table.mean(0).tolist(), strict=True))
        write_json(out, ordered(record))


def ordered(record: Record) -> Record:
    """The same with layouts, levels and methods in the order of this study, whoever wrote first."""

    def sort(found: Record, names: Iterable[str]) -> Record:
        return {name: found[name] for name in names if name in found}

    layouts = sort(record["scores"], map(str, COUNTS))
    levels = {count: sort(found, (f"{tau:g}" for tau in LEVELS)) for count, found in layouts.items()}
    kept = {count: {tau: sort(rows, NAMES) for tau, rows in found.items()} for count, found in levels.items()}
    return record | {"scores": kept, "steps": sort(steps(kept), NAMES)}


def main() -> None:
    """Run the study."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--tanks", type=int, default=48)
    parser.add_argument("--methods", nargs="+", default=NAMES, choices=NAMES)
    parser.add_argument("--processes", type=int, default=available_cores())
    parser.add_argument("--out", type=Path, default=OUT / "classical.json")
    parser.add_argument("--toy", action="store_true")
    given = parser.parse_args()
    count, layouts = (2, COUNTS[:1]) if given.toy else (given.tanks, COUNTS)
    slow_first = [name for name in reversed(NAMES) if name in given.methods]
    cells = [Cell(k, tau, name) for name in slow_first for k in layouts for tau in LEVELS]
    given.out.parent.mkdir(parents=True, exist_ok=True)
    for cell, table in rated(cells, count, given.processes):
        merge(given.out, count, {cell: table})
        told = ", ".join(
            f"{key} {value:.3g}" for key, value in zip(SCORES, table.mean(0).tolist(), strict=False)
        )
        print(f"  {cell.method}, {cell.electrodes} electrodes, noise {cell.tau:g}: {told}", flush=True)


if __name__ == "__main__":
    main()
