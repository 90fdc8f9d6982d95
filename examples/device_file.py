"""A file of plain numbers, as many devices write it: say what the tank is, and make an image.

python examples/device_file.py
"""

import math
import tempfile
from pathlib import Path

import numpy as np
from first_tank import AGAR, measured, show

import eitlens as eit
from eitlens.measure import files

SETUP = eit.Setup(electrodes=16, pattern="adjacent", current="5 mA", scale="14 cm", height="5 cm", unit="mV")


ROD = eit.Phantom([AGAR], 0.9, 0.3)


def main(out: Path) -> float:
    """Write millivolts as text, read them, image by direct sampling, draw; how far off the peak is, in radii."""
    made = measured(ROD)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        np.savetxt(folder / "frame.txt", 1000 * made.voltages)
        np.savetxt(folder / "water.txt", 1000 * made.reference)
        data = files.read(folder / "frame.txt", SETUP, folder / "water.txt")
    found = next(eit.imaging.images(data, "dsm", eit.imaging.Options(n=64)))
    show(out, {"direct sampling": found}, ROD)
    peak = found.domain.nodes().flatten(0, 1)[found.image.argmax()]
    return math.dist(peak.tolist(), AGAR.center)


if __name__ == "__main__":
    print(f"the peak is {main(Path('out/device_file.png')):.3f} radii off the rod")
