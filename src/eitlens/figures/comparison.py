"""The picture of a comparison: the truth, where it is known, and the image of each method beside it."""

import math
from collections.abc import Sequence
from pathlib import Path
from textwrap import fill, shorten

import torch
from matplotlib.axes import Axes

from eitlens import phantom as phantoms
from eitlens.domain import Domain
from eitlens.figures.reconstruction import show_image
from eitlens.figures.style import outline, picture, say_missing, show_field
from eitlens.imaging.comparison import Compared
from eitlens.phantom import Phantom
from eitlens.phantom.raster import conductivity

_COLUMNS = 4
_WORDS, _MOST = 34, 200  # letters a line, and in all, of the reason in an empty panel
_UNITS = {
    "probability": "probability",
    "index": "index",
    "conductivity": "σ in S/m",
    "change": "σ − σ0 in S/m",
    "sign": "conductive − resistive",
}


def comparison_figure(rows: Sequence[Compared], path: Path, truth: Phantom | None = None) -> None:
    """Draw every image in the colours of what it shows, with the outlines of the truth on top."""
    panels = len(rows) + (truth is not None)
    columns = min(_COLUMNS, panels)
    body = next(row.found.domain for row in rows if row.found is not None)
    with picture(path, math.ceil(panels / columns), columns, size=2.8) as axes:
        rest = [*axes.flat]
        if truth is not None:
            _show_truth(rest.pop(0), body, truth)
        for panel, row in zip(rest, rows, strict=False):
            _show(panel, row, truth)
        for panel in rest[len(rows) :]:
            panel.set_axis_off()


def _show_truth(axes: Axes, body: Domain, truth: Phantom) -> None:
    values = conductivity(body, truth).where(body.inside(), torch.nan)
    show_field(axes, values, "truth: σ in S/m")
    axes.set_axis_off()


def _show(axes: Axes, row: Compared, truth: Phantom | None) -> None:
    if row.found is None:
        say_missing(axes, row.method, fill(shorten(row.reason, _MOST), _WORDS))
        return
    score = "" if row.scores is None else f"\nDice {row.scores.dice:.2f}"
    show_image(axes, row.found, f"{row.method}: {_UNITS[row.found.quantity]}{score}")
    if truth is not None:
        signed = row.found.quantity in ("change", "sign")
        outline(axes, phantoms.level_set(row.found.domain, truth), "black" if signed else "white")
    axes.set_axis_off()
