"""Your own method: a function from a measurement to an image, registered, so that every command knows its name.

python examples/own_method.py
"""

from dataclasses import replace
from pathlib import Path

from first_tank import RODS, measured

import eitlens as eit
from eitlens.figures.comparison import comparison_figure
from eitlens.imaging import Options, Reconstruction
from eitlens.imaging.comparison import compare


def both(measurement: eit.Measurement, options: Options) -> Reconstruction:
    """The geometric mean of two images, 0 where their signs differ."""
    methods = eit.registered("method")
    one, other = methods["noser"](measurement, options), methods["laplace"](measurement, options)
    image = one.image.sign() * (one.image * other.image).clamp(min=0).sqrt()
    return replace(one, image=image, method="both")


def main(out: Path) -> float:
    """Compare it with the two, draw; its Dice score."""
    if "both" not in eit.registered("method"):
        eit.register("method", "both", both)  # `eitlens --plugin own_method compare … --methods both noser`
    rows = compare(measured(), ["noser", "laplace", "both"], Options(n=40), RODS)
    comparison_figure(rows, out, RODS)
    return rows[-1].scores.dice


if __name__ == "__main__":
    print(f"Dice {main(Path('out/own_method.png')):.3f}")
