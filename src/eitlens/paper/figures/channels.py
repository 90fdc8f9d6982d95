"""The paper's Fig. 5: the three features φ_l of one sample, and what is to be seen."""

from pathlib import Path

from eitlens import phantom as phantoms
from eitlens.feature import harmonic_extension
from eitlens.figures.style import SIGNS, outline, picture, show_field
from eitlens.paper.figures.studio import Studio


def draw(studio: Studio, path: Path) -> str:
    """φ₁, φ₂, φ₃ with the true outline, and the indicator of the inclusion."""
    square = studio.square
    level = phantoms.level_set(square, studio.phantom)
    fields = harmonic_extension(square, studio.scene.difference[0])
    with picture(path, 1, 4, 2.5) as axes:
        for panel, field, title in zip(axes[0], fields, ("φ₁", "φ₂", "φ₃"), strict=False):
            show_field(panel, field, title, diverging=True)
            outline(panel, level, "black")
        show_field(axes[0, 3], (level < 0).double(), "inclusion D", bar=False)
    sizes = ", ".join(f"{float(field.abs().max()):.3f}" for field in fields)
    return f"largest |φ_l|: {sizes}; {SIGNS}"
