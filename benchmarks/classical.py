"""Classical images against pyEIT: where they put a target, and how many frames a second, in one run on one thread.

    python benchmarks/classical.py --pyeit FOLDER/bin/python [--data ../shared/real] [--out FILE]

The environment of --pyeit has pyEIT 1.2.4 and numpy below 2 (with numpy 2 its GREIT stops with an error). Both get the
same frames of 16 electrodes and the adjacent protocol of pyEIT:

- simulated: 100 discs, one a frame, of a fifth of the tank's radius at random places,
  half or twice as conductive; white noise of 10⁻³;
- measured: the four single targets of UEF 2017, whose places photographs tell, where the data are there.

One-step images (NOSER there and here) and GREIT of images of about a thousand values; five steps of Gauss-Newton. The
position error is the distance from the target to the centre of gravity of the values above a quarter of the largest.
The frames are repeated to a sequence of 2,000. pyEIT takes them one by one, eitlens all at once; matrices are made
before. Seconds are those of the processor, on one thread; the best of three counts.
"""

import argparse
import json
import math
import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from eitlens.classical import TimeDifference
from eitlens.classical.gauss_newton import gauss_newton_image
from eitlens.classical.merit import position_error
from eitlens.classical.tank_frame import TankFrame
from eitlens.domain import Disk
from eitlens.electrodes import Electrodes, Pattern, simulate_readings
from eitlens.electrodes.protocols import from_pyeit
from eitlens.files import write_json
from eitlens.measure import files
from eitlens.measure.readings import ElectrodeMeasurement
from eitlens.phantom import Phantom, circle

ELECTRODES, GRID, STEPS, REPEATS = 16, 32, 5, 3
TARGETS, FRAMES, FEW = 100, 2000, 5  # frames of a sequence, few of them for Gauss-Newton
TAU, RADIUS = 1e-3, 0.2
CELLS, SIZE = 20, 0.25  # of Gauss-Newton: about as many elements as pyEIT's disk has
DATA = Path(__file__).parents[2] / "shared" / "real" / "uef2017"
UEF = {"1_1": (-0.01, 0.47), "1_2": (-0.06, 0.28), "1_3": (-0.10, 0.34), "1_4": (-0.07, 0.31)}
"""Targets of UEF 2017 and their places, in radii, as drawn on the photographs."""
RESULT = Path(__file__).parent / "results" / "classical.json"
DISK = Disk(GRID)
ROW = Electrodes.even(DISK, ELECTRODES, coverage=0.45, first=math.pi, clockwise=True)
"""Where pyEIT's electrodes are: from the left, clockwise; as wide as those of UEF 2017."""


class Set(NamedTuple):
    """Frames, their reference, and where the targets are in the frame of the electrodes."""

    v1: np.ndarray
    v0: np.ndarray
    places: list[tuple[float, float]]


def simulated(pattern: Pattern) -> Set:
    """Frames of single discs."""
    draw = np.random.default_rng(5)
    radius, angle = 0.75 * np.sqrt(draw.uniform(size=TARGETS)), draw.uniform(0, 2 * math.pi, TARGETS)
    places = list(zip((radius * np.cos(angle)).tolist(), (radius * np.sin(angle)).tolist(), strict=True))
    bodies = [Phantom([circle(c, RADIUS)], 2.0 if k % 2 else 0.5) for k, c in enumerate(places)]
    volts = simulate_readings(ROW, pattern, [*bodies, Phantom([])]).numpy()
    size = TAU * np.sqrt(np.square(volts[-1]).mean())
    noisy = volts + size * draw.standard_normal(volts.shape)
    return repeated(Set(noisy[:-1], noisy[-1], places))


def repeated(one: Set) -> Set:
    """The same frames again and again, as a long sequence."""
    times = FRAMES // len(one.v1)
    return Set(np.tile(one.v1, (times, 1)), one.v0, one.places * times)


def measured(pattern: Pattern, folder: Path) -> Set | None:
    """Frames of UEF 2017 in the order of the protocol; number 1 is at the top there and at the left here."""
    if not folder.is_dir():
        return None
    both = [protocol_readings(folder / f"datamat_{name}.mat", pattern) for name in ("1_0", *UEF)]
    turned = [(-y, x) for x, y in UEF.values()]
    return repeated(Set(np.stack(both[1:]), both[0], turned))


def protocol_readings(path: Path, pattern: Pattern) -> np.ndarray:
    """The readings of a protocol among those of a file, for a current of one ampere."""
    data = files.read(path)
    if not isinstance(data, ElectrodeMeasurement):
        raise TypeError(f"{path}: no readings of electrodes")
    known, table = data.pattern, data.pattern.spread(data.voltages[0])
    found = []
    for row, channels, mask in zip(pattern.stimulation, pattern.channels, pattern.mask, strict=True):
        k, factor = matched(known.stimulation, row)
        for channel in channels[mask]:
            m, sign = matched(known.channels[k], channel)
            found.append(float(table[k, m]) * factor * sign)
    return np.array(found)


def matched(rows: Tensor, wanted: Tensor) -> tuple[int, float]:
    """The row that is a multiple of the wanted one, and the factor to it."""
    cosine = (rows @ wanted) / (rows.norm(dim=1) * wanted.norm())
    k = int(cosine.abs().argmax())
    if float(cosine[k].abs()) < 1 - 1e-6:
        raise ValueError("the file has no such current or channel")
    return k, float(wanted.norm() / rows[k].norm() * cosine[k].sign())


def fastest(action: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds of the processor, and the result."""
    times, found = [], None
    for _ in range(REPEATS):
        start = time.process_time()
        found = action()
        times.append(time.process_time() - start)
    return min(times), found


def ours(given: Set, pattern: Pattern) -> dict[str, dict[str, Any]]:
    """Seconds a frame and position errors of each method."""
    told = {}
    for name, method in (("one-step", "noser"), ("GREIT", "greit")):
        solver = prepared(method, given, pattern)
        seconds, images = fastest(partial(solver.solve, given.v1, given.v0))
        errors = [
            position_error(DISK, torch.from_numpy(x), c) for x, c in zip(images, given.places, strict=True)
        ]
        told[name] = {"seconds": seconds / len(images), "pixels": images[0].size, "error": mean(errors)}
    few = given.v1[:FEW]
    data = ElectrodeMeasurement(ROW, pattern, torch.from_numpy(few), torch.from_numpy(given.v0))
    first = TankFrame.of(data.frame(0), cells=CELLS, size=SIZE)
    frames = [replace(first, readings=first.empty + first.model.kept(row)) for row in data.difference]
    seconds, found = fastest(lambda: [gauss_newton_image(frame, steps=STEPS) for frame in frames])
    images = [frame.model.image(one.contrast, DISK) for frame, one in zip(frames, found, strict=True)]
    errors = [position_error(DISK, x, c) for x, c in zip(images, given.places[:FEW], strict=True)]
    told["Gauss-Newton"] = {
        "seconds": seconds / len(few),
        "pixels": first.model.unknowns,
        "error": mean(errors),
    }
    return told


def prepared(method: str, given: Set, pattern: Pattern) -> TimeDifference:
    """A solver with its matrix, and a strength that the first hundred frames choose: pyEIT's is given."""
    solver = TimeDifference(ROW, pattern)
    solver.setup(method=method, n=GRID)
    solver.solve(given.v1[:TARGETS], given.v0)
    if method != "greit" and solver.fitted is not None:
        chosen = solver.fitted.chosen(torch.from_numpy(given.v1[:TARGETS] - given.v0))
        solver.setup(method=method, n=GRID, lamb=chosen.factor)
        solver.solve(given.v1[:TARGETS], given.v0)
    return solver


def mean(values: list[float]) -> float:
    """The mean."""
    return sum(values) / len(values)


def side(python: str, *words: str) -> None:
    """Let pyEIT do something, on one thread."""
    script = Path(__file__).with_name("pyeit_side.py")
    subprocess.run([python, "-I", str(script), *words], check=True)  # -I: pyeit.py beside it is another


def main() -> None:
    """Compare."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--pyeit", required=True)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--out", type=Path, default=RESULT)
    given = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        names = [str(Path(folder) / name) for name in ("protocol.npz", "frames.npz", "told.json")]
        side(given.pyeit, "protocol", names[0])
        drive = np.load(names[0])
        pattern = from_pyeit(drive["ex_mat"], drive["meas_mat"], ELECTRODES)
        sets = {"simulated": simulated(pattern), "measured": measured(pattern, given.data)}
        there = {name: one for name, one in sets.items() if one is not None}
        arrays = {f"{name}_{key}": getattr(one, key) for name, one in there.items() for key in ("v1", "v0")}
        np.savez(names[1], few=FEW, **arrays)
        side(given.pyeit, "images", names[1], names[2])
        theirs = json.loads(Path(names[2]).read_text(encoding="utf-8"))
    record: dict[str, Any] = {}
    for name, one in there.items():
        for method, found in ours(one, pattern).items():
            other = theirs[f"{name} {method}"]
            errors = [math.dist(a, b) for a, b in zip(other["places"], one.places, strict=False)]
            times = other["seconds"] / found["seconds"]
            record.setdefault(name, {})[method] = {
                "frames": len(other["places"]),
                "times_as_fast": times,
                "error": found["error"],
                "error_pyeit": mean(errors),
                "values": found["pixels"],
                "values_pyeit": other["pixels"],
            }
            print(
                f"{name}, {method}: {times:.1f} times as fast ({1 / found['seconds']:,.0f} against "
                f"{1 / other['seconds']:,.0f} frames/s), "
                f"position error {found['error']:.4f} against {mean(errors):.4f}",
                flush=True,
            )
    write_json(given.out, record)


if __name__ == "__main__":
    main()
