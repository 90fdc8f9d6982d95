"""GREIT: one matrix, trained on small targets, that turns any number of frames into images at once.

    python examples/greit.py

A rod goes around in the tank; its place is the centre of gravity of each image.
"""

import math
from pathlib import Path

import torch
from first_tank import TANK, measured

import eitlens as eit
from eitlens.figures.style import picture, show_field
from eitlens.measure.simulation import simulated

ANGLES = [2 * math.pi * k / 6 for k in range(6)]
PLACES = torch.tensor([[0.5 * math.cos(t), 0.5 * math.sin(t)] for t in ANGLES], dtype=torch.float64)


def main(out: Path) -> float:
    """Image six frames, draw three; the largest distance from the rod to where it is seen, in radii of the tank."""
    tank = measured()
    rods = [eit.Phantom([eit.circle((x, y), 0.15)], 0.01, 0.3) for x, y in PLACES.tolist()]
    data = simulated(tank.electrodes, tank.pattern, rods, tank.height, snr=60, seed=1)
    images = eit.fit_greit(data)(data.difference)
    body = TANK.at(images.shape[1] - 1)
    weight = images.where(
        images < images.amin((1, 2), keepdim=True) / 2, 0
    )  # plastic conducts less than water
    seen = torch.einsum("fxy,xyk->fk", weight, body.nodes()) / weight.sum((1, 2))[:, None]
    with picture(out, 1, 3) as axes:
        for panel, k in zip(axes[0], (0, 2, 4), strict=True):
            show_field(panel, images[k].where(body.inside(), torch.nan), f"frame {k + 1}", diverging=True)
            panel.plot(*PLACES[k], "k+")
            panel.plot(*seen[k], "kx")
    return float((seen - PLACES).norm(dim=1).max())


if __name__ == "__main__":
    print(f"seen within {main(Path('out/greit.png')):.3f} radii of the tank")
