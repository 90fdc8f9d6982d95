"""Pictures of a sequence: an animation, and a sheet with some of its frames; one scale of colours for all of them."""

import math
from collections.abc import Callable, Iterator, Sequence
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from statistics import median

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image as Pillow

from eitlens.figures.reconstruction import TITLES, image_limits, show_image
from eitlens.figures.style import picture, shared_bar
from eitlens.files import make_folder, write_atomically
from eitlens.imaging import Reconstruction

MOST_ON_A_SHEET = 20
"""Frames on one page: smaller ones tell nothing."""
_COLUMNS = 5
_SHORTEST, _LONGEST = 0.04, 1.0  # seconds a frame is shown: browsers show nothing shorter as it is
_UNTIMED = 0.1  # seconds a frame where no times are known
_DOTS, _COLOURS = 100, 128  # an inch, a palette: half a thousand pixels a side, a few kilobytes a frame


def contact_sheet(found: Sequence[Reconstruction], labels: Sequence[str], path: Path) -> None:
    """Draw frames beside each other, at most twenty, evenly chosen."""
    step = max(1, math.ceil(len(found) / MOST_ON_A_SHEET))
    shown = range(0, len(found), step)
    columns = min(_COLUMNS, len(shown))
    limits = image_limits(found)
    with picture(path, math.ceil(len(shown) / columns), columns, size=2.2) as axes:
        for panel, k in zip(axes.flat, shown, strict=False):
            _show(panel, found[k], labels[k], limits)
        for panel in axes.flat[len(shown) :]:
            panel.set_axis_off()
        shared_bar(axes, TITLES[found[0].quantity])


def animation(
    found: Sequence[Reconstruction],
    labels: Sequence[str],
    times: Sequence[float],
    path: Path,
    done: Callable[[], None] = lambda: None,
) -> None:
    """Write a GIF as fast as the frames were taken, where their times are known; `done` is called after each."""
    stream, (first, *others) = BytesIO(), [*_drawn(found, labels, done)]
    first.save(stream, "gif", save_all=True, append_images=others, duration=_pace(times), loop=0)
    make_folder(path.parent)
    write_atomically(path, stream.getvalue())


def _drawn(
    found: Sequence[Reconstruction], labels: Sequence[str], done: Callable[[], None]
) -> Iterator[Pillow.Image]:
    """The frames as pictures with a palette."""
    limits = image_limits(found)
    with rc_context({"font.size": 9}):
        figure = Figure(figsize=(4.4, 3.6), dpi=_DOTS, layout="constrained")
        axes = figure.subplots()
        for k, (one, label) in enumerate(zip(found, labels, strict=True)):
            axes.clear()
            _show(axes, one, label, limits)
            if k == 0:
                figure.colorbar(axes.images[0], ax=axes, label=TITLES[one.quantity])
            drawn = BytesIO()
            figure.savefig(drawn, format="png")
            yield Pillow.open(drawn).convert("RGB").quantize(_COLOURS)
            done()


def _pace(times: Sequence[float]) -> int:
    """Milliseconds a frame."""
    known = median(later - earlier for earlier, later in pairwise(times)) if len(times) > 1 else _UNTIMED
    return round(1000 * min(max(known, _SHORTEST), _LONGEST))


def _show(axes: Axes, one: Reconstruction, label: str, limits: tuple[float, float]) -> None:
    show_image(axes, one, label, limits, bar=False)
    axes.set_axis_off()
