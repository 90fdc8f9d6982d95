"""Classical images of simulated tanks: every method for electrodes, at three levels of noise, in one table.

    python validation/classical.py [--tanks 12] [--methods noser greit] [--out FILE]

Tanks of 16 and of 32 electrodes (adjacent currents, 0.3 S/m) with one or two inclusions, a fifth or five times as
conductive as the water. White noise of 10⁻⁴, 10⁻³ and 10⁻² of the root mean square of the readings, in the frame and in
the reference. For each method of `METHODS` that images readings of electrodes:

- position error: mean distance from the inclusion to the centre of gravity of the image around it, in radii;
- Dice: of the nodes above half of the largest change of the image with the inclusions, both signs counted as one;
- error of σ: ‖σ0 + x - σ‖ / ‖σ‖ on the nodes of the body, x the image.

Each frame is imaged by itself, so that each has its own strength. `seconds` are of an image, its share of what is made
once for a tank included.

docs/classical.md quotes what `--out results/classical.json` keeps.
"""

import argparse
import math
from pathlib import Path
from typing import NamedTuple

import torch
from study import OUT, expect
from torch import Tensor

from eitlens import phantom as phantoms
from eitlens.classical.merit import position_error
from eitlens.domain import Disk
from eitlens.electrodes import Electrodes, Pattern, simulate_readings
from eitlens.errors import InputError
from eitlens.files import write_json
from eitlens.imaging import METHODS, Options, Reconstruction
from eitlens.measure import Measurement
from eitlens.phantom import Phantom, circle

LEVELS, COUNTS, SIGMA, CONTRAST, GRID = (1e-4, 1e-3, 1e-2), (16, 32), 0.3, 5.0, 48
TANK = Disk(GRID, scale=0.1)
NOT_OF_ELECTRODES = ("network", "posterior", "dsm", "minimise")
"""Methods that read densities at points of the boundary, or image something else than σ."""
SIMPLER = (("noser", "tikhonov"), ("laplace", "tikhonov"), ("gaussian", "tikhonov"), ("greit", "tikhonov"))
"""A method and the simpler one that it should beat."""


class Case(NamedTuple):
    """Tanks of one layout and one level of noise, and what is in them."""

    data: Measurement
    bodies: list[Phantom]


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


def case(electrodes: int, tau: float, bodies: list[Phantom]) -> Case:
    """Their readings."""
    row, pattern = Electrodes.even(TANK, electrodes, 0.5, 1e-4), Pattern.named("adjacent", electrodes, 1e-3)
    volts = simulate_readings(row, pattern, [*bodies, Phantom([], outside=SIGMA)])
    size = tau * volts[-1].square().mean().sqrt()
    draw = torch.Generator().manual_seed(electrodes)
    noisy = volts + size * torch.randn(volts.shape, generator=draw, dtype=torch.float64)
    return Case(Measurement.of_electrodes(row, pattern, noisy[:-1], reference=noisy[-1:]), bodies)


def change(found: Reconstruction) -> Tensor:
    """The image as σ - σ0."""
    inside = found.domain.inside()
    return found.image if found.quantity == "change" else torch.where(inside, found.image - SIGMA, 0.0)


def scores(found: Reconstruction, body: Phantom) -> tuple[float, float, float]:
    """Position error, Dice and error of σ."""
    image, inside = change(found), found.domain.inside()
    truth = torch.where(inside, phantoms.conductivity(found.domain, body) - SIGMA, 0.0)
    seen = image.abs() > 0.5 * image.abs().max()
    there = truth != 0
    dice = 2 * float((seen & there).sum()) / float(seen.sum() + there.sum())
    error = float((image - truth)[inside].norm() / (SIGMA + truth)[inside].norm())
    return place(found, image, body), dice, error


def place(found: Reconstruction, image: Tensor, body: Phantom) -> float:
    """The mean over the inclusions: for each, the image of its sign nearer to it than to the others."""
    nodes, errors = found.domain.nodes(), []
    centres = torch.stack([shape.parameters()[:2] for shape in body.shapes])
    nearest = torch.cdist(nodes.flatten(0, 1), centres).argmin(1).reshape(image.shape)
    for k, (centre, value) in enumerate(zip(centres.tolist(), body.inside, strict=True)):
        own = torch.where(nearest == k, image * math.copysign(1, value - SIGMA), 0.0).clamp(min=0)
        seen = bool(own.max() > 0)
        errors.append(position_error(found.domain, own, (centre[0], centre[1])) if seen else 1.0)
    return sum(errors) / len(errors)


def methods(asked: list[str] | None) -> list[str]:
    """Those that take readings of electrodes."""
    return asked or [name for name in METHODS if name not in NOT_OF_ELECTRODES]


def rate(name: str, one: Case) -> dict[str, float] | None:
    """Mean scores of a method; None where it does not take such tanks."""
    try:
        found = [METHODS[name](one.data.frame(k), Options(n=GRID)) for k in range(one.data.frames)]
    except InputError as error:
        print(f"  {name}: {error}", flush=True)
        return None
    table = torch.tensor([scores(image, body) for image, body in zip(found, one.bodies, strict=True)])
    position, dice, relative = table.mean(0).tolist()
    seconds = sum(image.seconds for image in found) / len(found)
    return {"position": position, "dice": dice, "error": relative, "seconds": seconds}


def main() -> None:
    """Run the study."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--tanks", type=int, default=12)
    parser.add_argument("--methods", nargs="+")
    parser.add_argument("--out", type=Path, default=OUT / "classical.json")
    given = parser.parse_args()
    bodies = tanks(given.tanks)
    record: dict[str, dict[str, dict[str, dict[str, float]]]] = {}
    for count in COUNTS:
        for tau in LEVELS:
            one = case(count, tau, bodies)
            for name in methods(given.methods):
                found = rate(name, one)
                if found is None:
                    continue
                record.setdefault(f"{count}", {}).setdefault(f"{tau:g}", {})[name] = found
                told = ", ".join(f"{key} {value:.3g}" for key, value in found.items())
                print(f"  {count} electrodes, noise {tau:g}, {name}: {told}", flush=True)
    write_json(given.out, {"tanks": given.tanks, "scores": record})
    assess(record)


def assess(record: dict[str, dict[str, dict[str, dict[str, float]]]]) -> None:
    """Expect each method to beat the simpler one, in the mean over layouts and levels of noise."""
    cells = [levels for layouts in record.values() for levels in layouts.values()]
    for name, simpler in SIMPLER:
        both = [cell for cell in cells if name in cell and simpler in cell]
        if both:
            errors = [sum(cell[key]["error"] for cell in both) / len(both) for key in (name, simpler)]
            told = f"{name} has less error of σ than {simpler}: {errors[0]:.4f}, {errors[1]:.4f}"
            expect(errors[0] < errors[1], told)


if __name__ == "__main__":
    main()
