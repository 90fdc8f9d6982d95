"""`eitlens demo`: from two bodies to their boundary data and the images of them, as one picture."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from eitlens.cli.show import say
from eitlens.errors import InputError

_SUFFIXES = (".png", ".pdf", ".svg")


def demo(
    out: Annotated[Path, typer.Option(help="Where to save the picture.")] = Path("out/demo.png"),
    seed: Annotated[int, typer.Option(min=0, help="Seed of the random bodies.")] = 7,
    n: Annotated[int, typer.Option(min=32, max=1000, help="Cells along each side of the images.")] = 200,
    model: Annotated[
        str | None, typer.Option(help="A trained network by name, or the folder of a run.")
    ] = None,
) -> None:
    """Show, as one picture, what is seen of a random square body at three noise levels, and of a random tank.

    Example: eitlens demo --seed 3
    """
    from eitlens.figures.demo import demo_figure

    if out.suffix.lower() not in _SUFFIXES:
        raise InputError(f"{out}: pictures are written as {', '.join(_SUFFIXES)}, by the suffix")
    console = Console()
    with console.status("simulating the bodies, making the images …"):
        summary = demo_figure(out, seed=seed, n=n, model=model)
    for line in summary:
        say(console, line)
    say(console, "picture: ", out)
