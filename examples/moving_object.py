"""Frames: a plastic rod moves through the tank while a device takes ten frames a second; one image a frame.

python examples/moving_object.py
"""

from pathlib import Path

import torch
from first_tank import measured

import eitlens as eit
from eitlens.figures.sequence import contact_sheet
from eitlens.measure.simulation import simulated

PATH = [(0.6 - 0.15 * k, 0.1 * k - 0.3) for k in range(8)]


def main(out: Path) -> float:
    """Image eight frames, draw them on a sheet; the largest distance from the rod to the peak of its image."""
    tank = measured()
    frames = [eit.Phantom([eit.circle(place, 0.15)], 0.01, 0.3) for place in PATH]
    data = simulated(tank.electrodes, tank.pattern, frames, tank.height, snr=60, seed=1, rate=10)
    found = [*eit.imaging.images(data, "noser", eit.imaging.Options(n=40))]
    contact_sheet(found, [f"{time:.1f} s" for time in data.times.tolist()], out)
    peaks = [one.domain.nodes().flatten(0, 1)[one.image.argmin()] for one in found]
    return float((torch.stack(peaks) - torch.tensor(PATH)).norm(dim=1).max())


if __name__ == "__main__":
    print(f"seen within {main(Path('out/moving_object.png')):.3f} radii of the tank")
