"""The frames of a sequence on the command line: which are imaged, and the files they become."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from eitlens.cli.show import progress_bar, say
from eitlens.errors import InputError
from eitlens.files import make_folder, write_atomically

if TYPE_CHECKING:
    from eitlens.imaging import Options, Reconstruction
    from eitlens.imaging.table import Row
    from eitlens.measure import Measurement, Setup

_PANEL = "Frames, and the reference that they are compared with"

Reference = Annotated[
    str | None,
    typer.Option(help="Files of the reference: the empty tank, or an earlier time.", rich_help_panel=_PANEL),
]
ReferenceFrames = Annotated[
    str | None,
    typer.Option(
        help="Or the reference is some frames of the measurement itself: 1-20.", rich_help_panel=_PANEL
    ),
]
Frames = Annotated[
    str | None,
    typer.Option(help="Frames to image, such as 21-40 or 21-; all by default.", rich_help_panel=_PANEL),
]
Average = Annotated[
    int | None, typer.Option(min=1, help="Average so many frames into one image.", rich_help_panel=_PANEL)
]
_MOST_BYTES = 2**32  # of the images of a sequence: more does not fit beside the rest in a laptop's memory


def read(
    path: str,
    setup: "Setup",
    reference: str | None,
    reference_frames: str | None,
    frames: str | None,
    average: int | None,
) -> "tuple[Measurement, list[int]]":
    """The measurement with the frames and the reference that were asked for, and the numbers of these frames."""
    from eitlens.measure import files
    from eitlens.measure.frames import choose, origins

    if reference is not None and reference_frames is not None:
        raise InputError("--reference and --reference-frames are two references: give one of them")
    data = files.read(path, setup, reference)
    return choose(data, frames, reference_frames, average), origins(data.frames, frames, average)


def followed(data: "Measurement", method: str, options: "Options") -> "list[Reconstruction]":
    """The images of all frames, with a bar that shows how many are done."""
    from eitlens.imaging import images

    found: list[Reconstruction] = []
    with progress_bar(Console(stderr=True)) as bar:
        task = bar.add_task(method, total=data.frames)
        for one in images(data, method, options):
            if not found:
                _check_memory(one, data.frames)
            found.append(one)
            bar.advance(task)
    return found


def table(found: "Sequence[Reconstruction]", numbers: Sequence[int], data: "Measurement") -> "list[Row]":
    """A row a frame."""
    from eitlens.imaging.table import row

    times = [None] * len(found) if data.times is None else data.times.tolist()
    return [row(*given) for given in zip(numbers, times, found, strict=True)]


def tell(console: Console, found: "Sequence[Reconstruction]", rows: "Sequence[Row]") -> None:
    """Say how many frames there are, how fast they were imaged, and which doubts there are in how many of them."""
    seconds = sum(one.seconds for one in found)
    noises = [row.noise for row in rows if row.noise is not None]
    facts = [f"{found[0].method} {found[0].model}".strip(), f"{len(found)} frames"]
    facts += [f"noise about {median(noises):.1%}"] if noises else []
    say(console, ", ".join([*facts, f"{seconds:.2f} s"]))
    doubts = [flag for one in found for flag in {flag.kind: flag for flag in one.warnings}.values()]
    counts = Counter(flag.kind for flag in doubts)
    for kind, flag in {flag.kind: flag for flag in reversed(doubts)}.items():
        say(console, f"warning in {counts[kind]} of {len(found)} frames: {flag.text}", style="yellow")


def write(found: "Sequence[Reconstruction]", rows: "Sequence[Row]", path: Path) -> None:
    """Write the images of a sequence, or what they show, in the form that the suffix says."""
    from eitlens.figures import sequence as pictures
    from eitlens.imaging.table import as_csv
    from eitlens.measure.formats import npz, text

    suffix, labels = path.suffix.lower(), [_label(row) for row in rows]
    make_folder(path.parent)
    if suffix == ".gif":
        times = [row.time for row in rows if row.time is not None]
        with progress_bar(Console(stderr=True)) as bar:
            task = bar.add_task(path.name, total=len(found))
            pictures.animation(found, labels, times, path, lambda: bar.advance(task))
    elif suffix in (".png", ".pdf"):
        pictures.contact_sheet(found, labels, path)
    elif suffix == ".csv":
        write_atomically(path, as_csv(rows))
    elif suffix == ".json":
        write_atomically(path, text.write({"frames": summaries(found, rows)}))
    else:
        write_atomically(path, npz.write(_arrays(found, rows)))


def summaries(found: "Sequence[Reconstruction]", rows: "Sequence[Row]") -> list[dict[str, Any]]:
    """All but the arrays, as plain JSON values, a frame each."""
    places = (
        {name: getattr(row, name) for name in ("frame", "time", "x", "y", "value", "size")} for row in rows
    )
    return [place | one.summary() for place, one in zip(places, found, strict=True)]


def _check_memory(one: "Reconstruction", frames: int) -> None:
    size = frames * one.image.nbytes * (1 if one.uncertainty is None else 2)
    if size > _MOST_BYTES:
        raise InputError(
            f"{frames} images of {one.image.shape[0]} × {one.image.shape[1]} nodes take {size / 2**30:.0f} GiB: "
            "choose fewer with --frames, average with --average, or make them smaller with --n 64"
        )


def _label(row: "Row") -> str:
    return f"frame {row.frame}" if row.time is None else f"frame {row.frame}, {row.time:.2f} s"


def _arrays(found: "Sequence[Reconstruction]", rows: "Sequence[Row]") -> dict[str, Any]:
    """The images (frames, nx, ny) in single precision, and what is known beside them."""
    import numpy as np

    arrays: dict[str, Any] = {"images": np.stack([one.image.float().numpy() for one in found])}
    spreads = [one.uncertainty.float().numpy() for one in found if one.uncertainty is not None]
    times = [row.time for row in rows]
    arrays |= {"uncertainties": np.stack(spreads)} if len(spreads) == len(found) else {}
    arrays |= {"times": times} if None not in times else {}
    arrays |= {name: axis.numpy() for name, axis in found[0].domain.axes().items()}
    return arrays | {"frames": [row.frame for row in rows]}
