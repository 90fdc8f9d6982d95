"""The posterior: all ellipses that explain noisy data, each as often as it is probable.

    python examples/posterior.py

One ellipse, one current, a coarse boundary and a short run: seconds. It says itself whether that was long enough.
"""

from pathlib import Path

import eitlens as eit
from eitlens import posterior
from eitlens.figures.style import outline, picture, show_field
from eitlens.phantom import level_set

TAU = 0.2


def main(out: Path) -> float:
    """Sample, draw the probability of inclusion; the Dice score of {probability > ½}."""
    square, prior = eit.Square(48), eit.EllipseSampler(seed=1, count=1)
    body, currents = prior.phantom(2), eit.currents.cosine(square, 1)
    clean = eit.BoundaryIntegralSolver(square).difference(body, currents)
    settings = posterior.Settings(ensembles=2, levels=8, warmup=15, least=15, most=15, seed=1)
    found = posterior.sample(eit.add_noise(clean, TAU, 1), square, currents, TAU, prior, settings)
    image = found.mean(0)
    with picture(out, 1, 1) as axes:
        show_field(axes[0, 0], image, "probability of inclusion", limits=(0, 1))
        outline(axes[0, 0], level_set(square, body))
    seen, true = image > 0.5, eit.indicator(square, body)
    return 2 * int((seen & true).sum()) / int(seen.sum() + true.sum())


if __name__ == "__main__":
    print(f"Dice {main(Path('out/posterior.png')):.3f}")
