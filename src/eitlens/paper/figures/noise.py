"""The paper's Fig. 3: what 20 % noise in the boundary data does to φ, which smooths it away."""

from pathlib import Path

from eitlens.feature import harmonic_extension
from eitlens.figures.style import SIGNS, picture, show_field
from eitlens.paper.figures.studio import Studio

TAU = 0.2
PAPER = 0.0203


def draw(studio: Studio, path: Path) -> str:
    """φ without and with noise, and their difference with its relative norm."""
    clean, noisy = (harmonic_extension(studio.square, studio.data(tau)[0, :1])[0] for tau in (0.0, TAU))
    change = float((noisy - clean).norm() / clean.norm())
    with picture(path, 1, 3) as axes:
        show_field(axes[0, 0], clean, "φ₁, clean", diverging=True)
        show_field(axes[0, 1], noisy, f"φ₁, τ = {TAU:g}", diverging=True)
        show_field(axes[0, 2], noisy - clean, f"difference, {change:.2%} of φ₁", diverging=True)
    return f"noise of {TAU:.0%} changes φ₁ by {change:.4f} (the paper's sample: {PAPER}); {SIGNS}"
