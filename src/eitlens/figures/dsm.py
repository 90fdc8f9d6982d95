"""What can be seen without training: direct sampling with one and three currents, clean and noisy."""

from pathlib import Path

from eitlens import phantom as phantoms
from eitlens.classical import direct_sampling
from eitlens.evaluate.ranking import area_under_curve
from eitlens.figures.studio import Studio
from eitlens.figures.style import outline, picture, show_field

CASES = ((1, 0.0), (3, 0.0), (3, 0.2))


def draw(studio: Studio, path: Path) -> str:
    """The index function of direct sampling, with how well it ranks the nodes."""
    square = studio.square
    level = phantoms.level_set(square, studio.phantom)
    with picture(path, 1, len(CASES), 2.5) as axes:
        for panel, (currents, tau) in zip(axes[0], CASES, strict=True):
            index = direct_sampling(square, studio.data(tau)[0, :currents])
            auc = area_under_curve(index, level < 0)
            show_field(panel, index, f"DSM, L = {currents}, τ = {tau:g}: AUC {auc:.2f}")
            outline(panel, level)
    return ""
