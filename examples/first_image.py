"""The first image: a body with two inclusions, measured on its boundary with 5 % noise, and what a network sees of it.

python examples/first_image.py
"""

from pathlib import Path

import eitlens as eit
from eitlens.figures.style import outline, picture, show_field
from eitlens.phantom import conductivity, level_set

BODY = eit.Phantom([eit.Ellipse((0.35, -0.2), (0.2, 0.4), angle=0.5), eit.circle((-0.4, 0.4), 0.25)])


def main(out: Path, tau: float = 0.05) -> float:
    """Simulate, reconstruct, draw; the Dice score."""
    square = eit.Square(200)
    clean = eit.BoundaryIntegralSolver(square).difference(BODY, eit.currents.cosine(square, 3))
    measured = eit.add_noise(clean, tau, seed=1)
    found = eit.Imager.load()(eit.Measurement.of_difference(measured))
    with picture(out, 1, 3) as axes:
        show_field(axes[0, 0], conductivity(square, BODY), "the body: σ")
        for k, row in enumerate(measured):
            axes[0, 1].plot(square.arclength(), row, color=str(0.35 * k), linewidth=0.8, label=f"l = {k + 1}")
        axes[0, 1].set(title="what is measured: f − f0", xlabel="arclength")
        axes[0, 1].legend(title="current cos lθ", fontsize=7, title_fontsize=7)
        show_field(axes[0, 2], found.image, "probability of inclusion", limits=(0, 1))
        outline(axes[0, 2], level_set(square, BODY))
    return found.dice(BODY)


if __name__ == "__main__":
    print(f"Dice {main(Path('out/first_image.png')):.3f}, picture: out/first_image.png")
