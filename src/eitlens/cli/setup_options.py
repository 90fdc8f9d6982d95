"""The options of a setup, for every command that reads a measurement.

    @with_setup
    def inspect(measurement: Annotated[str, typer.Argument()], setup: "Setup") -> None: ...

The command gets a parameter `setup`; on the command line there are --electrodes, --pattern and the others instead.
"""

import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

_PANEL = "The tank and its device, if the file does not say it"


def _option(text: str, *names: str) -> Any:
    return typer.Option(*names, help=text, rich_help_panel=_PANEL)


_Flag, _Text = bool | None, str | None
_OPTIONS: dict[str, Any] = {
    "setup_file": Annotated[
        Path | None, _option("A JSON file with any of these options, by name.", "--setup")
    ],
    "electrodes": Annotated[int | None, _option("Number of electrodes, evenly spaced.")],
    "pattern": Annotated[
        _Text, _option("What drives: adjacent, opposite, skip-3, all-against-1, trigonometric …")
    ],
    "readings": Annotated[_Text, _option("What is read: the same names as for --pattern, or mean.")],
    "driven": Annotated[_Flag, _option("Use also the readings at electrodes that drive.")],
    "rotating": Annotated[
        _Flag, _option("The readings of each stimulation begin at the electrode that drives.")
    ],
    "flipped": Annotated[_Flag, _option("Each reading is the second electrode less the first.")],
    "calibrated": Annotated[_Flag, _option("Each channel has a gain of its own, found from the reference.")],
    "current": Annotated[_Text, _option("Current in amperes, or with a unit: 5mA.")],
    "unit": Annotated[_Text, _option("Unit of the readings: V, mV or uV.")],
    "body": Annotated[_Text, _option("disk, thorax, the name of a body of a plug-in, or a .json file.")],
    "scale": Annotated[
        _Text, _option("Radius of a disk, or half the longer side of another body: metres, or 15cm.")
    ],
    "coverage": Annotated[float | None, _option("Share of the boundary under electrodes, 0 to 1.")],
    "impedance": Annotated[float | None, _option("Contact impedance, in Ω m².")],
    "first": Annotated[float | None, _option("Angle of electrode 1 in degrees; 90 is the top.")],
    "clockwise": Annotated[_Flag, _option("The electrodes' numbers run clockwise.")],
    "height": Annotated[_Text, _option("Height of the tank in metres, or 5cm.")],
    "conductivity": Annotated[_Text, _option("Conductivity of the empty tank, in S/m.")],
    "rate": Annotated[_Text, _option("Frames per second.")],
}


def with_setup(command: Callable[..., Any]) -> Callable[..., Any]:
    """The command with the options of a setup in place of its parameter `setup`."""
    own = inspect.signature(command, eval_str=False)
    kept = [part for name, part in own.parameters.items() if name != "setup"]
    more = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind)
        for name, kind in _OPTIONS.items()
    ]

    @functools.wraps(command)
    def run(*args: Any, **given: Any) -> Any:
        return command(*args, setup=_setup({name: given.pop(name, None) for name in _OPTIONS}), **given)

    run.__annotations__ = {name: kind for name, kind in command.__annotations__.items() if name != "setup"}
    run.__annotations__ |= _OPTIONS
    run.__signature__ = own.replace(parameters=[*kept, *more])  # type: ignore[attr-defined]
    return run


def _setup(given: dict[str, Any]) -> Any:
    from eitlens.measure import Setup

    path = given.pop("setup_file")
    told = Setup(**given)
    return told if path is None else told.over(Setup.load(path))
