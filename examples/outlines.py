"""Outlines: a few smooth objects, each with its conductivity, are moved and bent until the exact solver reads the data.

python examples/outlines.py
"""

from pathlib import Path

from first_tank import measured, overlap, show

import eitlens as eit


def main(out: Path) -> tuple[float, float]:
    """Image, draw; the Dice score, and the part of the data that is not explained."""
    found = eit.outlines(measured(), eit.imaging.Options(n=64))
    show(out, {"outlines": found})
    return overlap(found), found.misfit


if __name__ == "__main__":
    dice, misfit = main(Path("out/outlines.png"))
    print(f"Dice {dice:.3f}, {misfit:.2%} of the data are not explained")
