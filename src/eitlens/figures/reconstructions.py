"""The paper's Fig. 6: one sample as every network sees it."""

from pathlib import Path

import torch
from matplotlib.axes import Axes
from torch import Tensor

from eitlens import phantom as phantoms
from eitlens.evaluate.metrics import hard_dice
from eitlens.evaluate.tables.cells import Cell
from eitlens.evaluate.tables.published import published
from eitlens.figures.studio import Studio
from eitlens.figures.style import outline, picture, say_missing, show_field

COLUMNS = 5


def draw(studio: Studio, path: Path) -> str:
    """The truth, the twelve networks of Table 1 without noise, and those of the package."""
    images = {name: _kept(studio, name) for name in published()}
    images |= {name: studio.image(name, 0.0) for name in studio.readers}
    titles = {name: row.title for name, row in published().items()}
    rows = -(-(len(images) + 1) // COLUMNS)
    with picture(path, rows, COLUMNS, 2.2) as axes:
        panels = list(axes.flat)
        level = phantoms.level_set(studio.square, studio.phantom)
        show_field(panels[0], (level < 0).double(), "truth", limits=(0, 1))
        for panel, (name, image) in zip(panels[1:], images.items(), strict=False):
            missing = "no image kept" if Cell(name, 0.0) in studio.cells else "not trained yet"
            _panel(panel, image, level, titles.get(name, name), missing)
        for panel in panels[len(images) + 1 :]:
            panel.set_axis_off()
    absent = [titles[name] for name, image in images.items() if image is None]
    return f"no image kept of: {', '.join(absent)}" if absent else ""


def _kept(studio: Studio, name: str) -> Tensor | None:
    """What a cell kept of the first test sample."""
    found = studio.examples(Cell(name, 0.0))
    first = int(studio.scene.index[0])
    return None if found is None or first not in found.index else found.images[found.index.index(first)]


def _panel(panel: Axes, image: Tensor | None, level: Tensor, title: str, missing: str) -> None:
    if image is None:
        say_missing(panel, title, missing)
        return
    dice = float(hard_dice((image - 0.5)[None], (level < 0).to(torch.float32)[None]))
    show_field(panel, image, f"{title}, Dice {dice:.2f}", limits=(0, 1))
    outline(panel, level)
