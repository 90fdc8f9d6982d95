"""`eitlens models`: the networks there are and what they cost."""

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from eitlens.evaluate import Cost

COLUMNS = ("network", "paper's name", "layers", "width", "modes", "norm", "GFLOP, paper", "images/s, paper")
OURS = ("parameters", "GFLOP", "FFT GFLOP", "kept MiB", "images/s")


def models(
    names: Annotated[
        list[str] | None, typer.Argument(help="Networks to list; all when none is named.")
    ] = None,
    n: Annotated[int, typer.Option(help="Nodes a side of the grid.", min=32)] = 201,
    batch: Annotated[int, typer.Option(help="Images a forward pass, for the timing.", min=1)] = 1,
    device: Annotated[str, typer.Option(help="Where to time: cpu or cuda.")] = "cpu",
    timed: Annotated[bool, typer.Option("--time/--no-time", help="Whether to time the forward pass.")] = True,
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """List the networks with the paper's table of costs and ours, for one image.

    Example: eitlens models uit fno --no-time
    """
    from eitlens.evaluate import costs
    from eitlens.models import names as known

    measured = costs(names or known(), n, batch, device, timed)
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
        title=f"One image of {n} × {n} nodes, forward", caption="kept: for the backward pass, in float32"
    )
    for index, column in enumerate((*COLUMNS, *OURS)):
        table.add_column(column, justify="left" if index < 2 else "right")
    for cost in measured:
        table.add_row(*_row(cost))
    Console().print(table)


def _row(cost: "Cost") -> list[str]:
    paper = cost.published
    described = [
        cost.preset,
        cost.title,
        str(paper.layers),
        str(paper.width),
        _or_dash(paper.modes, "d"),
        paper.norm,
    ]
    theirs = [_or_dash(paper.gflops, "g"), _or_dash(paper.speed, "g")]
    counted = [f"{cost.parameters:,}", f"{cost.gflops:.2f}", _or_dash(cost.transform_gflops or None, ".2f")]
    return [
        *described,
        *theirs,
        *counted,
        f"{cost.activation_mib:.0f}",
        _or_dash(cost.images_per_second, ".3g"),
    ]


def _or_dash(value: float | None, form: str) -> str:
    return "–" if value is None else format(value, form)
