"""Your own body: the outline of a tank as points, as from a photograph; registered, so that files can name it.

python examples/own_body.py
"""

import math
from pathlib import Path

from first_tank import overlap, show

import eitlens as eit
from eitlens.measure.simulation import simulated

ANGLES = [2 * math.pi * k / 24 for k in range(24)]
BEAN = [
    (0.1 * (1 + 0.3 * math.cos(2 * t)) * math.cos(t), 0.08 * (1 - 0.25 * math.sin(t)) * math.sin(t))
    for t in ANGLES
]
"""Twenty-four points in metres."""


def main(out: Path) -> float:
    """Measure in the bean, image, draw; the Dice score."""
    bean = eit.bodies.through(BEAN, name="bean").at(64)
    if "bean" not in eit.registered("body"):
        eit.register("body", "bean", bean)  # from now on --body bean, and "body": "bean" in files
    rod = eit.Phantom([eit.circle((-0.45, 0.05), 0.2)], 0.03, 0.3)
    electrodes = eit.Electrodes.even(bean, 16, coverage=0.4)
    data = simulated(electrodes, eit.Pattern.named("skip-2", 16, current=5e-3), rod, 0.05, snr=70, seed=1)
    found = eit.gauss_newton(data, eit.imaging.Options(n=64))
    show(out, {"Gauss-Newton": found}, rod)
    return overlap(found, rod)


if __name__ == "__main__":
    print(f"Dice {main(Path('out/own_body.png')):.3f}")
