"""Any body: electrodes around a chest, and an image of two lungs that fill with air.

python examples/any_body.py
"""

from pathlib import Path

from first_tank import overlap, show

import eitlens as eit
from eitlens.measure.simulation import simulated

LUNGS = eit.Phantom(
    [eit.Ellipse((-0.42, 0.0), (0.22, 0.38), angle=0.1), eit.Ellipse((0.42, 0.0), (0.22, 0.38), angle=-0.1)],
    inside=0.1,
    outside=0.3,
)


def main(out: Path) -> float:
    """Measure, image, draw; the Dice score."""
    chest = eit.bodies.thorax(width=0.36).at(64)
    electrodes = eit.Electrodes.even(chest, 32, coverage=0.4)
    pattern = eit.Pattern.named("skip-4", 32, current=5e-3)
    data = simulated(electrodes, pattern, LUNGS, height=0.1, snr=70, seed=1)
    found = eit.gauss_newton(data, eit.imaging.Options(n=64))
    show(out, {"Gauss-Newton": found}, LUNGS)
    return overlap(found, LUNGS)


if __name__ == "__main__":
    print(f"Dice {main(Path('out/any_body.png')):.3f}")
