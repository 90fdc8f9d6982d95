"""The entry point: one line a command, and the user's mistakes as one line and exit status 2."""

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from eitlens import __version__
from eitlens.cli.benchmark import benchmark
from eitlens.cli.calibrate import calibrate
from eitlens.cli.check import check
from eitlens.cli.demo import demo
from eitlens.cli.doctor import doctor
from eitlens.cli.evaluate import evaluate, sweep
from eitlens.cli.export import export
from eitlens.cli.figures import figures
from eitlens.cli.generate import generate
from eitlens.cli.models import models
from eitlens.cli.reconstruct import reconstruct
from eitlens.cli.serve import serve
from eitlens.cli.simulate import simulate
from eitlens.cli.train import train
from eitlens.errors import ConvergenceError, InputError


class _Commands(TyperGroup):
    """Turns the library's errors into one line on the terminal."""

    def invoke(self, ctx: Any) -> object:
        try:
            return super().invoke(ctx)
        except (ConvergenceError, InputError) as error:
            typer.secho(f"error: {error}", fg=typer.colors.RED, err=True)
            raise typer.Exit(2) from None


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
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """See inside a body from measurements on its boundary."""


for command in (
    calibrate,
    check,
    demo,
    doctor,
    evaluate,
    export,
    figures,
    generate,
    models,
    reconstruct,
    serve,
    simulate,
    sweep,
    train,
):
    app.command()(command)
app.add_typer(benchmark, name="benchmark")
