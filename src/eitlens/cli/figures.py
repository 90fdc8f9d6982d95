"""`eitlens figures`: every figure of the paper, and ours, as PDF and PNG."""

import itertools
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from eitlens.cli.show import progress_bar, say
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
    from eitlens.checks import choose
    from eitlens.paper.figures.registry import FIGURES
    from eitlens.paper.figures.studio import Studio
    from eitlens.threads import Limit

    if listed:
        typer.echo("\n".join(FIGURES))
        return
    wanted = names or list(FIGURES)
    for name, suffix in itertools.product(wanted, (".pdf", ".png")):
        choose("figure", name, tuple(FIGURES))
        check_writable((out / name).with_suffix(suffix))
    # Everything here is small: on two cores that were busy, two threads took 9 min, one took 2.6 min.
    Limit(1)
    console = Console()
    if not (root / "results").is_dir():
        told = f"{root / 'results'} is not there: panels of Table 1 stay empty; --root gives the repository"
        say(console, told)
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
