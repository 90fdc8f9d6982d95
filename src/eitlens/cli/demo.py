"""`eitlens demo`: from an inclusion to its boundary data and the classical images, as one picture."""

from pathlib import Path
from typing import Annotated

import typer


def demo(
    out: Annotated[Path, typer.Option(help="Where to save the picture.")] = Path("out/demo.png"),
    seed: Annotated[int, typer.Option(min=0, help="Which random phantom.")] = 7,
    tau: Annotated[float, typer.Option(min=0.0, help="Noise level τ of the boundary data.")] = 0.05,
    n: Annotated[int, typer.Option(min=16, max=1000, help="Cells a side.")] = 200,
) -> None:
    """Draw a random phantom, simulate noisy boundary data and show what the classical methods see.

    Example: eitlens demo --seed 3 --tau 0.2
    """
    from rich.console import Console

    from eitlens.figures.demo import demo_figure

    console = Console()
    with console.status("simulating the body and its boundary data …"):
        summary = demo_figure(out, seed=seed, tau=tau, n=n)
    for line in summary:
        console.print(line, highlight=False)
    console.print(f"picture: [bold]{out}[/bold]", highlight=False)
