"""The exact electrode model and the instrument against a measured tank: how much of its reference each part explains.

    python validation/instrument.py FOLDER

FOLDER is the training folder of the Kuopio Tomography Challenge 2023 (doi:10.5281/zenodo.8252370), which is not part
of the package. The reference is a tank of water with nothing in it, 76 injections × 31 channels. Parameters are freed
group by group, each time fitted by Gauss-Newton with derivatives through the model; without the folder the study ends.

The four targets, whose truths are known, then are differences to that reference: boundary integrals on the outlines of
the truths (polygons with rounded corners), metal as a perfect conductor, plastic as an insulator, and one free number a
target, how much better the water conducts than before. Nothing else is fitted to them.
"""

import argparse
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import scipy.io
import torch
from contourpy import contour_generator
from numpy.typing import NDArray
from scipy import ndimage
from study import OUT, expect
from torch import Tensor

from eitlens.domain import Disk
from eitlens.electrodes import EmptyTank, Instrument, empty_tank
from eitlens.files import write_json
from eitlens.forward import BoundaryIntegralSolver
from eitlens.phantom import Phantom, RoundedPolygon

E, WIDTH = 32, math.radians(5.625)
STEPS = 8
DAMPING = 1e-6
"""Of the mean curvature: keeps what the data do not determine where it is."""
BARS = {
    "conductivity, impedance": 0.12,
    "one width": 0.09,
    "impedances each": 0.08,
    "common mode": 0.035,
    "source currents": 0.022,
    "leak": 0.012,
    "gains": 0.007,
    "shifts": 0.005,
}
TARGET_BARS = (0.10, 0.085, 0.065, 0.06)
WAVES, PIXELS, FLAT, RADIUS = 48, 256, 0.012, 0.01
"""A truth's outline is simplified to within `FLAT` of itself, a pixel and a half, and its corners are rounded."""
UNRELIABLE = ((14, 15, 30, 45, 60, 75), (29, 30))
"""Injections of electrode 31 and channels at it: not linear in the currents, whatever is in the tank."""
SIZES = {"one width": 1, "impedances each": E, "common mode": E - 1, "source currents": E}
SIZES |= {"leak": 1, "gains": E - 1, "shifts": E}


def tank_and_device(parts: dict[str, Tensor], waves: int) -> tuple[EmptyTank, Instrument]:
    """The tank of conductivity 1 and the device, logarithms standing for what must be positive."""
    impedance = parts["conductivity, impedance"][1].exp()
    angles = math.pi / 2 + 2 * math.pi / E * torch.arange(E, dtype=torch.float64) + parts["shifts"]
    half_widths = WIDTH / 2 * parts["one width"].exp().expand(E)
    contact = impedance * parts["impedances each"].exp()
    device = Instrument(
        Instrument.neighbours(E),
        parts["gains"],
        parts["common mode"],
        parts["source currents"],
        parts["leak"][0],
    )
    return empty_tank(angles, half_widths, contact, waves), device


def model(parts: dict[str, Tensor], drive: Tensor) -> Tensor:
    """The readings of the reference."""
    tank, device = tank_and_device(parts, 1)
    return device.measure(tank.resistance / parts["conductivity, impedance"][0].exp(), drive)


def jacobian(function: Callable[[Tensor], Tensor], at: Tensor) -> Tensor:
    """Forward derivatives, eight directions at a time."""

    def along(direction: Tensor) -> Tensor:
        moved: Tensor = torch.func.jvp(function, (at,), (direction,))[1]
        return moved

    columns: Tensor = torch.func.vmap(along, chunk_size=8)(torch.eye(len(at), dtype=at.dtype))
    return columns.T


def fit(parts: dict[str, Tensor], free: list[str], residual: Callable[[dict[str, Tensor]], Tensor]) -> None:
    """Gauss-Newton on the free groups, in place."""
    sizes = [len(parts[name]) for name in free]

    def of(row: Tensor) -> Tensor:
        return residual(parts | dict(zip(free, torch.split(row, sizes), strict=True)))

    row, damping = torch.cat([parts[name] for name in free]), DAMPING
    for _ in range(STEPS):
        here = of(row)
        slope = jacobian(of, row)
        normal = slope.T @ slope
        extra = damping * normal.diagonal().mean() * torch.eye(len(row), dtype=row.dtype)
        step = torch.linalg.solve(normal + extra, slope.T @ here)
        while float(of(row - step).norm()) > float(here.norm()) * (1 + 1e-9):
            step = step / 2
            if float(step.norm()) < 1e-9:
                break
        row = row - step
    parts |= dict(zip(free, torch.split(row, sizes), strict=True))


def target(folder: Path, k: int) -> Phantom:
    """The truth of a target, as outlines."""
    (truth,) = (
        v for key, v in scipy.io.loadmat(folder / f"ground_truth/true{k}.mat").items() if key[0] != "_"
    )
    place = (np.arange(PIXELS) - (PIXELS - 1) / 2) / (PIXELS / 2)
    shapes, inside = [], []
    for value, conductivity in ((1, 0.0), (2, math.inf)):
        mask = ndimage.gaussian_filter((truth == value).astype(float), 1.0)
        for line in contour_generator(place, -place, mask).lines(0.5):
            shapes.append(RoundedPolygon(simplified(np.asarray(line)[:-1]).tolist(), RADIUS))
            inside.append(conductivity)
    return Phantom(shapes, inside)


def simplified(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """The fewest of the points on a loop that keep it within FLAT (Douglas and Peucker)."""

    def between(part: NDArray[np.float64]) -> list[NDArray[np.float64]]:
        start, edge = part[0], part[-1] - part[0]
        away = np.abs(edge[0] * (part[:, 1] - start[1]) - edge[1] * (part[:, 0] - start[0]))
        far = int(away.argmax())
        if away[far] <= FLAT * np.linalg.norm(edge):
            return [start]
        return between(part[: far + 1]) + between(part[far:])

    loop = np.roll(points, -int(np.linalg.norm(points - points.mean(0), axis=1).argmax()), 0)
    half = int(np.linalg.norm(loop - loop[0], axis=1).argmax())
    return np.array(between(loop[: half + 1]) + between(np.concatenate([loop[half:], loop[:1]])))


def explained(folder: Path, parts: dict[str, Tensor], drive: Tensor, reference: Tensor) -> list[float]:
    """What is left of the difference data of each target."""
    sigma = parts["conductivity, impedance"][0].exp()
    tank, device = tank_and_device(parts, WAVES)
    keep = torch.ones_like(reference, dtype=torch.bool)
    keep[torch.tensor(UNRELIABLE[0])[:, None], torch.tensor(UNRELIABLE[1])] = False
    empty, left = device.measure(tank.resistance / sigma, drive), []
    for k in range(1, 5):
        stored = scipy.io.loadmat(folder / f"data{k}.mat")["Uel"]
        change = torch.tensor(stored, dtype=torch.float64).reshape(reference.shape) - reference
        waves = BoundaryIntegralSolver(Disk(4), nodes=64).modes(target(folder, k), WAVES)
        full = tank.resistance + tank.change(waves)
        gaps = [
            float((device.measure(full / (sigma * water), drive) - empty - change)[keep].norm())
            for water in np.linspace(0.9, 1.1, 201)
        ]
        left.append(min(gaps) / float(change[keep].norm()))
        print(f"  target {k}: {left[-1]:.2%}, water × {0.9 + 0.001 * gaps.index(min(gaps)):.3f}", flush=True)
    return left


def main() -> None:
    """Run the study."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", nargs="?", type=Path)
    given = parser.parse_args()
    print("Electrodes and instrument against a measured tank")
    if given.folder is None or not (given.folder / "ref.mat").exists():
        print("  no measured data: give the training folder of the challenge")
        raise SystemExit
    stored = scipy.io.loadmat(given.folder / "ref.mat")
    drive = torch.tensor(stored["Injref"].T, dtype=torch.float64)
    data = torch.tensor(stored["Uelref"], dtype=torch.float64).reshape(len(drive), -1)
    parts = {name: torch.zeros(size, dtype=torch.float64) for name, size in SIZES.items()}
    parts["conductivity, impedance"] = torch.tensor([math.log(0.8), math.log(1e-3)], dtype=torch.float64)

    def residual(parts: dict[str, Tensor]) -> Tensor:
        gap: Tensor = (model(parts, drive) - data).flatten() / data.norm()
        return gap

    free: list[str] = []
    found = {}
    for name in BARS:
        free.append(name)
        fit(parts, free, residual)
        found[name] = float(residual(parts).norm())
        print(f"  + {name}: {found[name]:.2%}", flush=True)
    for name, value in found.items():
        expect(value <= BARS[name], f"{name}: a residual of {value:.2%}, at most {BARS[name]:.1%}")
    left = explained(given.folder, parts, drive, data)
    for value, bar in zip(left, TARGET_BARS, strict=True):
        expect(value <= bar, f"a target: a residual of {value:.2%}, at most {bar:.1%}")
    print(f"  leak {float(parts['leak'][0]):.2e}, width × {float(parts['one width'].exp()):.3f}")
    OUT.mkdir(exist_ok=True)
    write_json(OUT / "instrument.json", found | {"targets": left})


if __name__ == "__main__":
    main()
