"""`eitlens simulate`: from a phantom in a JSON file to a measurement file."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from eitlens.cli.show import say
from eitlens.errors import InputError, prefix_errors
from eitlens.files import check_writable, read_bytes

if TYPE_CHECKING:
    from eitlens.phantom import Phantom

_FINE = 200
"""Cells a side of the paper's grid, which the networks of the package read."""


def simulate(
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Where the measurement goes: .npz, .json; - for a pipe.")
    ],
    phantom: Annotated[
        Path | None, typer.Argument(help="A phantom as JSON (docs/measurements.md); - for a pipe.")
    ] = None,
    random: Annotated[
        int | None, typer.Option(min=0, help="Instead of it: four random ellipses, by this seed.")
    ] = None,
    currents: Annotated[int, typer.Option(min=1, max=16, help="How many: cos lθ, l = 1 … L.")] = 3,
    tau: Annotated[float, typer.Option(min=0.0, max=10.0, help="Noise level τ.")] = 0.0,
    seed: Annotated[int, typer.Option(min=0, help="Of the noise.")] = 0,
    points: Annotated[
        int,
        typer.Option(min=0, max=20_000, help="So many electrodes, evenly spaced; 0: the nodes of the grid."),
    ] = 0,
    n: Annotated[int, typer.Option(min=16, max=1000, help="Cells a side of the grid.")] = _FINE,
    body: Annotated[str, typer.Option(help="square, disk, or a body that a plug-in registers.")] = "square",
) -> None:
    """Simulate the boundary data of a phantom and write them as a measurement file.

    Example: eitlens simulate --random 3 -o data.npz --tau 0.05
    """
    from eitlens.domain.bodies import BODIES
    from eitlens.forward.automatic import simulate as solve
    from eitlens.forward.currents import cosine
    from eitlens.measure import files
    from eitlens.measure.formats import text
    from eitlens.measure.measurement import measured

    inclusions, where = _chosen(phantom, random)
    if str(out) != "-":
        check_writable(out, phantom)
    # Between electrodes nothing of the grid is left to see, so a coarse one would only cost accuracy.
    domain = BODIES[body].at(max(n, _FINE) if points else n)
    with Console(stderr=True).status("simulating …"):  # standard output may be a pipe
        g = cosine(domain, currents)
        with prefix_errors(where):
            clean, solver = solve(inclusions, domain, g)
        measurement = measured(domain, g, clean, inclusions.outside, tau, seed, points)
    if str(out) == "-":
        sys.stdout.buffer.write(text.write(measurement.to_dict()))
        sys.stdout.buffer.flush()
        return
    files.write(measurement, out)
    count = len(measurement.points)
    say(Console(), f"{currents} currents at {count} points, τ = {tau:g}, {solver} solver: ", out)


def _chosen(path: Path | None, seed: int | None) -> "tuple[Phantom, str]":
    """Take the phantom from a file, or draw a random one; and the name of the file."""
    from eitlens.phantom import EllipseSampler
    from eitlens.phantom import files as phantoms

    if path is not None and seed is None:
        remedy = "give a phantom as JSON (docs/measurements.md)"
        content, where = read_bytes(path, phantoms.LARGEST_FILE + 1, remedy)
        return phantoms.parse(content, where), where
    if path is None and seed is not None:
        return EllipseSampler(seed=seed, disjoint=True).phantom(0), ""
    raise InputError("give a phantom as a JSON file, or --random SEED, and not both")
