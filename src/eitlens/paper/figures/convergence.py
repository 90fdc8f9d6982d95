"""The paper's Fig. 4: cross entropy in training and validation, of the big U-Net and of UIT."""

from pathlib import Path

from matplotlib.axes import Axes

from eitlens.figures.style import picture, plain_decades, say_missing
from eitlens.figures.training import log_column
from eitlens.paper.cells import Cell
from eitlens.paper.figures.studio import Studio
from eitlens.paper.published import published
from eitlens.train.folder import read_log

PRESETS = ("unet-big", "uit")


def draw(studio: Studio, path: Path) -> str:
    """Against epochs, for the networks whose log is there."""
    absent = []
    with picture(path, 1, len(PRESETS), 2.8) as axes:
        for panel, name in zip(axes[0], PRESETS, strict=True):
            rows = read_log(studio.log(Cell(name, 0.0)))
            if not rows:
                absent.append(name)
                say_missing(panel, published()[name].title)
                continue
            panel.set(title=published()[name].title, xlabel="epoch", ylabel="cross entropy", yscale="log")
            panel.plot(*log_column(rows, "loss", "epoch"), color="0.6", linewidth=0.8, label="training")
            panel.plot(*log_column(rows, "cross_entropy", "epoch"), "k.-", markersize=3, label="validation")
            panel.legend()
        _same_limits([panel for panel, name in zip(axes[0], PRESETS, strict=True) if name not in absent])
    return f"not trained yet: {', '.join(absent)}" if absent else ""


def _same_limits(panels: list[Axes]) -> None:
    ends = [end for panel in panels for end in panel.get_ylim()]
    for panel in panels:
        panel.set_ylim(min(ends), max(ends))
        plain_decades(panel.yaxis)
