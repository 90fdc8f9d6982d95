"""What can be seen without training: direct sampling with one and three currents, clean and noisy."""

from pathlib import Path

from eitlens import phantom as phantoms
from eitlens.classical import direct_sampling
from eitlens.evaluate.ranking import area_under_curve
from eitlens.figures.style import outline, picture, show_field
from eitlens.paper.figures.studio import Studio

CASES = ((1, 0.0), (3, 0.0), (3, 0.2))
EXPONENTS = {"the paper's exponents": (1.5, 0.0, 60), "equal exponents": (1.0, 1.0, 16)}


def draw(studio: Studio, path: Path) -> str:
    """The index of direct sampling with the paper's exponents and with equal ones, and how well it ranks the nodes."""
    square = studio.square
    level = phantoms.level_set(square, studio.phantom)
    with picture(path, len(EXPONENTS), len(CASES), 2.5) as axes:
        for row, (name, (s, gamma, modes)) in zip(axes, EXPONENTS.items(), strict=True):
            row[0].set_ylabel(f"{name}\ns = {s:g}, γ = {gamma:g}, {modes} frequencies")
            for panel, (currents, tau) in zip(row, CASES, strict=True):
                index = direct_sampling(square, studio.data(tau)[0, :currents], s, gamma, modes)
                auc = area_under_curve(index, level < 0)
                show_field(panel, index, f"L = {currents}, τ = {tau:g}: AUC {auc:.2f}")
                outline(panel, level)
    return ""
