"""The entry point: one line a command, and the user's mistakes as one line and exit status 2."""

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from eitlens import __version__
from eitlens.cli.benchmark import benchmark
from eitlens.cli.calibrate import calibrate
from eitlens.cli.check import check
from eitlens.cli.compare import SpreadMethods, compare
from eitlens.cli.demo import demo
from eitlens.cli.doctor import doctor
from eitlens.cli.evaluate import evaluate
from eitlens.cli.export import export
from eitlens.cli.figures import figures
from eitlens.cli.generate import generate
from eitlens.cli.inspect import inspect
from eitlens.cli.models import models
from eitlens.cli.reconstruct import reconstruct
from eitlens.cli.serve import serve
from eitlens.cli.simulate import simulate
from eitlens.cli.sweep import sweep
from eitlens.cli.train import train
from eitlens.errors import ConvergenceError, InputError, InputWarning

_UsageError: Any = typer.BadParameter.__base__
"""The error for a wrong word on the command line; newer versions of typer do not take it from click."""


@contextmanager
def _one_line() -> Iterator[None]:
    """The user's mistakes as one line and status 2."""
    try:
        yield
        return
    except (ConvergenceError, InputError) as error:
        reason = str(error)
    except _UsageError as error:
        if type(error).__name__ == "NoArgsIsHelpError":  # a group without a command: its message is the help
            raise
        command, message = error.ctx.command_path if error.ctx else "eitlens", error.format_message()
        reason = f"{message.rstrip('.')}: see {command} --help"
        if getattr(error, "option_name", "") == "--plugin":
            reason = "--plugin stands before the command: eitlens --plugin MODULE COMMAND …"
    except BrokenPipeError:  # whoever reads has enough
        raise
    except OSError as error:
        where = error.filename or "standard output"
        reason = f"{where}: {error.strerror or error}: check the disk, the path and its permissions"
        if not error.filename:  # what is left in it would fail again when Python ends
            sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115  to the end
    typer.secho(f"error: {' '.join(reason.split())}", fg=typer.colors.RED, err=True)
    raise typer.Exit(2)


class _Commands(TyperGroup):
    """The group of all commands; a mistake in it, in a command or in the library's input is one line."""

    def make_context(self, *args: Any, **options: Any) -> Any:
        with _one_line():
            return super().make_context(*args, **options)

    def invoke(self, ctx: Any) -> object:
        with _one_line(), warnings.catch_warnings():
            warnings.showwarning = _say_warning  # type: ignore[assignment]
            return super().invoke(ctx)


def _say_warning(message: Warning | str, category: type[Warning], *place: Any) -> None:
    """A doubt of the library in the words of the command line; other warnings are for its developers."""
    if issubclass(category, InputWarning):
        typer.secho(f"warning: {message}", fg=typer.colors.YELLOW, err=True)


app = typer.Typer(
    cls=_Commands,
    help="See inside a body from measurements on its boundary.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"eitlens {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    plugin: Annotated[
        list[str] | None,
        typer.Option(help="A Python module that registers your own bodies, methods …, or a body as JSON."),
    ] = None,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """See inside a body from measurements on its boundary."""
    for name in plugin or ():
        _imported(name)


def _imported(name: str) -> None:
    """Import a module of the user's, from the current folder too, as `python -m` would; a .json file is a body."""
    if name.endswith(".json"):
        import_module("eitlens.domain.bodies").chosen(name)
        return
    sys.path.insert(0, str(Path.cwd()))
    try:
        import_module(name)
    except ImportError as error:
        raise InputError(
            f"--plugin {name}: {error}: give a module's name, such as mine for mine.py here"
        ) from None
    finally:
        sys.path.pop(0)


_PANELS = {
    "From a measurement to an image": (demo, simulate, inspect, reconstruct, compare, serve),
    "Networks": (models, generate, check, train, evaluate, sweep, calibrate, export),
    "The paper": (figures,),
    "This machine": (doctor,),
}
for panel, commands in _PANELS.items():
    for command in commands:
        app.command(cls=SpreadMethods if command is compare else None, rich_help_panel=panel)(command)
app.add_typer(benchmark, name="benchmark", rich_help_panel="The paper")
