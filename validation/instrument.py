"""The exact electrode model and the instrument against a measured tank: how much of its reference each part explains.

    python validation/instrument.py FOLDER

FOLDER is the training folder of the Kuopio Tomography Challenge 2023 (doi:10.5281/zenodo.8252370), which is not part
of the package. The reference is a tank of water with nothing in it, 76 injections × 31 channels. Parameters are freed
group by group, each time fitted by Gauss-Newton with derivatives through the model; without the folder the study ends.
"""

import argparse
import math
from collections.abc import Callable
from pathlib import Path

import scipy.io
import torch
from study import OUT, expect
from torch import Tensor

from eitlens.electrodes import Instrument, empty_tank
from eitlens.files import write_json

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
SIZES = {"one width": 1, "impedances each": E, "common mode": E - 1, "source currents": E}
SIZES |= {"leak": 1, "gains": E - 1, "shifts": E}


def model(parts: dict[str, Tensor], drive: Tensor) -> Tensor:
    """The readings, logarithms standing for what must be positive."""
    conductivity, impedance = parts["conductivity, impedance"].exp()
    angles = math.pi / 2 + 2 * math.pi / E * torch.arange(E, dtype=torch.float64) + parts["shifts"]
    half_widths = WIDTH / 2 * parts["one width"].exp().expand(E)
    contact = impedance * parts["impedances each"].exp()
    tank = empty_tank(angles, half_widths, contact, 1)
    device = Instrument(
        Instrument.neighbours(E),
        parts["gains"],
        parts["common mode"],
        parts["source currents"],
        parts["leak"][0],
    )
    return device.measure(tank.resistance / conductivity, drive)


def jacobian(function: Callable[[Tensor], Tensor], at: Tensor) -> Tensor:
    """Forward derivatives, sixteen directions at a time."""

    def along(direction: Tensor) -> Tensor:
        moved: Tensor = torch.func.jvp(function, (at,), (direction,))[1]
        return moved

    columns: Tensor = torch.func.vmap(along, chunk_size=16)(torch.eye(len(at), dtype=at.dtype))
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
    print(f"  leak {float(parts['leak'][0]):.2e}, width × {float(parts['one width'].exp()):.3f}")
    OUT.mkdir(exist_ok=True)
    write_json(OUT / "instrument.json", found)


if __name__ == "__main__":
    main()
