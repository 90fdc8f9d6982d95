"""The paper's minimisation (7): σ of the square that explains three currents, with total variation to hold it.

python examples/minimisation.py
"""

from pathlib import Path

import eitlens as eit
from eitlens.figures.style import outline, picture, show_field
from eitlens.phantom import level_set


def main(out: Path) -> float:
    """Image, draw; the ratio of the mean σ inside of the inclusions to that outside."""
    square = eit.Square(64)
    body = eit.Phantom([eit.circle((0.35, -0.3), 0.3), eit.circle((-0.4, 0.35), 0.3)])
    clean = eit.BoundaryIntegralSolver(square).difference(body, eit.currents.cosine(square, 3))
    found = eit.minimise(eit.Measurement.of_difference(eit.add_noise(clean, 0.02, seed=1)))
    grid = eit.Square(found.image.shape[0] - 1)
    inside = eit.indicator(grid, body)
    with picture(out, 1, 1) as axes:
        show_field(axes[0, 0], found.image, "σ by total variation")
        outline(axes[0, 0], level_set(grid, body))
    return float(found.image[inside].mean() / found.image[~inside].mean())


if __name__ == "__main__":
    print(f"σ is {main(Path('out/minimisation.png')):.1f} times as large in the inclusions")
