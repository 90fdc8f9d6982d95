"""`eitlens figures`: every figure of the paper, and ours, as PDF and PNG."""

import itertools
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from eitlens.cli.show import progress_bar, say
from eitlens.errors import InputError
from eitlens.files import check_writable


def figures(
    names: Annotated[list[str] | None, typer.Argument(help="Names of the figures; all by default.")] = None,
    out: Annotated[Path, typer.Option(help="Folder of the figures.")] = Path("out/figures"),
    root: Annotated[Path, typer.Option(help="Folder of the repository, for its results.")] = Path("."),
    samples: Annotated[
        int, typer.Option(min=1, help="Samples for each point of a sweep, if it has to be computed.")
    ] = 8,
    listed: Annotated[bool, typer.Option("--list", help="List the names and stop.")] = False,
) -> None:
    """Draw every figure, as PDF and PNG, from result files and the networks of the package.

    Example: eitlens figures fig3-noise theorem1 --out out/figures
    """
    from eitlens.paper.figures.registry import FIGURES
    from eitlens.paper.figures.studio import Studio
    from eitlens.threads import Limit

    if listed:
        typer.echo("\n".join(FIGURES))
        return
    wanted = _possible(names, root / "results")
    for name, suffix in itertools.product(wanted, (".pdf", ".png")):
        check_writable((out / name).with_suffix(suffix))
    # Everything here is small: on two cores that were busy, two threads took 9 min, one took 2.6 min.
    Limit(1)
    console = Console()
    with progress_bar(console) as bar:
        task = bar.add_task("", total=len(wanted))
        studio = Studio(
            root / "results", samples=samples, tell=lambda text: bar.update(task, description=text)
        )
        for name in wanted:
            bar.update(task, description=name)
            note = FIGURES[name](studio, out / name)
            say(console, f"{out / name}.pdf, .png{note and ' · ' + note}")
            bar.advance(task)


def _possible(names: list[str] | None, results: Path) -> list[str]:
    """The figures that can be drawn: those of Table 1 need the repository's results, and would be empty without."""
    from eitlens.checks import choose
    from eitlens.paper.figures.registry import FIGURES, OF_TABLE1

    for name in names or ():
        choose("figure", name, tuple(FIGURES))
    wanted = names or list(FIGURES)
    lacking = [] if results.is_dir() else [name for name in wanted if name in OF_TABLE1]
    missing = f"{results} is not there: {', '.join(lacking)} show the results of trainings: run it in the repository"
    if lacking and names:
        raise InputError(f"{missing}, or give it with --root")
    if lacking:
        say(Console(stderr=True), f"left out, as {missing}, or give it with --root", style="yellow")
    return [name for name in wanted if name not in lacking]
