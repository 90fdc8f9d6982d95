"""One style for all figures: readable in grey, y up, the body to scale."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any, Literal

import matplotlib as mpl
import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from torch import Tensor

from eitlens.errors import InputError
from eitlens.files import make_folder, write_atomically

SEQUENTIAL, DIVERGING = "magma", "RdBu_r"
SIGNS = "contours: solid above zero, dashed below"
"""A remark to print beside diverging maps: red and blue are alike in grey."""
SUFFIXES = ("", ".png", ".pdf", ".svg")
_RC: Any = {
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "figure.dpi": 150,
    "lines.linewidth": 1.3,
}


@contextmanager
def picture(
    path: Path, rows: int, columns: int, size: float = 2.6, grey: bool = False
) -> Iterator[np.ndarray]:
    """Axes of a figure of square panels as a (rows, columns) array; the figure is saved to `path` at the end.

    A path without a suffix gives two files, a PDF for print and a PNG for screens. The style holds inside the
    block only, and no global state of matplotlib is touched. Curves without colours are `grey`: a PNG of 16 shades is
    a quarter as large.
    """
    if path.suffix.lower() not in SUFFIXES:
        raise InputError(f"{path}: pictures are written as {', '.join(SUFFIXES[1:])}, by the suffix")
    with mpl.rc_context(_RC):
        figure = Figure(figsize=(size * 1.18 * columns, size * rows), layout="constrained")
        yield figure.subplots(rows, columns, squeeze=False)
        make_folder(path.parent)
        for file in [path] if path.suffix else [path.with_suffix(suffix) for suffix in (".pdf", ".png")]:
            # A full disk leaves the picture that was there before.
            drawn = BytesIO()
            figure.savefig(drawn, format=file.suffix[1:].lower())
            shown = _in_grey(drawn) if grey and file.suffix.lower() == ".png" else drawn
            write_atomically(file, shown.getvalue())


def _in_grey(drawn: BytesIO) -> BytesIO:
    """A PNG with 16 shades of grey."""
    from PIL import Image

    found = BytesIO()
    Image.open(drawn).convert("L").quantize(16).save(found, "png", optimize=True)
    return found


def show_field(
    axes: Axes,
    field: Float[Tensor, "nx ny"],
    title: str,
    diverging: bool = False,
    bar: bool = True,
    limits: tuple[float, float] | None = None,
) -> None:
    """A nodal field on (-1, 1)², with a colour bar or without.

    Colours go from `limits[0]` to `limits[1]`, or from least to largest; diverging ones are centred at zero.
    Red and blue are alike in grey, so contours tell the sign there: solid above zero, dashed below.
    """
    values = field.detach().cpu().numpy().T
    limit = float(np.nanmax(np.abs(values if limits is None else limits))) or 1.0
    low, high = (-limit, limit) if diverging else limits or (None, None)
    colours = DIVERGING if diverging else SEQUENTIAL
    # A node is the middle of its pixel: those of the boundary reach half a cell beyond it, and are cut there.
    right, top = (1 + 1 / (size - 1) for size in field.shape)
    extent = (-right, right, -top, top)
    image = axes.imshow(values, origin="lower", extent=extent, cmap=colours, vmin=low, vmax=high)
    if diverging:
        levels = [limit * k / 4 for k in (-3, -2, -1, 1, 2, 3)]
        axes.contour(*_grid(field), values, levels=levels, colors="0.25", linewidths=0.4)
    frame_body(axes, title)
    if bar:
        axes.figure.colorbar(image, ax=axes, fraction=0.046, pad=0.03)


def frame_body(axes: Axes, title: str) -> None:
    """Show the box (-1, 1)² of the body, to scale, with three ticks a side."""
    ticks = [-1, 0, 1]
    axes.set(title=title, xlim=(-1, 1), ylim=(-1, 1), xticks=ticks, yticks=ticks, aspect="equal")


def shared_bar(panels: np.ndarray, label: str) -> None:
    """One colour bar at the right of all panels: one scale is drawn once. The first of them has the colours."""
    first = panels.flat[0]
    first.figure.colorbar(first.images[0], ax=panels, aspect=40, pad=0.01, label=label)


def outline(axes: Axes, level_set: Float[Tensor, "nx ny"], color: str = "white") -> None:
    """Draw the true outline of the inclusion on top of a field."""
    values = level_set.detach().cpu().numpy().T
    axes.contour(*_grid(level_set), values, levels=[0.0], colors=[color], linewidths=0.9)


def _grid(field: Float[Tensor, "nx ny"]) -> list[np.ndarray]:
    """Coordinates of the nodes along x and y."""
    return [np.linspace(-1, 1, size) for size in field.shape]


def label_sizes(axes: Axes, sizes: Sequence[float]) -> None:
    """Ticks of a logarithmic axis at the sizes that were computed, and nowhere else."""
    axes.set_xticks(sizes, [f"{size:g}" for size in sizes])
    axes.set_xticks([], minor=True)


def same_limits(panels: Sequence[Axes], axis: Literal["x", "y"]) -> None:
    """One scale for panels that are to be compared, in plain numbers; panels without lines have no say."""
    ends = [end for panel in panels if panel.lines for end in getattr(panel, f"get_{axis}lim")()]
    for panel in panels if ends else ():
        panel.set(**{f"{axis}lim": (min(ends), max(ends))})
        if getattr(panel, f"get_{axis}scale")() == "log":
            _plain_decades(getattr(panel, f"{axis}axis"))


def _plain_decades(axis: Axis) -> None:
    """Ticks of a logarithmic axis at 1, 2 and 5 times powers of ten, as plain numbers."""
    low, high = axis.get_view_interval()
    values = [m * 10.0**k for k in range(-6, 7) for m in (1, 2, 5)]
    shown = [value for value in values if low <= value <= high]
    axis.set_ticks(shown, labels=[f"{value:g}" for value in shown])
    axis.set_ticks([], minor=True)


def say_missing(axes: Axes, title: str, text: str = "not trained yet") -> None:
    """A panel without a picture."""
    axes.set_title(title)
    axes.text(0.5, 0.5, text, ha="center", va="center", color="0.4", transform=axes.transAxes)
    axes.set_axis_off()
