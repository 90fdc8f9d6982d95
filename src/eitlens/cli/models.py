"""`eitlens models`: the networks and their costs."""

from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

if TYPE_CHECKING:
    from eitlens.evaluate import Cost

NODES = 201
"""Nodes a side of the paper's grid."""
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
    names: Annotated[list[str] | None, typer.Argument(help="Names of networks; all by default.")] = None,
    n: Annotated[int, typer.Option(help="Nodes along each side of the grid.", min=32)] = NODES,
    batch: Annotated[int, typer.Option(help="Images in each forward pass, for the timing.", min=1)] = 1,
    device: Annotated[str, typer.Option(help="Where to time: auto, cpu, cuda or cuda:k.")] = "cpu",
    timed: Annotated[bool, typer.Option("--time/--no-time", help="Time the forward pass, or not.")] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """List the networks with what an image costs: the paper's figures and ours.

    Example: eitlens models uit fno --no-time
    """
    from dataclasses import asdict
    from json import dumps

    from eitlens.device import pick_device

    found = measured(names, n, batch, str(pick_device(device)), timed)
    if as_json:
        typer.echo(dumps([asdict(cost) for cost in found], indent=2))
    else:
        _print_table(found, n)


def measured(names: list[str] | None, n: int, batch: int, device: str, timed: bool) -> "list[Cost]":
    """Measure the costs of the networks named, or of all, behind a bar."""
    from rich.progress import track

    from eitlens.evaluate import measure
    from eitlens.models import names as known

    console = Console(stderr=True)  # standard output may be a pipe
    wanted, quiet = names or known(), not console.is_terminal
    shown = track(wanted, "measuring", console=console, transient=True, disable=quiet)
    return [measure(name, n, batch, device, timed) for name in shown]


def _print_table(costs: "list[Cost]", n: int) -> None:
    from rich.table import Table

    table = Table(
        title=f"One image of {n} × {n} nodes, forward",
        caption="below ours: the paper's GFLOP and images/s; kept: for the backward pass, in float32",
        box=None,
        padding=(0, 2, 0, 0),
    )
    for index, column in enumerate(COLUMNS):
        table.add_column(column, justify="right" if index else "left")
    for cost in costs:
        table.add_row(*_row(cost))
    Console().print(table)


def _row(cost: "Cost") -> list[str]:
    """Two lines a network: within 80 columns, and ours above the paper's."""
    from eitlens.paper.markdown import number

    paper = cost.published
    return [
        f"[bold]{cost.preset}[/bold]\n[dim]{cost.title}[/dim]",
        f"{paper.layers}\n[dim]{paper.width}[/dim]",
        f"{number(paper.modes, form='d')}\n[dim]{paper.norm}[/dim]",
        f"{cost.parameters:,}",
        f"{cost.gflops:.2f}\n[dim]{number(paper.gflops, form='g')}[/dim]",
        number(cost.transform_gflops or None, form=".2f"),
        f"{cost.activation_mib:.0f}",
        f"{number(cost.images_per_second, form='.3g')}\n[dim]{number(paper.speed, form='g')}[/dim]",
    ]
