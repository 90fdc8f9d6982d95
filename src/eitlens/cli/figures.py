"""`eitlens figures`: every figure of the paper, and ours, as PDF and PNG."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress


def figures(
    names: Annotated[list[str] | None, typer.Argument(help="Which figures; all by default.")] = None,
    out: Annotated[Path, typer.Option(help="Folder of the figures.")] = Path("out/figures"),
    root: Annotated[Path, typer.Option(help="The repository, for its results.")] = Path("."),
    samples: Annotated[
        int, typer.Option(min=1, help="Samples a point of a sweep, where it is computed.")
    ] = 8,
    listed: Annotated[bool, typer.Option("--list", help="Only list the names.")] = False,
) -> None:
    """Draw every figure, as PDF and PNG, from result files and the networks of the package.

    Example: eitlens figures fig3-noise theorem1 --out out/figures
    """
    import torch
    from rich.console import Console

    from eitlens.figures.registry import FIGURES, figure
    from eitlens.figures.studio import Studio

    if listed:
        typer.echo("\n".join(FIGURES))
        return
    wanted = {name: figure(name) for name in names or FIGURES}
    # Everything here is small: on two cores that were busy, two threads took 9 min, one took 2.6 min.
    torch.set_num_threads(1)
    console = Console()
    if not (root / "results").is_dir():
        told = f"{root / 'results'} is not there: panels of Table 1 stay empty; --root gives the repository"
        console.print(told, highlight=False, soft_wrap=True)
    with _bar(console) as bar:
        task = bar.add_task("figures", total=len(wanted), told="")
        studio = Studio(root / "results", samples=samples, tell=lambda text: bar.update(task, told=text))
        for name, draw in wanted.items():
            bar.update(task, told=name)
            note = draw(studio, out / name)
            console.print(f"{out / name}.pdf, .png {note and '· ' + note}", highlight=False, soft_wrap=True)
            bar.advance(task)


def _bar(console: "Console") -> "Progress":
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[told]}"),
        console=console,
    )
