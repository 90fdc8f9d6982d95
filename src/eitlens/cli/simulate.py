"""`eitlens simulate`: from a phantom in a JSON file to a measurement file."""

import json
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from eitlens.cli.show import say
from eitlens.errors import InputError, prefix_errors
from eitlens.files import check_writable, read_bytes, write_json

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
    body: Annotated[
        str, typer.Option(help="square, disk, thorax, one that a plug-in registers, or a .json file.")
    ] = "square",
    electrodes: Annotated[
        int, typer.Option(min=0, max=1024, help="So many real electrodes; 0: the paper's currents.")
    ] = 0,
    pattern: Annotated[
        str, typer.Option(help="adjacent, opposite, skip-3, all-against-1, trigonometric …")
    ] = "adjacent",
    readings: Annotated[str, typer.Option(help="What is read, in the same words, or mean.")] = "adjacent",
    driven: Annotated[bool, typer.Option(help="Read electrodes that drive as well.")] = False,
    current: Annotated[float, typer.Option(help="Of the electrodes, in amperes.")] = 1e-3,
    coverage: Annotated[float, typer.Option(help="Part of the boundary under electrodes.")] = 0.5,
    impedance: Annotated[float, typer.Option(help="Of the contacts, in Ω m².")] = 1e-6,
    first: Annotated[float, typer.Option(help="Angle of electrode 1 in degrees; 90 is the top.")] = 0.0,
    clockwise: Annotated[bool, typer.Option(help="The electrodes' numbers run clockwise.")] = False,
    scale: Annotated[
        float | None, typer.Option(help="Radius of the disk in metres; of other bodies half the longer side.")
    ] = None,
    height: Annotated[float, typer.Option(help="Of the tank, in metres.")] = 1.0,
    snr: Annotated[float, typer.Option(help="Noise of the readings, in decibels below them.")] = math.inf,
) -> None:
    """Simulate the boundary data of a phantom and write them as a measurement file.

    With --electrodes the file is JSON: readings in volts, of the phantom and of the empty body.

    Example: eitlens simulate --random 3 -o data.npz --tau 0.05
    """
    from eitlens.domain import bodies
    from eitlens.forward.automatic import simulate as solve
    from eitlens.forward.currents import cosine
    from eitlens.measure import files
    from eitlens.measure.formats import text
    from eitlens.measure.points import measured

    inclusions, where = _chosen(phantom, random)
    if str(out) != "-":
        check_writable(out, phantom)
    if electrodes:
        row = {
            "coverage": coverage,
            "impedance": impedance,
            "first": math.radians(first),
            "clockwise": clockwise,
        }
        words = {"name": pattern, "readings": readings, "driven": driven, "current": current}
        tank = {"height": height, "snr": snr, "seed": seed}
        _write(_readings(inclusions, body, scale, electrodes, row, words, tank), out)
        return
    # Between electrodes nothing of the grid is left to see, so a coarse one would only cost accuracy.
    domain = bodies.chosen(body).at(max(n, _FINE) if points else n)
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


def _readings(
    phantom: "Phantom",
    body: str,
    scale: float | None,
    count: int,
    row: dict[str, Any],
    words: dict[str, Any],
    tank: dict[str, Any],
) -> dict[str, Any]:
    """Readings of even electrodes as plain JSON values."""
    from eitlens.domain import bodies
    from eitlens.electrodes import Electrodes, Pattern
    from eitlens.electrodes.base import simulated

    chosen = bodies.chosen(body)
    sized = chosen if scale is None else bodies.scaled(chosen, scale)
    electrodes = Electrodes.even(sized, count, **row)
    return simulated(electrodes, Pattern.named(electrodes=count, **words), phantom, **tank)


def _write(values: dict[str, Any], out: Path) -> None:
    if str(out) == "-":
        sys.stdout.write(json.dumps(values) + "\n")
        return
    write_json(out, values)
    count = len(values["reference"][0])
    say(Console(), f"{count} readings of {len(values['electrodes']['places'])} electrodes, in volts: ", out)
