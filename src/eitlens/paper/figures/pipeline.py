"""The paper's Fig. 1 drawn from real arrays: boundary data, the features φ and ∇φ, an image, the truth."""

from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.patches import ConnectionPatch
from torch import Tensor

from eitlens import phantom as phantoms
from eitlens.classical import direct_sampling
from eitlens.feature import harmonic_extension
from eitlens.figures.style import SIGNS, outline, picture, show_field
from eitlens.paper.cells import Cell
from eitlens.paper.figures.studio import Studio

TAU = 0.05
WIDTH = 11.0  # inches: as little air between the panels as the arrows need


def draw(studio: Studio, path: Path) -> str:
    """One sample from left to right."""
    square, data = studio.square, studio.data(TAU)[0]
    fields = harmonic_extension(square, data[:1], gradient=True)
    name, image = _image(studio)
    with picture(path, 1, 6, 2.0) as axes:
        row = axes[0]
        row[0].figure.set_size_inches(WIDTH, 2.0)
        _boundary(row[0], studio, data[0])
        for panel, field, title in zip(row[1:4], fields, ("φ", "∂φ/∂x", "∂φ/∂y"), strict=True):
            show_field(panel, field, title, diverging=True, bar=False)
        show_field(row[4], image, "image of the inclusion", bar=False, limits=(0, 1))
        outline(row[4], phantoms.level_set(square, studio.phantom))
        show_field(row[5], phantoms.conductivity(square, studio.phantom), "conductivity σ", bar=False)
        for panel in row[1:]:
            panel.set(xticks=[], yticks=[])
        _arrow(row[0], row[1], "harmonic\nextension")
        _arrow(row[3], row[4], name)
    return f"the image is by {name}; {SIGNS}"


def _image(studio: Studio) -> tuple[str, Tensor]:
    """By a network of the package that looks at φ, or as a cell of Table 1 kept it, or by direct sampling."""
    for name, reader in studio.readers.items():
        if not reader.features.reads_gaps:
            return name, studio.image(name, TAU)
    kept = studio.examples(Cell("uit", TAU))
    if kept is not None:
        return "UIT", kept.images[0]
    return "direct sampling", direct_sampling(studio.square, studio.data(TAU)[0])


def _boundary(axes: Axes, studio: Studio, data: Tensor) -> None:
    s, clean = studio.square.arclength(), studio.scene.difference[0, 0]
    axes.plot(s, data, color="0.6", linewidth=0.5, label=f"τ = {TAU:g}")
    axes.plot(s, clean, color="0.0", label="clean")
    axes.set(
        title="boundary data f − f0",
        xlabel="arclength",
        xlim=(0, studio.square.perimeter),
        xticks=range(0, 9, 2),
    )
    axes.legend(fontsize=6, loc="upper center")
    axes.set_box_aspect(1)


def _arrow(one: Axes, other: Axes, text: str) -> None:
    """Across the gap between two panels, with what is done there."""
    arrow = ConnectionPatch(
        (1.04, 0.5),
        (-0.04, 0.5),
        one.transAxes,
        other.transAxes,
        arrowstyle="-|>",
        mutation_scale=14,
        color="0.2",
        linewidth=1.4,
    )
    one.figure.add_artist(arrow)
    one.annotate(text, (1.03, 0.56), xycoords=one.transAxes, fontsize=6.5, color="0.2", annotation_clip=False)
