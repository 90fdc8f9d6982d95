"""What is known and what is not: the uncertainty of an image, the misfit of its body, and fine-tuning by the physics.

python examples/uncertainty.py
"""

from pathlib import Path

import eitlens as eit
from eitlens.figures.style import outline, picture, show_field
from eitlens.imaging import Reconstruction
from eitlens.phantom import level_set


def main(out: Path, tau: float = 0.02, steps: int = 12) -> tuple[Reconstruction, Reconstruction, eit.Phantom]:
    """The network's image, the one refined by `steps` steps through the forward solver, and the body."""
    square = eit.Square(200)
    body = eit.EllipseSampler(seed=3, count=3, disjoint=True).phantom(1)
    clean = eit.BoundaryIntegralSolver(square).difference(body, eit.currents.cosine(square, 3))
    measurement = eit.Measurement.of_difference(eit.add_noise(clean, tau, seed=1))
    imager = eit.Imager.load()
    plain, refined = imager(measurement), imager(measurement, refine=steps)
    with picture(out, 2, 2) as axes:
        for row, found, name in ((0, plain, "network"), (1, refined, "refined")):
            show_field(axes[row, 0], found.image, f"{name}: misfit {found.misfit:.1%}")
            show_field(axes[row, 1], found.uncertainty, "uncertainty √(p (1 − p))")
            outline(axes[row, 0], level_set(square, body))
            outline(axes[row, 1], level_set(square, body))
    return plain, refined, body


if __name__ == "__main__":
    before, after, body = main(Path("out/uncertainty.png"))
    print(
        f"misfit {before.misfit:.1%} to {after.misfit:.1%}, Dice {before.dice(body):.3f} to {after.dice(body):.3f}"
    )
