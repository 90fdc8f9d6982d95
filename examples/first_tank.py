"""The first tank: sixteen electrodes around water with a plastic and an agar rod in it, imaged by a trained network.

    python examples/first_tank.py

The other examples of tanks begin from here: they import the tank, what is in it, `measured`, `overlap` and `show`.
"""

from pathlib import Path

import torch

import eitlens as eit
from eitlens.evaluate.images import scores
from eitlens.figures.reconstruction import show_image
from eitlens.figures.style import outline, picture, show_field
from eitlens.imaging import Reconstruction
from eitlens.measure.readings import ElectrodeMeasurement
from eitlens.measure.simulation import simulated
from eitlens.phantom import conductivity, level_set

TANK = eit.Disk(64, scale=0.14)  # 14 cm in radius
PLASTIC, AGAR = eit.circle((-0.4, 0.35), 0.2), eit.Ellipse((0.4, -0.2), (0.15, 0.3), angle=0.4)
RODS = eit.Phantom([PLASTIC, AGAR], inside=[0.003, 0.9], outside=0.3)  # S/m; the agar is salted


def measured(
    rods: eit.Phantom = RODS, pattern: str = "adjacent", count: int = 16, snr: float = 70.0
) -> ElectrodeMeasurement:
    """What a device measures of the rods, and of the water alone; its noise is `snr` decibels below the readings."""
    electrodes = eit.Electrodes.even(TANK, count, coverage=0.5, impedance=1e-4)
    drive = eit.Pattern.named(pattern, count, current=5e-3)
    return simulated(electrodes, drive, rods, height=0.05, snr=snr, seed=1)


def overlap(found: Reconstruction, rods: eit.Phantom = RODS) -> float:
    """The Dice score of the area where an image departs from the water: 1 if it is that of the rods."""
    return scores(found.image, found.quantity, found.domain, rods).dice


def show(out: Path, found: dict[str, Reconstruction], rods: eit.Phantom = RODS) -> None:
    """Draw the tank, and images of it with its outlines."""
    with picture(out, 1, 1 + len(found)) as axes:
        body = next(iter(found.values())).domain
        sigma = conductivity(body, rods).where(body.inside(), torch.nan)
        show_field(axes[0, 0], sigma, "the tank: σ in S/m", limits=(0, 2 * rods.outside))
        for panel, (name, image) in zip(axes[0, 1:], found.items(), strict=True):
            show_image(panel, image, f"{name}: Dice {overlap(image, rods):.2f}")
            outline(panel, level_set(body, rods), "white" if image.quantity == "index" else "black")


def main(out: Path) -> float:
    """Measure, make the image, draw; the Dice score."""
    found = next(eit.imaging.images(measured(), "network", eit.imaging.Options(n=64)))
    show(out, {"network": found})
    return overlap(found)


if __name__ == "__main__":
    print(f"Dice {main(Path('out/first_tank.png')):.3f}, picture: out/first_tank.png")
