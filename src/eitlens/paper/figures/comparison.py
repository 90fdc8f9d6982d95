"""Table 1 as a picture: our Dice score and cross entropy beside the paper's, network by network."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes

from eitlens.figures.style import picture, plain_decades
from eitlens.paper.cells import Cell
from eitlens.paper.figures.studio import Studio
from eitlens.paper.published import LEVELS, published

PANELS = (("soft_dice", "Dice score"), ("cross_entropy", "cross entropy"))


def draw(studio: Studio, path: Path) -> str:
    """Open marks: the paper. Full marks: ours, with 95 % intervals. One column a noise level."""
    with picture(path, len(PANELS), len(LEVELS), 2.9) as axes:
        for row, (metric, title) in zip(axes, PANELS, strict=True):
            for panel, tau in zip(row, LEVELS, strict=True):
                _panel(panel, studio, metric, tau)
                panel.set_title(f"{title}, τ = {tau:g}")
                if metric == "cross_entropy":
                    panel.set_xscale("log")
            _same_limits(row)
            for panel in row[1:]:
                panel.set_yticklabels([])
        _legend(axes[0, 0])
    return f"{len(studio.cells)} of {len(LEVELS) * len(published())} cells are trained"


def _panel(panel: Axes, studio: Studio, metric: str, tau: float) -> None:
    names = list(reversed(published()))
    theirs = [published()[name].values[metric][LEVELS.index(tau)] for name in names]
    panel.plot(theirs, range(len(names)), "o", color="0.5", fillstyle="none", label="paper")
    for y, name in enumerate(names):
        record = studio.cells.get(Cell(name, tau))
        if record is not None:
            found = record.scores[tau][metric]
            panel.hlines(y, found.low, found.high, color="0.0")
            panel.plot(found.mean, y, "k.", label="ours")
    panel.set_yticks(range(len(names)), [published()[name].title for name in names], fontsize=7)
    panel.grid(axis="y", color="0.9", linewidth=0.6)


def _same_limits(row: Sequence[Axes]) -> None:
    """One scale for a row, so that columns can be compared."""
    ends = [end for panel in row for end in panel.get_xlim()]
    for panel in row:
        panel.set_xlim(min(ends), max(ends))
        if panel.get_xscale() == "log":
            plain_decades(panel.xaxis)


def _legend(panel: Axes) -> None:
    """Each label once, below all panels."""
    handles, labels = panel.get_legend_handles_labels()
    known = dict(zip(labels, handles, strict=True))
    panel.figure.legend(known.values(), known.keys(), ncols=2, loc="outside lower center")
