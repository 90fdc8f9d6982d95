"""Without training and with it: the direct sampling method beside a network, ranked by the same measure.

    python examples/direct_sampling.py

The index of direct sampling is large in the inclusions and small elsewhere, but no probability: so both images are
judged by how well they rank the nodes, the area under the ROC curve (½ for a guess, 1 for a perfect order).
"""

from pathlib import Path

import eitlens as eit
from eitlens.evaluate.metrics import area_under_curve
from eitlens.figures.style import outline, picture, show_field
from eitlens.phantom import level_set


def main(out: Path, tau: float = 0.05) -> tuple[float, float]:
    """The area under the curve of direct sampling and of the network."""
    square = eit.Square(200)
    body = eit.EllipseSampler(seed=7, disjoint=True).phantom(0)
    clean = eit.BoundaryIntegralSolver(square).difference(body, eit.currents.cosine(square, 3))
    noisy = eit.add_noise(clean, tau, seed=1)
    images = {"direct sampling": eit.direct_sampling(square, noisy), "network": eit.reconstruct(noisy)}
    truth = eit.indicator(square, body)
    scores = [area_under_curve(image, truth) for image in images.values()]
    with picture(out, 1, 2) as axes:
        for panel, (name, image), score in zip(axes[0], images.items(), scores, strict=True):
            show_field(panel, image, f"{name}: AUC {score:.3f}")
            outline(panel, level_set(square, body))
    return scores[0], scores[1]


if __name__ == "__main__":
    classical, learned = main(Path("out/direct_sampling.png"))
    print(f"AUC {classical:.3f} of direct sampling, {learned:.3f} of the network")
