"""Networks under noise: Dice score and error against τ, trained without noise, with it, and on all levels."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from eitlens.figures.style import picture, same_limits
from eitlens.paper.cells import Cell, Scores
from eitlens.paper.figures.studio import Studio
from eitlens.paper.orderings import OPERATORS, U_NETS
from eitlens.paper.published import LEVELS, published

METRICS = (("soft_dice", "Dice score"), ("relative_l2", "relative L² error of σ"))
COLUMNS = ("trained without noise", "trained at the level of the test", "one network for all levels")
MARKERS = "osD^v<>pPX*+"
FAMILIES = {
    "U-Nets": ("0.5", ":", "0.5"),
    "operators": ("0.5", "--", "0.8"),
    "Transformers": ("0.0", "-", "white"),
}
"""Shade, line and filling of the marks."""
APART = 0.0028
"""Marks of one level stand this much apart in τ: scores that agree to a hundredth would hide each other."""
SHADES = ("0.0", "0.55", "0.75")
"""Greys of the networks of the package: dark to light, still apart in print."""
DASHES: dict[int, Any] = {1: ":", 2: "--", 3: "-"}


def draw(studio: Studio, path: Path) -> str:
    """Draw the scores of Table 1 trained without noise, of Table 1 trained at each level, and of the package.

    Thin, with marks: Table 1, the line by the family. Thick: the package, one shade each, the line by the number
    of currents. The left column has a scale of its own: without noise in training scores fall so far that all other
    lines would fall into one.
    """
    with picture(path, 2, 4, 3.0) as axes:
        for row, (metric, label) in zip(axes, METRICS, strict=True):
            _table1(row[0], {name: _clean(studio, name) for name in published()}, metric)
            _table1(row[1], {name: _at_its_level(studio, name) for name in published()}, metric)
            for name, style in _ours(studio).items():
                _line(row[2], studio.shipped[name], metric, **style)
            same_limits(row[1:3], "y")
            for panel in row[:3]:
                panel.set(xlabel="noise τ", xticks=LEVELS, xlim=(-0.02, LEVELS[-1] + 0.02))
                panel.grid(axis="y", color="0.9", linewidth=0.6)
            row[0].set_ylabel(label)
        for panel, title in zip(axes[0], COLUMNS, strict=False):
            panel.set_title(title)
        _legends(list(axes[:, 3]), studio)
    absent = [name for name in published() if Cell(name, 0.0) not in studio.cells]
    return f"not trained yet: {', '.join(absent)}" if absent else ""


def _table1(panel: Axes, scores: dict[str, Scores], metric: str) -> None:
    """Draw a thin line for each network; a single level makes none."""
    for name, own in scores.items():
        if len(own) > 1:
            _line(panel, own, metric, _aside(name), **_thin(name))
    if not panel.lines:
        panel.text(0.5, 0.5, "not trained yet", transform=panel.transAxes, ha="center", color="0.5")


def _aside(name: str) -> float:
    """The distance of a mark to the right of its level."""
    order = list(published())
    return APART * (order.index(name) - (len(order) - 1) / 2)


def _family(name: str) -> str:
    return "U-Nets" if name in U_NETS else "operators" if name in OPERATORS else "Transformers"


def _thin(name: str) -> dict[str, Any]:
    """The style of the line of a network of Table 1: its family's, with a mark of its own.

    U-Nets are dotted, operators dashed, Transformers solid with open marks: filled ones in black would be one spot.
    """
    color, dashes, fill = FAMILIES[_family(name)]
    marker = MARKERS[list(published()).index(name)]
    return {
        "color": color,
        "linestyle": dashes,
        "marker": marker,
        "markerfacecolor": fill,
        "markeredgewidth": 0.9,
        "linewidth": 0.8,
        "markersize": 5.5,
    }


def _clean(studio: Studio, name: str) -> Scores:
    """The scores at all levels of a network that was trained without noise."""
    cell = studio.cells.get(Cell(name, 0.0))
    return {} if cell is None else cell.scores


def _at_its_level(studio: Studio, name: str) -> Scores:
    """The scores of a network at each level by the cell that was trained there."""
    return {t: studio.cells[cell].scores[t] for t in LEVELS if (cell := Cell(name, t)) in studio.cells}


def _ours(studio: Studio) -> dict[str, dict[str, Any]]:
    """The style of the line of each network of the package, by `name/currents`, most currents first."""
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


def _line(panel: Axes, scores: Scores, metric: str, aside: float = 0.0, **style: Any) -> None:
    levels = sorted(scores)
    panel.plot([tau + aside for tau in levels], [scores[tau][metric].mean for tau in levels], **style)


def _legends(panels: Sequence[Axes], studio: Studio) -> None:
    """One mark a network of Table 1, one line a network of the package, in panels of their own."""
    known = {cell.preset for cell in studio.cells}
    marks = [
        Line2D([], [], **_thin(name), label=row.title) for name, row in published().items() if name in known
    ]
    ours = [Line2D([], [], **style) for style in _ours(studio).values()]
    kinds = (
        ("one network a level (left, middle);\nmarks are set apart along τ", marks),
        ("one for all levels (right);\nthe scale is that of the middle", ours),
    )
    for panel, (title, handles) in zip(panels, kinds, strict=True):
        panel.legend(handles=handles, title=title, loc="center left", fontsize="small", alignment="left")
        panel.set_axis_off()
