"""Gauss-Newton: the conductivity of a tank in S/m, from a smoothness prior, with the uncertainty of each point.

python examples/gauss_newton.py
"""

from pathlib import Path

import torch
from first_tank import RODS, TANK, measured

import eitlens as eit
from eitlens.figures.reconstruction import show_image
from eitlens.figures.style import outline, picture, show_field
from eitlens.phantom import level_set


def main(out: Path) -> float:
    """Image, draw; the part of the data that the image does not explain."""
    found = eit.gauss_newton(measured(), eit.imaging.Options(n=64))
    with picture(out, 1, 2) as axes:
        show_image(axes[0, 0], found, "change of σ in S/m")
        spread = found.uncertainty.where(TANK.inside(), torch.nan)
        show_field(axes[0, 1], spread, "its standard deviation")
        for panel in axes[0]:
            outline(panel, level_set(TANK, RODS), "black")
    return found.misfit


if __name__ == "__main__":
    print(f"{main(Path('out/gauss_newton.png')):.2%} of the data are not explained")
