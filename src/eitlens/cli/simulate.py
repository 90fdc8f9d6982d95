"""`eitlens simulate`: from a phantom in a JSON file to a measurement file."""

import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from eitlens.cli.show import say
from eitlens.errors import InputError, prefix_errors
from eitlens.files import check_writable, read_bytes

if TYPE_CHECKING:
    from eitlens.domain import Domain
    from eitlens.electrodes import TankConfig
    from eitlens.measure import Measurement
    from eitlens.phantom import Phantom

_FINE = 200
"""Cells a side of the paper's grid, which the networks of the package read."""


def simulate(
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            help="File of the measurement: .npz, .json, .csv, .h5 or .mat; - writes to a pipe.",
        ),
    ],
    phantom: Annotated[
        Path | None, typer.Argument(help="The body as JSON (docs/measurements.md); - reads a pipe.")
    ] = None,
    random: Annotated[
        int | None, typer.Option(min=0, help="Instead of a file: four random ellipses by this seed.")
    ] = None,
    currents: Annotated[int, typer.Option(min=1, max=16, help="Number L of currents cos lθ, l = 1 … L.")] = 3,
    tau: Annotated[float, typer.Option(min=0.0, max=10.0, help="Noise level τ.")] = 0.0,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the noise.")] = 0,
    points: Annotated[
        int,
        typer.Option(
            min=0,
            max=20_000,
            help="Number of points on the boundary, evenly spaced; 0: the nodes of the grid.",
        ),
    ] = 0,
    n: Annotated[int, typer.Option(min=16, max=1000, help="Cells along each side of the grid.")] = _FINE,
    body: Annotated[
        str, typer.Option(help="square, disk, thorax, the name of a body of a plug-in, or a .json file.")
    ] = "square",
    electrodes: Annotated[
        int,
        typer.Option(
            min=0, max=1024, help="Number of real electrodes; 0: the paper's currents, without electrodes."
        ),
    ] = 0,
    pattern: Annotated[
        str, typer.Option(help="What drives: adjacent, opposite, skip-3, all-against-1, trigonometric …")
    ] = "adjacent",
    readings: Annotated[
        str, typer.Option(help="What is read: the same names as for --pattern, or mean.")
    ] = "adjacent",
    driven: Annotated[bool, typer.Option(help="Read also the electrodes that drive.")] = False,
    rotating: Annotated[
        bool, typer.Option(help="The readings of each stimulation begin at the electrode that drives.")
    ] = False,
    current: Annotated[float, typer.Option(help="Current through the electrodes, in amperes.")] = 1e-3,
    coverage: Annotated[float, typer.Option(help="Share of the boundary under electrodes, 0 to 1.")] = 0.5,
    impedance: Annotated[float, typer.Option(help="Contact impedance, in Ω m².")] = 1e-6,
    first: Annotated[float, typer.Option(help="Angle of electrode 1 in degrees; 90 is the top.")] = 0.0,
    clockwise: Annotated[bool, typer.Option(help="The electrodes' numbers run clockwise.")] = False,
    scale: Annotated[
        float | None,
        typer.Option(help="Radius of a disk, or half the longer side of another body, in metres."),
    ] = None,
    height: Annotated[float, typer.Option(help="Height of the tank, in metres.")] = 1.0,
    snr: Annotated[
        float, typer.Option(help="Signal-to-noise ratio of the readings, in decibels.")
    ] = math.inf,
    frames: Annotated[
        int,
        typer.Option(
            min=1, help="Number of frames, in which shapes move with their velocity (with --electrodes)."
        ),
    ] = 1,
    rate: Annotated[float, typer.Option(help="Frames per second.")] = 1.0,
    references: Annotated[int, typer.Option(min=0, help="Number of frames of the empty body.")] = 1,
) -> None:
    """Simulate the data of a phantom and write them as a measurement file.

    With --electrodes they are readings in volts, of one or more frames and of the empty body, and the file says all
    of the tank: body, electrodes, pattern, conductivity, height.

    Example: eitlens simulate --random 3 -o data.npz --tau 0.05
    """
    from eitlens.domain import bodies
    from eitlens.electrodes import TankConfig
    from eitlens.measure import files

    if str(out) != "-":
        files.check_suffix(out)
        check_writable(out, phantom)
    domain = bodies.chosen(body)
    of_electrodes = (pattern, readings, driven, rotating, current, coverage, impedance, first, clockwise)
    _refuse_unused(electrodes, (*of_electrodes, scale, height, snr, rate, references), (currents, points, n))
    if electrodes:
        tank = TankConfig(
            electrodes,
            coverage,
            impedance,
            first,
            clockwise,
            pattern,
            readings,
            driven,
            rotating,
            current,
            scale,
            height,
        )
        seen = _chosen(phantom, random, tank.row(domain).body, frames, rate)
        measured = _readings(tank, domain, seen, snr, tau, seed, references, rate)
        count = f"{len(seen)} × {tank.drive().count} readings of {electrodes} electrodes, in volts"
        _write(measured, out, count)
        return
    if frames > 1:
        raise InputError("--frames needs --electrodes: the paper's currents are of one frame")
    # Between electrodes nothing of the grid is left to see, so a coarse one would only cost accuracy.
    grid = domain.at(max(n, _FINE) if points else n)
    (inclusions,) = _chosen(phantom, random, grid, 1, rate)
    made, solver = _potentials(inclusions, grid, currents, tau, seed, points, str(phantom or ""))
    at = points or grid.boundary_size
    _write(made, out, f"{currents} currents at {at} points, τ = {tau:g}, {solver} solver")


_OF_ELECTRODES = {
    "pattern": "adjacent",
    "readings": "adjacent",
    "driven": False,
    "rotating": False,
    "current": 1e-3,
    "coverage": 0.5,
    "impedance": 1e-6,
    "first": 0.0,
    "clockwise": False,
    "scale": None,
    "height": 1.0,
    "snr": math.inf,
    "rate": 1.0,
    "references": 1,
}
_OF_CURRENTS = {"currents": 3, "points": 0, "n": _FINE}
"""The options that one kind of data alone has, with what they are where nobody says."""


def _refuse_unused(electrodes: int, of_electrodes: tuple[Any, ...], of_currents: tuple[Any, ...]) -> None:
    """Refuse an option that the data asked for have no use for: ignored in silence, it would mislead."""
    known, given = (_OF_CURRENTS, of_currents) if electrodes else (_OF_ELECTRODES, of_electrodes)
    for (name, usual), value in zip(known.items(), given, strict=True):
        if value != usual:
            need = (
                "is of the paper's currents: leave it or --electrodes out"
                if electrodes
                else "needs --electrodes"
            )
            raise InputError(f"--{name} {need}")


def _chosen(path: Path | None, seed: int | None, body: "Domain", frames: int, rate: float) -> "list[Phantom]":
    """Take the phantoms of all frames from a file, or draw a random one."""
    from eitlens.phantom import EllipseSampler, sequence
    from eitlens.phantom.files import LARGEST_FILE

    if path is not None and seed is None:
        content, where = read_bytes(path, LARGEST_FILE + 1, "give a phantom as JSON (docs/measurements.md)")
        return sequence.parse(content, where, body, frames, rate)
    if path is None and seed is not None:
        return [EllipseSampler(seed=seed, disjoint=True).phantom(0)] * frames
    raise InputError("give a phantom as a JSON file, or --random SEED, and not both")


def _readings(
    tank: "TankConfig",
    body: "Domain",
    frames: "list[Phantom]",
    snr: float,
    tau: float,
    seed: int,
    references: int,
    rate: float,
) -> "Measurement":
    """The readings of even electrodes."""
    from eitlens.measure.simulation import simulated

    electrodes, pattern = tank.build(body)
    with Console(stderr=True).status("simulating …"):  # standard output may be a pipe
        return simulated(electrodes, pattern, frames, tank.height, snr, tau, seed, references, rate)


def _potentials(
    phantom: "Phantom", domain: "Domain", currents: int, tau: float, seed: int, points: int, where: str
) -> "tuple[Measurement, str]":
    """The paper's data: potentials at the nodes of the grid, or at even points; and the name of the solver."""
    from eitlens.forward.automatic import simulate
    from eitlens.forward.currents import cosine
    from eitlens.measure.points import measured

    g = cosine(domain, currents)
    with Console(stderr=True).status("simulating …"), prefix_errors(where):
        clean, solver = simulate(phantom, domain, g)
    return measured(domain, g, clean, phantom.outside, tau, seed, points), solver


def _write(measurement: "Measurement", out: Path, what: str) -> None:
    from eitlens.measure import files
    from eitlens.measure.formats import text

    if str(out) == "-":
        sys.stdout.buffer.write(text.write(measurement.to_dict()))
        sys.stdout.buffer.flush()
        return
    files.write(measurement, out)
    say(Console(), f"{what}: ", out)
