"""A faulty measurement: two wires are swapped, the image is nonsense; `inspect` finds which and puts it right.

python examples/faulty_measurement.py
"""

from dataclasses import replace
from pathlib import Path

from first_tank import RODS, measured, overlap, show

import eitlens as eit
from eitlens.measure.quality import inspect
from eitlens.measure.readings import ElectrodeMeasurement
from eitlens.measure.simulation import simulated

ORDER = [*range(10), 11, 10, *range(12, 16)]
"""Which of our electrodes each wire of the device leads to: numbers 11 and 12 have changed places."""


def spoiled() -> ElectrodeMeasurement:
    """The measurement by swapped wires; the software is not told."""
    sound = measured()
    wired = sound.pattern.renumbered(ORDER)
    made = simulated(sound.electrodes, wired, RODS, sound.height, snr=70, seed=1)
    return replace(made, pattern=sound.pattern)


def main(out: Path) -> tuple[list[str], float, float]:
    """The faults that are found, in words, and the Dice scores of the images before and after the correction."""
    data = spoiled()
    report = inspect(data)
    options = eit.imaging.Options(n=64)
    found = {
        "as measured": eit.gauss_newton(data, options),
        "corrected": eit.gauss_newton(report.applied(), options),
    }
    show(out, found)
    before, after = (overlap(image) for image in found.values())
    return [finding.text for finding in report.findings], before, after


if __name__ == "__main__":
    faults, before, after = main(Path("out/faulty_measurement.png"))
    print(*faults, f"Dice {before:.3f} as measured, {after:.3f} corrected", sep="\n")
