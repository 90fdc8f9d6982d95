"""The paper's Fig. 6: one sample as every network sees it."""

from pathlib import Path

import torch
from matplotlib.axes import Axes
from torch import Tensor

from eitlens import phantom as phantoms
from eitlens.evaluate.metrics import soft_dice
from eitlens.figures.style import outline, picture, say_missing, shared_bar, show_field
from eitlens.paper.cells import Cell
from eitlens.paper.figures.studio import Studio
from eitlens.paper.published import published

COLUMNS = 5
_CAPTION = "One test sample, τ = 0, from one current where no L is given; with Dice scores (no threshold) as in Table 1"


def draw(studio: Studio, path: Path) -> str:
    """The truth, the twelve networks of Table 1 without noise, and those of the package."""
    images = {name: _kept(studio, name) for name in published()}
    images |= {name: studio.image(name, 0.0) for name in studio.readers}
    titles = {name: row.title for name, row in published().items()}
    titles |= {name: f"{name}, L = {reader.currents.count}" for name, reader in studio.readers.items()}
    rows = -(-(len(images) + 1) // COLUMNS)
    with picture(path, rows, COLUMNS) as axes:
        panels = list(axes.flat)
        level = phantoms.level_set(studio.square, studio.phantom)
        show_field(panels[0], (level < 0).double(), "truth", bar=False, limits=(0, 1))
        for panel, (name, image) in zip(panels[1:], images.items(), strict=False):
            missing = "no image kept" if Cell(name, 0.0) in studio.cells else "not trained yet"
            _panel(panel, image, level, titles[name], missing)
        for panel in panels[len(images) + 1 :]:
            panel.set_axis_off()
        shared_bar(axes, "probability of inclusion")
        panels[0].figure.suptitle(_CAPTION, fontsize=10)
        panels[0].figure.set_size_inches(2.3 * COLUMNS + 0.7, 2.3 * rows + 0.3)
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
    show_field(panel, image, f"{title}: {_dice(image, level):.2f}", bar=False, limits=(0, 1))
    outline(panel, level)


def _dice(image: Tensor, level: Tensor) -> float:
    """The score of Table 1, from probabilities: those kept as bytes may be 0 or 1, where logits end."""
    logits = torch.logit(image.double(), eps=1e-6)
    return float(soft_dice(logits[None], (level < 0).double()[None]))
