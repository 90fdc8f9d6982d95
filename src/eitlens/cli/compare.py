"""`eitlens compare`: one measurement by several methods, as one picture and one table."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Column, Table
from typer.core import TyperCommand

from eitlens.cli import sequence_files as sequence
from eitlens.cli.sequence_files import Average, Frames, Reference, ReferenceFrames
from eitlens.cli.setup_options import with_setup
from eitlens.cli.show import say
from eitlens.errors import InputError
from eitlens.files import check_writable, read_bytes

if TYPE_CHECKING:
    from eitlens.imaging.comparison import Compared
    from eitlens.measure import Setup
    from eitlens.phantom import Phantom

_SUFFIXES = (".png", ".pdf", ".svg")


class SpreadMethods(TyperCommand):
    """A command that takes `--methods a b c` for `--methods a --methods b --methods c`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Repeat the option before each further name."""
        spread: list[str] = []
        for k, word in enumerate(args):
            further = "--methods" in args[: max(k - 1, 0)] and not word.startswith("-")
            begun = max((j for j in range(k) if args[j].startswith("-") and args[j] != "-"), default=0)
            spread += ["--methods", word] if further and args[begun] == "--methods" else [word]
        return super().parse_args(ctx, spread)


@with_setup
def compare(
    measurement: Annotated[
        str,
        typer.Argument(help="A measurement: a file, a folder of frames, or 'frames/*.txt'; - reads a pipe."),
    ],
    setup: "Setup",
    methods: Annotated[
        list[str] | None,
        typer.Option(help="Names of the methods, one after the other; dsm and network by default."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="File of the picture: .png, .pdf or .svg.")
    ] = None,
    truth: Annotated[
        Path | None,
        typer.Option(help="The true body as JSON (docs/measurements.md), to score the images."),
    ] = None,
    tau: Annotated[float | None, typer.Option(min=0.0, max=10.0, help="Noise level, if it is known.")] = None,
    n: Annotated[int | None, typer.Option(min=16, max=1000, help="Cells a side of the images.")] = None,
    reference: Reference = None,
    reference_frames: ReferenceFrames = None,
    frames: Frames = None,
    average: Average = None,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:k.")] = "auto",
    as_json: Annotated[bool, typer.Option("--json", help="Print the table as JSON.")] = False,
) -> None:
    """Image the first frame of a measurement by several methods, and score the images if the true body is known.

    Example: eitlens compare data.json --methods dsm index network -o compared.png
    """
    from eitlens.device import available_cores
    from eitlens.figures.comparison import comparison_figure
    from eitlens.imaging import Options
    from eitlens.imaging.comparison import compare as compared

    _check_target(out, Path(measurement))
    body = _phantom(truth)
    options = Options(tau=tau, n=n, device=device, workers=available_cores())
    data, _ = sequence.read(measurement, setup, reference, reference_frames, frames, average)
    with Console(stderr=True).status("") as status:
        rows = compared(
            data.frame(0),
            methods or ["dsm", "network"],
            options,
            body,
            lambda name: status.update(f"{name} …"),
        )
    if out is not None:
        comparison_figure(rows, out, body)
    if as_json:
        typer.echo(json.dumps({"methods": [row.to_dict() for row in rows]}))
        return
    console = Console()
    console.print(_table(rows))
    for row in rows:
        _tell(console, row)
    if out is not None:
        say(console, "picture: ", out)


def _check_target(out: Path | None, source: Path) -> None:
    if out is not None and out.suffix.lower() not in _SUFFIXES:
        raise InputError(f"{out}: pictures are written as {', '.join(_SUFFIXES)}, by the suffix")
    if out is not None:
        check_writable(out, source)


def _phantom(path: Path | None) -> "Phantom | None":
    from eitlens.phantom import files

    if path is None:
        return None
    return files.parse(*read_bytes(path, files.LARGEST_FILE + 1, "give a phantom as JSON"))


def _table(rows: "Sequence[Compared]") -> Table:
    scored = any(row.scores is not None for row in rows)
    heads = ("noise", "misfit", "seconds", *(_SCORES if scored else ()))
    # A name that is cut off cannot be typed again.
    table = Table(Column("method", no_wrap=True), Column("shows", no_wrap=True), *heads, box=SIMPLE_HEAD)
    for row in rows:
        if row.found is not None:
            one, score = row.found, row.scores
            cells = [one.quantity, _percent(one.noise), _percent(one.misfit), f"{one.seconds:.2f}"]
            cells += (
                [] if score is None else [_number(score.position), _number(score.dice), _number(score.error)]
            )
            table.add_row(row.method, *cells)
    return table


_SCORES = ("position", "Dice", "σ")
"""The error of the place over half the longer side of the body; the overlap; the error of σ, where it is shown."""


def _percent(value: float | None) -> str:
    return "" if value is None else f"{value:.1%}"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def _tell(console: Console, row: "Compared") -> None:
    if row.found is None:
        say(
            console,
            f"no image by {row.reason if row.reason.startswith(row.method) else f'{row.method}: {row.reason}'}",
        )
        return
    for flag in row.found.warnings:
        say(console, f"{row.method}: warning: {flag.text}", style="yellow")
