"""How networks bear noise: Dice score and error against τ, trained without noise, with it, and on all levels."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from eitlens.evaluate.tables.cells import Cell, Scores
from eitlens.evaluate.tables.orderings import OPERATORS, U_NETS
from eitlens.evaluate.tables.published import LEVELS, published
from eitlens.figures.studio import Studio
from eitlens.figures.style import picture

METRICS = (("soft_dice", "Dice score"), ("relative_l2", "relative L² error of σ"))
COLUMNS = ("trained without noise", "trained at the level of the test", "one network for all levels")
MARKERS = "osD^v<>pPX*+"
SHADES = ("0.0", "0.55", "0.75")
DASHES: dict[int, Any] = {1: ":", 2: "--", 3: "-"}


def draw(studio: Studio, path: Path) -> str:
    """By column, how networks were trained: Table 1 without noise, Table 1 at each level, those of the package.

    Thin, with marks: Table 1, the line by the family. Thick: the package, one shade each, the line by the number
    of currents.
    """
    with picture(path, 2, 4) as axes:
        for row, (metric, label) in zip(axes, METRICS, strict=True):
            _table1(row[0], {name: _clean(studio, name) for name in published()}, metric)
            _table1(row[1], {name: _at_its_level(studio, name) for name in published()}, metric)
            for name, style in _ours(studio).items():
                _line(row[2], studio.shipped[name], metric, **style)
            top = max(1.0, *(panel.get_ylim()[1] for panel in row[:3]))
            for panel in row[:3]:
                panel.set(xlabel="noise τ", xticks=LEVELS, xlim=(-0.01, LEVELS[-1] + 0.01), ylim=(0, top))
            row[0].set_ylabel(label)
        for panel, title in zip(axes[0], COLUMNS, strict=False):
            panel.set_title(title)
        _legends(list(axes[:, 3]), studio)
    absent = [name for name in published() if Cell(name, 0.0) not in studio.cells]
    return f"not trained yet: {', '.join(absent)}" if absent else ""


def _table1(panel: Axes, scores: dict[str, Scores], metric: str) -> None:
    """A thin line a network; a single level makes none."""
    for name, own in scores.items():
        if len(own) > 1:
            _line(panel, own, metric, **_thin(name))
    if not panel.lines:
        panel.text(0.5, 0.5, "not trained yet", transform=panel.transAxes, ha="center", color="0.5")


def _thin(name: str) -> dict[str, Any]:
    """How the line of a network of Table 1 is drawn: U-Nets dotted, operators dashed, Transformers black."""
    color, dashes = ("0.5", ":") if name in U_NETS else ("0.5", "--") if name in OPERATORS else ("0.0", "-")
    marker = MARKERS[list(published()).index(name)]
    return {"color": color, "linestyle": dashes, "marker": marker, "linewidth": 0.8, "markersize": 4}


def _clean(studio: Studio, name: str) -> Scores:
    """The scores at all levels of a network that was trained without noise."""
    cell = studio.cells.get(Cell(name, 0.0))
    return {} if cell is None else cell.scores


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


def _legends(panels: Sequence[Axes], studio: Studio) -> None:
    """One mark a network of Table 1, one line a network of the package, in panels of their own."""
    known = {cell.preset for cell in studio.cells}
    marks = [
        Line2D([], [], **_thin(name), label=row.title) for name, row in published().items() if name in known
    ]
    ours = [Line2D([], [], **style) for style in _ours(studio).values()]
    kinds = ("one network a level, left and middle", marks), ("one for all levels, right", ours)
    for panel, (title, handles) in zip(panels, kinds, strict=True):
        panel.legend(handles=handles, title=title, loc="center left", fontsize="small", alignment="left")
        panel.set_axis_off()
