"""How networks bear noise: Dice score and error against τ, trained without noise, with it, and on all levels."""

from itertools import cycle
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from eitlens.evaluate.tables.cells import Cell, Scores
from eitlens.evaluate.tables.published import LEVELS, published
from eitlens.figures.studio import Studio
from eitlens.figures.style import picture

PANELS = (("soft_dice", "Dice score"), ("relative_l2", "relative L2 error of σ"))
MARKERS = "osD^v<>pPX*h"
CLEAN: dict[str, Any] = {"color": "0.6", "linestyle": ":", "markersize": 4}
NOISY: dict[str, Any] = {"color": "0.3", "linestyle": "-", "markersize": 4}
OURS: dict[str, Any] = {"color": "0.0", "linewidth": 2.2}
SHIPPED: tuple[Any, ...] = ("-", "--", "-.", ":")


def draw(studio: Studio, path: Path) -> str:
    """Dotted: trained without noise. Solid: trained at the level of the test. Thick: networks of the package."""
    with picture(path, 1, 3, 3.0) as axes:
        for panel, (metric, title) in zip(axes[0], PANELS, strict=False):
            for marker, name in zip(MARKERS, published(), strict=True):
                _network(panel, studio, name, marker, metric)
            for (name, scores), style in zip(studio.shipped.items(), cycle(SHIPPED)):
                _line(panel, scores, metric, label=name, linestyle=style, **OURS)
            panel.set(title=title, xlabel="noise τ", xticks=LEVELS, ylim=(0, 1))
        _legend(axes[0, 2], studio)
    absent = [name for name in published() if Cell(name, 0.0) not in studio.cells]
    return f"not trained yet: {', '.join(absent)}" if absent else ""


def _network(panel: Axes, studio: Studio, name: str, marker: str, metric: str) -> None:
    clean = studio.cells.get(Cell(name, 0.0))
    if clean is not None:
        _line(panel, clean.scores, metric, marker=marker, **CLEAN)
    own = {t: studio.cells[cell].scores[t] for t in LEVELS if (cell := Cell(name, t)) in studio.cells}
    if len(own) > 1:
        _line(panel, own, metric, marker=marker, **NOISY)


def _line(panel: Axes, scores: Scores, metric: str, **style: Any) -> None:
    levels = sorted(scores)
    panel.plot(levels, [scores[tau][metric].mean for tau in levels], **style)


def _legend(panel: Axes, studio: Studio) -> None:
    """One mark a network, one line a kind of training, in a panel of its own."""
    known = {cell.preset for cell in studio.cells}
    marks = [
        Line2D([], [], marker=marker, color="0.3", linestyle="none", markersize=4, label=row.title)
        for marker, (name, row) in zip(MARKERS, published().items(), strict=True)
        if name in known
    ]
    lines = [
        Line2D([], [], label="trained without noise", **CLEAN),
        Line2D([], [], label="trained at τ", **NOISY),
    ]
    ours = zip(studio.shipped, cycle(SHIPPED))
    lines += [Line2D([], [], label=name, linestyle=style, **OURS) for name, style in ours]
    panel.legend(handles=[*marks, *lines], loc="center left")
    panel.set_axis_off()
