"""Your own measurement: 64 electrodes, voltages in a .csv file with two of them broken, and the image of it.

    python examples/electrodes.py

The file is made here from a simulated body; with your own, `main` needs the part from `files.read` on only.
"""

import csv
from pathlib import Path

import torch
from first_image import BODY

import eitlens as eit
from eitlens.figures.reconstruction import reconstruction_figure
from eitlens.measure import files
from eitlens.measure.points import measured

BROKEN = (10, 37)


def measure(path: Path) -> None:
    """Write a row an electrode: its place, the currents in it, the voltages at it with and without the inclusions."""
    square = eit.Square(200)
    g = eit.currents.cosine(square, 3)
    clean = eit.BoundaryIntegralSolver(square).difference(BODY, g)
    made = measured(square, g, clean, BODY.outside, tau=0.01, seed=3, points=64)
    kinds = {"current": made.currents, "voltage": made.voltages, "reference": made.reference}
    heads = [f"{kind}_{k + 1}" for kind in kinds for k in range(3)]
    table = torch.cat([made.points, *(values.T for values in kinds.values())], 1).tolist()
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["x", "y", *heads, "mask"])
        writer.writerows([*row, int(k not in BROKEN)] for k, row in enumerate(table))


def main(out: Path) -> float:
    """Write the file, read it, image it; the Dice score."""
    path = out.with_suffix(".csv")
    path.parent.mkdir(parents=True, exist_ok=True)
    measure(path)
    found = eit.Imager.load()(files.read(path))
    reconstruction_figure(found, out)
    for warning in found.warnings:
        print(f"warning: {warning.text}")
    return found.dice(BODY)


if __name__ == "__main__":
    print(f"Dice {main(Path('out/electrodes.png')):.3f}, picture: out/electrodes.png")
