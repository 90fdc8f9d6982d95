"""An image from few electrodes: how many are needed, and what it costs that they have a width.

    python validation/electrodes.py [NAME or FOLDER] [--phantoms 24] [--device cpu] [--out FILE]

Test phantoms of the paper's kind, E even electrodes between the corners of the square, voltages at their centres.

1. Points: the smooth current cos lθ, of which an electrode feels its value there.
2. Wide electrodes, half of the boundary covered: what cos lθ sends through a piece of the boundary enters evenly
   through the middle half of it, and nothing elsewhere. Contact impedance is left out. The current is a comb then,
   but its teeth are felt no deeper than about their distance: with 32 electrodes or more the Dice score is the same
   within 0.02.

docs/measurements.md quotes what `--out results/electrodes.json` keeps.
"""

import torch
from study import expect, subject
from torch import Tensor

from eitlens.domain import Square, boundary
from eitlens.evaluate.metrics import hard_dice
from eitlens.files import write_json
from eitlens.forward import GridSolver, add_noise
from eitlens.forward.currents import project
from eitlens.imaging import Imager
from eitlens.measure import Measurement
from eitlens.phantom import indicator

LEVELS, POINTS, WIDE = (0.0, 0.05), (16, 32, 64, 128, 800), (16, 32, 64)
COVERED, SEED = 0.5, 11


def centres(square: Square, count: int) -> Tensor:
    """Arclengths of even electrodes, none of them at a corner."""
    return (torch.arange(count, dtype=torch.float64) + 0.5) * (square.perimeter / count)


def through(currents: Tensor, count: int) -> Tensor:
    """Currents (L, N) as they come through electrodes: each gathers its piece of the boundary in its middle."""
    nodes = currents.shape[-1]
    place = torch.arange(nodes, dtype=torch.float64)[:, None] * (count / nodes)  # in pieces
    distance = (place - (torch.arange(count) + 0.5) + count / 2) % count - count / 2
    share = (distance.abs() < 0.5).double() + 0.5 * (
        distance.abs() == 0.5
    )  # half of a node where two pieces meet
    plate = (distance.abs() <= COVERED / 2).double()
    return project(currents @ share @ (plate / plate.sum(0)).T)


def dice(imager: Imager, data: Tensor, truth: Tensor, count: int, tau: float) -> float:
    """Mean over the phantoms, seen by so many electrodes, each with noise of its own."""
    square = Square(imager.reader.n)
    s = centres(square, count)
    points, currents = (
        boundary.from_nodes(values, s, square)
        for values in (square.boundary().T, imager.reader.currents.build(square))
    )
    images = []
    for k, one in enumerate(data):
        values = add_noise(boundary.from_nodes(one, s, square), tau, SEED + k)
        measurement = Measurement.of_points(points.T, currents, values, torch.zeros_like(values))
        images.append(imager(measurement, misfit=False).image)
    return float(hard_dice(torch.logit(torch.stack(images), 1e-4), truth.double()).mean())


def main() -> None:
    """Run the study."""
    imager, _, batch, out = subject("Electrodes: how many, and how wide", "electrodes.json", 24)
    square = Square(imager.reader.n)
    solver, smooth = GridSolver(square), imager.reader.currents.build(square)
    truth = indicator(square, batch)
    data = solver.difference(batch, smooth)
    combs = {count: solver.difference(batch, through(smooth, count)) for count in WIDE}

    points: dict[str, dict[str, float]] = {}
    wide: dict[str, dict[str, float]] = {}
    for tau in LEVELS:
        points[f"{tau:g}"] = {f"{count}": dice(imager, data, truth, count, tau) for count in POINTS}
        wide[f"{tau:g}"] = {f"{count}": dice(imager, combs[count], truth, count, tau) for count in WIDE}
        for name, found in (("points", points), ("wide", wide)):
            told = ", ".join(f"{count}: {value:.3f}" for count, value in found[f"{tau:g}"].items())
            print(f"  τ = {tau:g}, {name}: Dice {told}", flush=True)
    write_json(out, {"model": imager.name, "phantoms": len(batch), "points": points, "wide": wide})
    for level, dices in wide.items():
        for count in ("32", "64"):
            change = dices[count] - points[level][count]
            expect(
                abs(change) <= 0.02, f"τ = {level}, {count} wide electrodes: Dice changes by {change:+.3f}"
            )


if __name__ == "__main__":
    main()
