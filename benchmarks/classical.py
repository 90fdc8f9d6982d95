"""Classical images against pyEIT: where they put a target, and how many frames a second, in one run on one thread.

    python benchmarks/classical.py --pyeit FOLDER/bin/python [--data ../shared/real] [--out FILE]

The environment of --pyeit has pyEIT 1.2.4 and numpy below 2 (with numpy 2 its GREIT stops with an error). Both get the
same frames of 16 electrodes and the adjacent protocol of pyEIT:

- simulated: 100 discs, one a frame, of a fifth of the tank's radius at random places,
  half or twice as conductive; white noise of 10⁻³;
- measured: the four single targets of UEF 2017, whose places photographs tell, where the data are there.

One-step images (NOSER there and here) and GREIT of images of about a thousand values; Gauss-Newton of at most five
steps: here it stops at the noise level, there it goes on (`five_steps` is the ratio where neither stops before). The
position error is the distance from the target to the centre of gravity of the values above a quarter of the largest.
The frames are repeated to a sequence of 2,000; matrices are made before. Three ratios are told of one-step images and
GREIT: `times_as_fast` of eitlens with all frames in one call and pyEIT frame by frame, as its examples do;
`frame_by_frame` of both one by one; `batch` of both in one call, as pyEIT's product takes a table, too. Seconds are
those of the processor, on one thread; the best of five counts, of Gauss-Newton's frames the mean.

The position errors of both are compared frame by frame: their mean difference has a standard error.
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
from eitlens.classical.gauss_newton import TankImage, gauss_newton_image
from eitlens.classical.merit import position_error
from eitlens.classical.tank_frame import TankFrame
from eitlens.domain import Disk
from eitlens.electrodes import Electrodes, Pattern, simulate_readings
from eitlens.electrodes.protocols import from_pyeit
from eitlens.files import write_json
from eitlens.measure import files
from eitlens.measure.readings import ElectrodeMeasurement
from eitlens.phantom import Phantom, circle

ELECTRODES, GRID, STEPS, REPEATS = 16, 32, 5, 5
TARGETS, FRAMES = 100, 2000  # frames of a sequence
FEW = {"simulated": 25, "measured": 4}  # of them for Gauss-Newton
TAU, RADIUS = 1e-3, 0.2
CELLS, SIZE = 20, 0.25  # of Gauss-Newton: about as many elements as pyEIT's disk has
DATA = Path(__file__).parents[2] / "shared" / "real" / "uef2017"
UEF = {"1_1": (-0.01, 0.47), "1_2": (-0.06, 0.28), "1_3": (-0.10, 0.34), "1_4": (-0.07, 0.31)}
"""Targets of UEF 2017 and their places, in radii, as drawn on the photographs."""
RESULT = Path(__file__).parent / "results" / "classical.json"
DISK = Disk(GRID)
ROW = Electrodes.even(DISK, ELECTRODES, coverage=0.45, first=math.pi, clockwise=True)
"""Where pyEIT's electrodes are: from the left, clockwise; as wide as those of UEF 2017."""


Told = dict[str, Any]


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


def ours(given: Set, pattern: Pattern, few: int) -> dict[str, Told]:
    """Seconds a frame and position errors of each method."""
    told = {"one-step": linear("noser", given, pattern), "GREIT": linear("greit", given, pattern)}
    return told | {"Gauss-Newton": newton(given, pattern, few)}


def linear(method: str, given: Set, pattern: Pattern) -> Told:
    """All frames at once, and one by one."""
    solver = prepared(method, given, pattern)
    seconds, images = fastest(partial(solver.solve, given.v1, given.v0))
    single, _ = fastest(lambda: [solver.solve(frame, given.v0) for frame in given.v1])
    errors = off(torch.from_numpy(images).double(), given.places)
    count = len(given.v1)
    return {"seconds": seconds / count, "single": single / count, "pixels": images[0].size, "errors": errors}


def newton(given: Set, pattern: Pattern, few: int) -> Told:
    """Absolute images of frames as our model of the empty tank would give them."""
    v1 = torch.from_numpy(given.v1[:few])
    data = ElectrodeMeasurement(ROW, pattern, v1, torch.from_numpy(given.v0))
    first = TankFrame.of(data.frame(0), cells=CELLS, size=SIZE)
    frames = [replace(first, readings=first.empty + first.model.kept(row)) for row in data.difference]
    newton_seconds(frames[:1])  # warms up
    seconds, found = newton_seconds(frames)
    all_steps, _ = newton_seconds(frames, target=0.0)
    images = torch.stack([first.model.image(one.sigma - one.background, DISK) for one in found])
    return {
        "seconds": seconds,
        "all_steps": all_steps,
        "steps": sum(len(one.misfits) - 1 for one in found) / few,
        "pixels": first.model.unknowns,
        "errors": off(images, given.places),
    }


def newton_seconds(frames: list[TankFrame], target: float = 1.0) -> tuple[float, list[TankImage]]:
    """Seconds a frame, and the images."""
    start = time.process_time()
    found = [gauss_newton_image(frame, steps=STEPS, target=target, uncertainty=False) for frame in frames]
    return (time.process_time() - start) / len(frames), found


def off(images: Tensor, places: list[tuple[float, float]]) -> list[float]:
    """The position error of each image."""
    return [position_error(DISK, x, c) for x, c in zip(images, places, strict=False)]


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


def compared(own: Told, other: Told, places: list[tuple[float, float]]) -> Told:
    """What the result file has of a method."""
    theirs = [math.dist(a, b) for a, b in zip(other["places"], places, strict=False)]
    unlike = len({place for place, _ in zip(places, theirs, strict=False)})  # of frames that are not repeated
    errors, errors_pyeit = torch.tensor(own["errors"][:unlike]), torch.tensor(theirs[:unlike])
    more = errors - errors_pyeit
    ratios = {"times_as_fast": other["seconds"] / own["seconds"]}
    if "single" in own:
        ratios |= {
            "frame_by_frame": other["seconds"] / own["single"],
            "batch": other["batch"] / own["seconds"],
        }
    else:
        ratios |= {"five_steps": other["seconds"] / own["all_steps"], "steps": own["steps"]}
    return ratios | {
        "frames": unlike,
        "frames_a_second": 1 / own["seconds"],
        "frames_a_second_pyeit": 1 / other["seconds"],
        "error": float(errors.mean()),
        "error_pyeit": float(errors_pyeit.mean()),
        "more": [float(more.mean()), float(more.std() / math.sqrt(unlike))],
        "values": own["pixels"],
        "values_pyeit": other["pixels"],
    }


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
        np.savez(names[1], few=list(FEW.values()), **arrays)
        side(given.pyeit, "images", names[1], names[2])
        theirs = json.loads(Path(names[2]).read_text(encoding="utf-8"))
    record: dict[str, Told] = {}
    for name, one in there.items():
        for method, found in ours(one, pattern, FEW[name]).items():
            row = compared(found, theirs[f"{name} {method}"], one.places)
            record.setdefault(name, {})[method] = row
            figures = ", ".join(f"{key} {value:.4g}" for key, value in row.items() if key != "more")
            print(
                f"{name}, {method}: {figures}, more {row['more'][0]:.4f} ± {row['more'][1]:.4f}", flush=True
            )
    write_json(given.out, record)


if __name__ == "__main__":
    main()
