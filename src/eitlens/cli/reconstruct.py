"""`eitlens reconstruct`: from measurement files to an image, or to an image a frame."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from eitlens.cli import many
from eitlens.cli import sequence_files as sequence
from eitlens.cli.sequence_files import Average, Frames, Reference, ReferenceFrames
from eitlens.cli.setup_options import with_setup
from eitlens.cli.show import say
from eitlens.errors import InputError
from eitlens.files import check_writable, make_folder, write_atomically

if TYPE_CHECKING:
    from eitlens.imaging import Reconstruction
    from eitlens.measure import Measurement, Setup
    from eitlens.posterior.sampler.sampler import Progress

_SUFFIXES = (".png", ".pdf", ".npz", ".json", ".gif", ".csv")
_OF_SEQUENCES = (".gif", ".csv")


@with_setup
def reconstruct(
    measurement: Annotated[
        list[str],
        typer.Argument(
            help="A measurement: a file, a folder of frames, or 'frames/*.txt'; - reads a pipe. "
            "Several are imaged one by one."
        ),
    ],
    setup: "Setup",
    out: Annotated[
        list[Path] | None,
        typer.Option(
            "--out",
            "-o",
            help="File to write: .png, .pdf, .npz or .json; for frames also .gif and .csv. May be repeated. "
            "For several measurements: 'images/{}.png', where {} stands for their names, and one .csv or .json "
            "of all.",
        ),
    ] = None,
    method: Annotated[
        str,
        typer.Option(
            help="network; dsm or index for any data; for electrodes tikhonov, noser, laplace, gaussian, greit, "
            "gauss-newton, total-variation, level-set, outlines, dbar; for the square minimise, minimise-h1, posterior."
        ),
    ] = "network",
    model: Annotated[
        str | None,
        typer.Option(
            help="Name of a trained network, or the folder of a run; by default the one for this body."
        ),
    ] = None,
    refine: Annotated[
        int,
        typer.Option(
            min=0, max=50, help="Largest number of steps of refinement through the solver; 12 are plenty."
        ),
    ] = 0,
    tau: Annotated[float | None, typer.Option(min=0.0, max=10.0, help="Noise level, if it is known.")] = None,
    n: Annotated[
        int | None, typer.Option(min=16, max=1000, help="Cells along each side of the image.")
    ] = None,
    seconds: Annotated[
        float | None, typer.Option(min=1.0, help="Seconds that the posterior may be sampled; 300 by default.")
    ] = None,
    strength: Annotated[
        float | None,
        typer.Option(help="Strength of the regularisation; by default it is chosen from the data."),
    ] = None,
    steps: Annotated[
        int | None, typer.Option(min=1, help="Largest number of steps of an iterative method.")
    ] = None,
    symmetries: Annotated[
        bool,
        typer.Option(
            "--symmetries", help="Average over the mirror images of the body: slower, and a little better."
        ),
    ] = False,
    reference: Reference = None,
    reference_frames: ReferenceFrames = None,
    frames: Frames = None,
    average: Average = None,
    each: Annotated[
        bool,
        typer.Option(
            "--each", help="Treat the files of a folder as measurements of their own, not as frames of one."
        ),
    ] = False,
    fix: Annotated[
        bool, typer.Option("--fix", help="First correct the faults that `eitlens inspect` finds.")
    ] = False,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:k.")] = "auto",
    as_json: Annotated[bool, typer.Option("--json", help="Print what -o image.json would hold.")] = False,
) -> None:
    """Make an image of the inclusions from a measurement, with its uncertainty and warnings.

    Several frames become images, an animation and a table. `eitlens simulate` makes a measurement to try it with.

    Example: eitlens reconstruct data.npz -o image.png --refine 12

    Example: eitlens reconstruct frames/ --reference-frames 1-20 -o moving.gif

    Example: eitlens reconstruct scans/ --each -o 'images/{}.png' -o table.csv
    """
    from eitlens.device import available_cores
    from eitlens.imaging import Options
    from eitlens.imaging.methods import METHODS

    targets, chosen = out or [], METHODS[method]
    options = Options(
        model, refine, tau, n, device, seconds, available_cores(), None, strength, steps, symmetries
    )

    def read(name: str) -> "tuple[Measurement, list[int]]":
        data, numbers = sequence.read(name, setup, reference, reference_frames, frames, average)
        return (_corrected(data, method) if fix else data), numbers

    _check_suffixes(targets)
    if each or len(measurement) > 1:
        names = many.found_in(measurement) if each else measurement
        many.check(names, targets)
        many.run(names, targets, lambda name: chosen(_single(read(name)[0]), options), _write, as_json)
        return
    (path,) = measurement
    for target in targets:
        check_writable(target, Path(path))
    with _shown(method) as told:
        options = replace(options, progress=told)
        data, numbers = read(path)
        one = chosen(data, options) if data.frames == 1 else None
    console = Console()
    found = [one] if one else sequence.followed(data, method, replace(options, progress=None))
    rows = sequence.table(found, numbers, data)
    for target in targets:
        if one and target.suffix.lower() not in _OF_SEQUENCES:
            _write(one, target)
        else:
            sequence.write(found, rows, target)
    if as_json:
        typer.echo(json.dumps(_document(one) if one else {"frames": sequence.summaries(found, rows)}))
        return
    if one:
        _tell(console, one)
    else:
        sequence.tell(console, found, rows)
    for target in targets:
        say(console, "image: " if one else "images: ", target)


def _corrected(data: "Measurement", method: str) -> "Measurement":
    """The measurement with what the inspection found corrected, and says what; methods that fit a drift keep it."""
    from eitlens.imaging.by_tank import TANK
    from eitlens.measure.quality import drift, inspect

    report = inspect(data)
    kinds = {fault.kind for fault in report.findings if fault.fix is not None}
    kinds -= {drift.KIND} if method in TANK else set()
    corrected = report.applied(*kinds) if kinds else report.measurement
    for note in corrected.notes:
        say(Console(stderr=True), f"note: {note}")
    return corrected


@contextmanager
def _shown(method: str) -> "Iterator[Progress]":
    """A bar that moves when it is told how far a method is, and says meanwhile that something is being done."""
    from rich import progress

    text, bar = progress.TextColumn("{task.description}"), progress.BarColumn()
    console = Console(stderr=True)  # standard output may be a pipe
    columns, quiet = (text, bar, progress.TimeElapsedColumn()), not console.is_terminal
    with progress.Progress(*columns, console=console, transient=True, disable=quiet) as shown:
        task = shown.add_task(f"{method} …", total=None)

        def told(part: float, what: str) -> None:
            shown.update(task, total=1.0, completed=part, description=f"{method}: {what}")

        yield told


def _check_suffixes(targets: list[Path]) -> None:
    for target in targets:
        if target.suffix.lower() not in _SUFFIXES:
            raise InputError(f"{target}: images are written as {', '.join(_SUFFIXES)}, by the suffix")


def _single(data: "Measurement") -> "Measurement":
    """A measurement of one frame, which is what is imaged of many."""
    if data.frames > 1:
        raise InputError(
            f"it has {data.frames} frames: image it by itself, or choose one with --frames 1 or --average"
        )
    return data


def _document(found: "Reconstruction") -> dict[str, Any]:
    """All that is known of an image as plain JSON values."""
    return found.summary() | {name: array.tolist() for name, array in found.arrays.items()}


def _write(found: "Reconstruction", target: Path) -> None:
    from eitlens.measure.formats import npz, text

    make_folder(target.parent)
    if target.suffix.lower() == ".npz":
        write_atomically(target, npz.write({name: array.numpy() for name, array in found.arrays.items()}))
    elif target.suffix.lower() == ".json":
        write_atomically(target, text.write(_document(found)))
    else:
        from eitlens.figures.reconstruction import reconstruction_figure

        reconstruction_figure(found, target)


def _tell(console: Console, found: "Reconstruction") -> None:
    facts = [f"{found.method} {found.model}".strip()]
    # An index that is no probability has no outline: what is above its half says nothing.
    facts += [] if found.area is None else [f"{found.area:.1%} of the body inside"]
    facts += [] if found.noise is None else [f"noise about {found.noise:.1%}"]
    facts += [] if found.misfit is None else [f"misfit {found.misfit:.1%}"]
    say(console, ", ".join([*facts, f"{found.seconds:.2f} s"]))
    change = found.refinement
    if change is not None:
        line = f"misfit {change.misfit_before:.1%} to {change.misfit_after:.1%} in {change.steps} steps"
        say(console, f"refined: {line}, {change.reason}" if change.steps else f"not refined, {change.reason}")
    for flag in found.warnings:
        say(console, f"warning: {flag.text}", style="yellow")
