"""How networks bear noise: Dice score and error against τ, trained without noise, with it, and on all levels."""

from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from eitlens.evaluate.tables.cells import Cell, Scores
from eitlens.evaluate.tables.published import LEVELS, published
from eitlens.figures.studio import Studio
from eitlens.figures.style import picture

PANELS = (("soft_dice", "Dice score"), ("relative_l2", "relative L² error of σ"))
MARKERS = "osD^v<>pPX*+"
CLEAN: dict[str, Any] = {"color": "0.6", "linestyle": ":", "markersize": 4}
NOISY: dict[str, Any] = {"color": "0.3", "linestyle": "-", "markersize": 4}
SHADES = ("0.0", "0.55", "0.75")
DASHES: dict[int, Any] = {1: ":", 2: "--", 3: "-"}


def draw(studio: Studio, path: Path) -> str:
    """Thin, with marks: Table 1, dotted where trained without noise, solid at the level of the test.

    Thick: networks of the package, one shade each, the line by the number of currents.
    """
    with picture(path, 1, 3, 3.0) as axes:
        for panel, (metric, title) in zip(axes[0], PANELS, strict=False):
            for marker, name in zip(MARKERS, published(), strict=True):
                _network(panel, studio, name, marker, metric)
            for name, style in _ours(studio).items():
                _line(panel, studio.shipped[name], metric, **style)
            panel.set(title=title, xlabel="noise τ", xticks=LEVELS, ylim=(0, max(1.0, panel.get_ylim()[1])))
        _legend(axes[0, 2], studio)
    absent = [name for name in published() if Cell(name, 0.0) not in studio.cells]
    return f"not trained yet: {', '.join(absent)}" if absent else ""


def _network(panel: Axes, studio: Studio, name: str, marker: str, metric: str) -> None:
    clean = studio.cells.get(Cell(name, 0.0))
    if clean is not None:
        _line(panel, clean.scores, metric, marker=marker, **CLEAN)
    own = _at_its_level(studio, name)
    if len(own) > 1:
        _line(panel, own, metric, marker=marker, **NOISY)


def _at_its_level(studio: Studio, name: str) -> Scores:
    """The scores of a network at each level by the cell that was trained there."""
    return {t: studio.cells[cell].scores[t] for t in LEVELS if (cell := Cell(name, t)) in studio.cells}


def _ours(studio: Studio) -> dict[str, dict[str, Any]]:
    """How the line of each network of the package is drawn, by `name/currents`, most currents first."""
    parts = {key: (name, int(count)) for key in studio.shipped for name, count in [key.rsplit("/", 1)]}
    shades = dict(zip(dict.fromkeys(name for name, _ in parts.values()), SHADES, strict=False))
    return {
        key: {
            "color": shades.get(name, SHADES[-1]),
            "linestyle": DASHES.get(count, "-."),
            "linewidth": 2.2,
            "label": f"{name}, L = {count}",
        }
        for key, (name, count) in sorted(parts.items(), key=lambda item: (item[1][0], -item[1][1]))
    }


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
    noisy = any(len(_at_its_level(studio, name)) > 1 for name in published())
    kinds = {"trained without noise": CLEAN} if marks else {}
    kinds |= {"trained at τ": NOISY} if noisy else {}
    lines = [Line2D([], [], label=label, **style) for label, style in kinds.items()]
    ours = [Line2D([], [], **style) for style in _ours(studio).values()]
    panel.legend(handles=[*ours, *marks, *lines], loc="center left")
    panel.set_axis_off()
