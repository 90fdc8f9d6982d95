"""`eitlens inspect`: the quality of a measurement, before any image is made of it."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from eitlens.cli import sequence_files as sequence
from eitlens.cli.sequence_files import Frames, Reference, ReferenceFrames
from eitlens.cli.setup_options import with_setup
from eitlens.cli.show import say
from eitlens.errors import InputError
from eitlens.files import check_writable

if TYPE_CHECKING:
    from eitlens.measure import Setup
    from eitlens.measure.quality import Inspection

_PICTURES = (".png", ".pdf", ".svg")
_FACTS = {
    "noise": "noise of each frame",
    "reciprocity": "reciprocal readings differ by",
    "linearity": "inconsistency of the stimulations",
    "drift": "drift against the reference",
    "residual_given": "not explained by an empty tank, as given",
    "residual": "not explained by an empty tank, corrected",
}
"""What the facts of a report are called."""


@with_setup
def inspect(
    measurement: Annotated[
        str,
        typer.Argument(help="A measurement: a file, a folder of frames, or 'frames/*.txt'; - reads a pipe."),
    ],
    setup: "Setup",
    out: Annotated[
        list[Path] | None, typer.Option("--out", "-o", help="File of a picture: .png, .pdf or .svg.")
    ] = None,
    fix: Annotated[
        Path | None, typer.Option(help="Write the corrected measurement to this file: .npz, .json …")
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(help="With --fix: correct only this kind of fault; may be repeated."),
    ] = None,
    reference: Reference = None,
    reference_frames: ReferenceFrames = None,
    frames: Frames = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Check a measurement: say what is wrong, where, and what can be done about it.

    Nothing is changed unless you ask for it with --fix. A finding is no error: the exit status is 0.

    Example: eitlens inspect tank.json -o quality.png --fix corrected.npz
    """
    from eitlens.measure import files, quality

    pictures = out or []
    _check_targets(pictures, fix, only, Path(measurement))
    data, _ = sequence.read(measurement, setup, reference, reference_frames, frames, None)
    with Console(stderr=True).status("inspecting …"):  # standard output may be a pipe
        report = quality.inspect(data)
        fitted = report.fit
    for path in pictures:
        from eitlens.figures.quality import quality_figure

        quality_figure(report, path)
    if fix is not None:
        files.write(report.applied(*(only or ())), fix)
    if as_json:
        typer.echo(json.dumps(report.to_dict()))
        return
    _tell(Console(), report)
    if fitted is None and not report.remarks:
        say(Console(), "the empty tank could not be fitted", style="yellow")
    for path in pictures:
        say(Console(), "picture: ", path)
    if fix is not None:
        say(Console(), "corrected measurement: ", fix)


def _check_targets(pictures: list[Path], fix: Path | None, only: list[str] | None, source: Path) -> None:
    for path in pictures:
        if path.suffix.lower() not in _PICTURES:
            raise InputError(f"{path}: pictures are written as {', '.join(_PICTURES)}, by the suffix")
    if only and fix is None:
        raise InputError("--only says what --fix corrects: give --fix and a file as well")
    if fix is not None:
        from eitlens.measure import files

        files.check_suffix(fix)
    for path in [*pictures, *([] if fix is None else [fix])]:
        check_writable(path, source)


def _tell(console: Console, report: "Inspection") -> None:
    data, fitted = report.measurement, report.fit
    say(console, f"{data.frames} frames of {data.pattern.count} readings, {data.electrodes.count} electrodes")
    for name, text in _FACTS.items():
        if name in report.facts:
            say(console, f"  {text}: {report.facts[name]:.2%}")
    if fitted is not None:
        contact = fitted.electrodes.impedance.mean()
        say(console, f"  empty tank: {fitted.conductivity:.4g} S/m, contacts of {contact:.2g} Ω m²")
    for remark in report.remarks:
        say(console, f"note: {remark}")
    for finding in report.findings:
        say(console, f"found: {finding.text}", style="yellow")
        say(console, f"       {'--fix will ' if finding.fix else ''}{finding.remedy}")
    if not report.findings:
        say(console, "nothing was found to be wrong", style="green")
