"""Fields of one test sample: the paper's Figs. 1, 3 and 5, and the images of direct sampling."""

from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.patches import ConnectionPatch
from torch import Tensor

from eitlens import phantom as phantoms
from eitlens.classical import direct_sampling
from eitlens.evaluate.metrics import area_under_curve
from eitlens.feature import harmonic_extension
from eitlens.figures.style import SIGNS, outline, picture, show_field
from eitlens.paper.cells import Cell
from eitlens.paper.figures.studio import Studio

PIPELINE_TAU, NOISY_TAU = 0.05, 0.2
"""The noise of Fig. 1, at which networks still see well, and that of Fig. 3, the paper's largest."""
PAPER_CHANGE = 0.0203
"""The relative change of φ by noise that the paper prints below its Fig. 3."""
WIDTH = 11.0
"""Inches of Fig. 1: as little air between the panels as the arrows need."""
CASES = ((1, 0.0), (3, 0.0), (3, 0.2))
"""Numbers of currents and noise levels of direct sampling: the paper's least and most of both."""
EXPONENTS = {"the paper's exponents": (1.5, 0.0), "equal exponents": (1.0, 1.0)}
"""The exponents s and γ of direct sampling: the paper's, and those that make a correlation."""


def pipeline(studio: Studio, path: Path) -> str:
    """Draw Fig. 1 from real arrays: boundary data, the features φ and ∇φ, an image, the truth."""
    square, data = studio.square, studio.data(PIPELINE_TAU)[0]
    fields = harmonic_extension(square, data[:1], gradient=True)
    name, image = _image(studio)
    with picture(path, 1, 6, 2.0) as axes:
        row = axes[0]
        row[0].figure.set_size_inches(WIDTH, 2.0)
        _boundary(row[0], studio, data[0])
        for panel, field, title in zip(row[1:4], fields, ("φ", "∂φ/∂x", "∂φ/∂y"), strict=True):
            show_field(panel, field, title, diverging=True, bar=False)
        show_field(row[4], image, "image of the inclusion", bar=False, limits=(0, 1))
        outline(row[4], studio.level_set)
        show_field(row[5], phantoms.conductivity(square, studio.phantom), "conductivity σ", bar=False)
        for panel in row[1:]:
            panel.set(xticks=[], yticks=[])
        _arrow(row[0], row[1], "harmonic\nextension")
        _arrow(row[3], row[4], name)
    return f"the image is by {name}; {SIGNS}"


def noise(studio: Studio, path: Path) -> str:
    """Draw Fig. 3: φ without and with 20 % noise in the boundary data, and the small difference."""
    data = [studio.data(tau)[0, :1] for tau in (0.0, NOISY_TAU)]
    clean, noisy = (harmonic_extension(studio.square, values)[0] for values in data)
    change = float((noisy - clean).norm() / clean.norm())
    with picture(path, 1, 3) as axes:
        show_field(axes[0, 0], clean, "φ₁, clean", diverging=True)
        show_field(axes[0, 1], noisy, f"φ₁, τ = {NOISY_TAU:g}", diverging=True)
        show_field(axes[0, 2], noisy - clean, f"difference, {change:.2%} of φ₁", diverging=True)
    changed = f"noise of {NOISY_TAU:.0%} changes φ₁ by {change:.4f} (the paper's sample: {PAPER_CHANGE})"
    return f"{changed}; {SIGNS}"


def channels(studio: Studio, path: Path) -> str:
    """Draw Fig. 5: φ₁, φ₂, φ₃ with the true outline, and the indicator of the inclusion."""
    fields = harmonic_extension(studio.square, studio.scene.difference[0])
    with picture(path, 1, 4, 2.5) as axes:
        for panel, field, title in zip(axes[0], fields, ("φ₁", "φ₂", "φ₃"), strict=False):
            show_field(panel, field, title, diverging=True)
            outline(panel, studio.level_set, "black")
        show_field(axes[0, 3], (studio.level_set < 0).double(), "inclusion D", bar=False)
    sizes = ", ".join(f"{float(field.abs().max()):.3f}" for field in fields)
    return f"largest |φ_l|: {sizes}; {SIGNS}"


def draw_direct_sampling(studio: Studio, path: Path) -> str:
    """Draw the index of direct sampling for two choices of exponents, and how well it ranks the nodes."""
    level = studio.level_set
    with picture(path, len(EXPONENTS), len(CASES), 2.5) as axes:
        for row, (name, (s, gamma)) in zip(axes, EXPONENTS.items(), strict=True):
            row[0].set_ylabel(f"{name}\ns = {s:g}, γ = {gamma:g}")
            for panel, (currents, tau) in zip(row, CASES, strict=True):
                index = direct_sampling(studio.square, studio.data(tau)[0, :currents], s, gamma)
                auc = area_under_curve(index, level < 0)
                show_field(panel, index, f"L = {currents}, τ = {tau:g}: AUC {auc:.2f}")
                outline(panel, level)
    return ""


def _image(studio: Studio) -> tuple[str, Tensor]:
    """Choose the image of Fig. 1: by a shipped network that reads φ, as a cell kept it, or by direct sampling."""
    for name, reader in studio.readers.items():
        if not reader.features.reads_gaps:
            return name, studio.image(name, PIPELINE_TAU)
    kept = studio.examples(Cell("uit", PIPELINE_TAU))
    if kept is not None:
        return "UIT", kept.images[0]
    return "direct sampling", direct_sampling(studio.square, studio.data(PIPELINE_TAU)[0])


def _boundary(axes: Axes, studio: Studio, data: Tensor) -> None:
    s, clean = studio.square.arclength(), studio.scene.difference[0, 0]
    axes.plot(s, data, color="0.6", linewidth=0.5, label=f"τ = {PIPELINE_TAU:g}")
    axes.plot(s, clean, color="0.0", label="clean")
    axes.set(title="boundary data f − f0", xlabel="arclength", xticks=range(0, 9, 2))
    axes.set(xlim=(0, studio.square.perimeter))
    axes.legend(fontsize=6, loc="upper center")
    axes.set_box_aspect(1)


def _arrow(one: Axes, other: Axes, text: str) -> None:
    """Draw an arrow across the gap between two panels, with the name of the step."""
    style: dict[str, Any] = {"arrowstyle": "-|>", "mutation_scale": 14, "color": "0.2", "linewidth": 1.4}
    arrow = ConnectionPatch((1.04, 0.5), (-0.04, 0.5), one.transAxes, other.transAxes, **style)
    one.figure.add_artist(arrow)
    one.annotate(text, (1.03, 0.56), xycoords=one.transAxes, fontsize=6.5, color="0.2", annotation_clip=False)
