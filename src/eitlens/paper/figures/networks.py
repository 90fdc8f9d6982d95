"""One test sample inside and behind the networks: the paper's Figs. 6, 9 and 10."""

from functools import partial
from pathlib import Path

import torch
from matplotlib.axes import Axes
from torch import Tensor

from eitlens.evaluate.metrics import soft_dice
from eitlens.figures.style import SEQUENTIAL, outline, picture, say_missing, shared_bar, show_field
from eitlens.paper.cells import Cell
from eitlens.paper.figures.studio import Studio
from eitlens.paper.published import published

COLUMNS = 5
"""Panels a row: the truth, twelve networks and two of the package fill three rows."""
SHOWN = 0.98
"""The scale of a channel ends at this quantile: a few pixels at the edge are far larger than all others."""
_IMAGES = "One test sample, τ = 0, from one current where no L is given; with Dice scores (no threshold) as in Table 1"
_LATENTS = "latents of the first test sample, τ = 0; four channels a level, each on its own scale"


def reconstructions(studio: Studio, path: Path) -> str:
    """Draw Fig. 6: the truth, the twelve networks of Table 1 without noise, and those of the package."""
    images = {name: _kept(studio, name) for name in published()}
    images |= {name: studio.image(name, 0.0) for name in studio.readers}
    titles = {name: row.title for name, row in published().items()}
    titles |= {name: f"{name}, L = {reader.currents.count}" for name, reader in studio.readers.items()}
    rows = -(-(len(images) + 1) // COLUMNS)
    with picture(path, rows, COLUMNS) as axes:
        panels = list(axes.flat)
        show_field(panels[0], (studio.level_set < 0).double(), "truth", bar=False, limits=(0, 1))
        for panel, (name, image) in zip(panels[1:], images.items(), strict=False):
            missing = "no image kept" if Cell(name, 0.0) in studio.cells else "not trained yet"
            _panel(panel, image, studio.level_set, titles[name], missing)
        for panel in panels[len(images) + 1 :]:
            panel.set_axis_off()
        shared_bar(axes, "probability of inclusion")
        panels[0].figure.suptitle(_IMAGES, fontsize=10)
        panels[0].figure.set_size_inches(2.3 * COLUMNS + 0.7, 2.3 * rows + 0.3)
    absent = [titles[name] for name, image in images.items() if image is None]
    return f"no image kept of: {', '.join(absent)}" if absent else ""


def latents(preset: str, studio: Studio, path: Path) -> str:
    """Draw Fig. 9 or 10: a few channels of the first level, the coarsest, and the next after it, one row each.

    The captions of the paper call the coarse levels 32 and 64 pixels wide; by its code they are 16 and 32.
    """
    found = studio.examples(Cell(preset, 0.0))
    title = published()[preset].title
    levels = {} if found is None else found.latents
    with picture(path, max(1, len(levels)), 4, 1.9) as axes:
        if levels:
            axes[0, 0].figure.suptitle(f"{title}: {_LATENTS}", fontsize=10)
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


unet_latents, uit_latents = partial(latents, "unet"), partial(latents, "uit")


def _kept(studio: Studio, name: str) -> Tensor | None:
    """Find the image that a cell kept of the first test sample."""
    found = studio.examples(Cell(name, 0.0))
    first = int(studio.scene.index[0])
    return None if found is None or first not in found.index else found.images[found.index.index(first)]


def _panel(panel: Axes, image: Tensor | None, level: Tensor, title: str, missing: str) -> None:
    if image is None:
        say_missing(panel, title, missing)
        return
    show_field(panel, image, f"{title}: {_dice(image, level):.2f}", bar=False, limits=(0, 1))
    outline(panel, level)


def _dice(image: Tensor, level: Tensor) -> float:
    """The score of Table 1, from probabilities: those kept as bytes may be 0 or 1, where logits end."""
    logits = torch.logit(image.double(), eps=1e-6)
    return float(soft_dice(logits[None], (level < 0).double()[None]))
