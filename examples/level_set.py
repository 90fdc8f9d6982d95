"""Level sets: each point is water, or conducts worse, or better; the borders between move until the data fit.

python examples/level_set.py
"""

from pathlib import Path

from first_tank import measured, overlap, show

import eitlens as eit


def main(out: Path) -> float:
    """Image, draw; the Dice score."""
    found = eit.level_sets(measured(), eit.imaging.Options(n=64))
    show(out, {"level sets": found})
    return overlap(found)


if __name__ == "__main__":
    print(f"Dice {main(Path('out/level_set.png')):.3f}")
