"""Networks under noise: Dice score and error against τ, trained without noise, with it, and on all levels."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from eitlens.figures.style import picture, same_limits
from eitlens.paper.cells import Cell, Scores
from eitlens.paper.figures.studio import Studio
from eitlens.paper.orderings import OPERATORS, U_NETS
from eitlens.paper.published import LEVELS, published

METRICS = (("soft_dice", "Dice score"), ("relative_l2", "relative L² error of σ"))
FAMILIES = ("U-Nets", "operators", "Transformers")
OURS = "of the package, one for all levels"
COLOURS = ("#000000", "#d55e00", "#0072b2", "#009e73", "#cc79a7", "#e69f00")
"""Colours that the colour-blind can tell apart (Okabe and Ito), dark ones first."""
MARKERS = "osD^vP"
APART = 0.0028
"""Marks of one level stand this much apart in τ: scores that agree to a hundredth would hide each other."""


def draw(studio: Studio, path: Path) -> str:
    """Draw the scores of Table 1, a column a family, and of the networks of the package.

    Solid: trained at the level of the test. Dotted: trained without noise. Rows have one scale.
    """
    with picture(path, 2, 4, 3.0) as axes:
        for row, (metric, label) in zip(axes, METRICS, strict=True):
            for panel, family in zip(row, FAMILIES, strict=False):
                _table1(panel, studio, family, metric)
            _package(row[3], studio, metric)
            same_limits([*row], "y")
            for panel in row:
                panel.set(xlabel="noise τ", xticks=LEVELS, xlim=(-0.02, LEVELS[-1] + 0.02))
                panel.grid(axis="y", color="0.9", linewidth=0.6)
            row[0].set_ylabel(label)
        for panel, title in zip(axes[0], (*FAMILIES, OURS), strict=True):
            panel.set_title(title)
            _legend(panel)
        _explain(axes[1, 0])
    absent = [name for name in published() if Cell(name, 0.0) not in studio.cells]
    return f"not trained yet: {', '.join(absent)}" if absent else ""


def _table1(panel: Axes, studio: Studio, family: str, metric: str) -> None:
    """Draw two lines for each network of a family; a single level makes none."""
    names = [name for name in published() if _family(name) == family]
    for k, name in enumerate(names):
        aside = APART * (k - (len(names) - 1) / 2)
        style = {"color": COLOURS[k], "marker": MARKERS[k], "markersize": 4.5, "linewidth": 1.1}
        for scores, dashes in ((_at_its_level(studio, name), "-"), (_clean(studio, name), ":")):
            label = published()[name].title if dashes == "-" else None
            if len(scores) > 1:
                _line(panel, scores, metric, aside, linestyle=dashes, label=label, **style)
    if not panel.lines:
        panel.text(0.5, 0.5, "not trained yet", transform=panel.transAxes, ha="center", color="0.5")


def _package(panel: Axes, studio: Studio, metric: str) -> None:
    """Draw a line for each network of the package and number of currents, most currents first."""
    keys = [(name, int(count)) for key in studio.shipped for name, count in [key.rsplit("/", 1)]]
    for k, (name, count) in enumerate(sorted(keys, key=lambda key: (key[0], -key[1]))):
        style = {"color": COLOURS[k % len(COLOURS)], "marker": MARKERS[k % len(MARKERS)], "markersize": 4.5}
        _line(panel, studio.shipped[f"{name}/{count}"], metric, 0.0, label=f"{name}, L = {count}", **style)


def _family(name: str) -> str:
    return "U-Nets" if name in U_NETS else "operators" if name in OPERATORS else "Transformers"


def _clean(studio: Studio, name: str) -> Scores:
    """The scores at all levels of a network that was trained without noise."""
    cell = studio.cells.get(Cell(name, 0.0))
    return {} if cell is None else cell.scores


def _at_its_level(studio: Studio, name: str) -> Scores:
    """The scores of a network at each level by the cell that was trained there."""
    return {t: studio.cells[cell].scores[t] for t in LEVELS if (cell := Cell(name, t)) in studio.cells}


def _line(panel: Axes, scores: Scores, metric: str, aside: float, **style: Any) -> None:
    levels = sorted(scores)
    panel.plot([tau + aside for tau in levels], [scores[tau][metric].mean for tau in levels], **style)


def _legend(panel: Axes) -> None:
    if panel.lines:
        panel.legend(loc="lower left", fontsize="x-small")


def _explain(panel: Axes) -> None:
    """The kinds of lines."""
    kinds: Sequence[tuple[Literal["-", ":"], str]] = (
        ("-", "trained at this τ"),
        (":", "trained without noise"),
    )
    lines = [Line2D([], [], color="black", linestyle=dashes, label=label) for dashes, label in kinds]
    panel.legend(handles=lines, loc="upper left", fontsize="x-small")
