"""`eitlens models`: the networks there are and what they cost."""

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from eitlens.evaluate import Cost

COLUMNS = (
    "network",
    "layers\nwidth",
    "modes\nnorm",
    "parameters\n",
    "GFLOP\npaper's",
    "FFT\nGFLOP",
    "kept\nMiB",
    "images/s\npaper's",
)


def models(
    names: Annotated[
        list[str] | None, typer.Argument(help="Networks to list; all when none is named.")
    ] = None,
    n: Annotated[int, typer.Option(help="Nodes a side of the grid.", min=32)] = 201,
    batch: Annotated[int, typer.Option(help="Images a forward pass, for the timing.", min=1)] = 1,
    device: Annotated[str, typer.Option(help="Where to time: auto, cpu, cuda or cuda:k.")] = "cpu",
    timed: Annotated[bool, typer.Option("--time/--no-time", help="Whether to time the forward pass.")] = True,
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """List the networks with the paper's table of costs and ours, for one image.

    Example: eitlens models uit fno --no-time
    """
    from rich.console import Console
    from rich.progress import track

    from eitlens.device import pick_device
    from eitlens.evaluate import measure
    from eitlens.models import names as known

    place = str(pick_device(device))
    # Standard output may be a pipe.
    console = Console(stderr=True)
    named = track(
        names or known(), "measuring", console=console, transient=True, disable=not console.is_terminal
    )
    measured = [measure(name, n, batch, place, timed) for name in named]
    if json:
        _print_json(measured)
    else:
        _print_table(measured, n)


def _print_json(measured: "list[Cost]") -> None:
    import json
    from dataclasses import asdict

    typer.echo(json.dumps([asdict(cost) for cost in measured], indent=2))


def _print_table(measured: "list[Cost]", n: int) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(
        title=f"One image of {n} × {n} nodes, forward",
        caption="below ours: the paper's GFLOP and images/s; kept: for the backward pass, in float32",
        box=None,
        padding=(0, 2, 0, 0),
    )
    for index, column in enumerate(COLUMNS):
        table.add_column(column, justify="right" if index else "left")
    for cost in measured:
        table.add_row(*_row(cost))
    Console().print(table)


def _row(cost: "Cost") -> list[str]:
    """Two lines: within 80 columns, and ours above the paper's."""
    paper = cost.published
    return [
        f"[bold]{cost.preset}[/bold]\n[dim]{cost.title}[/dim]",
        f"{paper.layers}\n[dim]{paper.width}[/dim]",
        f"{_or_dash(paper.modes, 'd')}\n[dim]{paper.norm}[/dim]",
        f"{cost.parameters:,}",
        f"{cost.gflops:.2f}\n[dim]{_or_dash(paper.gflops, 'g')}[/dim]",
        _or_dash(cost.transform_gflops or None, ".2f"),
        f"{cost.activation_mib:.0f}",
        f"{_or_dash(cost.images_per_second, '.3g')}\n[dim]{_or_dash(paper.speed, 'g')}[/dim]",
    ]


def _or_dash(value: float | None, form: str) -> str:
    return "–" if value is None else format(value, form)
