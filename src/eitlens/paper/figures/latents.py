"""The paper's Figs. 9 and 10: latents of the U-Net and of UIT, a few channels of three levels.

The captions of the paper call the coarse levels 32 and 64 pixels wide; by its code they are 16 and 32.
"""

from functools import partial
from pathlib import Path

from eitlens.figures.style import SEQUENTIAL, picture, say_missing
from eitlens.paper.cells import Cell
from eitlens.paper.figures.studio import Studio
from eitlens.paper.published import published

SHOWN = 0.98
"""The scale of a channel ends at this quantile: a few pixels at the edge are far larger than all others."""

_CAPTION = "latents of the first test sample, τ = 0; four channels a level, each on its own scale"


def draw(preset: str, studio: Studio, path: Path) -> str:
    """One row a level: the first, the coarsest, and the next after it."""
    found = studio.examples(Cell(preset, 0.0))
    title = published()[preset].title
    levels = {} if found is None else found.latents
    with picture(path, max(1, len(levels)), 4, 1.9) as axes:
        if levels:
            axes[0, 0].figure.suptitle(f"{title}: {_CAPTION}", fontsize=10)
        else:
            trained = Cell(preset, 0.0) in studio.cells
            say_missing(axes[0, 0], title, "no latents kept" if trained else "not trained yet")
        for row, (name, level) in zip(axes, levels.items(), strict=False):
            for k, (panel, channel) in enumerate(zip(row, level, strict=True)):
                top = float(channel.quantile(SHOWN)) or 1.0
                panel.imshow(channel.numpy().T, origin="lower", cmap=SEQUENTIAL, vmin=0, vmax=top)
                part, _, size = name.partition("/")
                panel.set_title(f"{part}, {size or channel.shape[-1]} px" if k == 0 else "")
        for panel in axes.flat:
            panel.set_axis_off()
    return "" if levels else f"no latents kept of {title}: train the cell {preset}/0"


unet = partial(draw, "unet")
uit = partial(draw, "uit")
