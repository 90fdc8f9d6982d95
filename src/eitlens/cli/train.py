"""`eitlens train`: train a network; it can be interrupted, and the same command continues."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from eitlens.cli.show import say
from eitlens.cli.train_options import budget, build_recipe, changed_settings
from eitlens.cli.train_report import draw_curve, observer, progress_bar, rank
from eitlens.errors import InputError
from eitlens.files import check_writable, copy_files


def train(
    out: Annotated[
        Path, typer.Option(help="Folder of the run; the same command continues a run that was stopped.")
    ],
    preset: Annotated[
        str,
        typer.Option(
            help="Name of the recipe: paper, flagship, flagship-both, uit-small, uit-endless, worlds, "
            "worlds-smoke or smoke."
        ),
    ] = "paper",
    config: Annotated[Path | None, typer.Option(help="A JSON file, instead of a preset.")] = None,
    data: Annotated[Path | None, typer.Option(help="Folder of a data set.")] = None,
    stream: Annotated[
        str | None, typer.Option(help="Simulate data without end instead: the name of a data preset.")
    ] = None,
    network: Annotated[
        str | None, typer.Option(help="Name of the network; `eitlens models` lists them.")
    ] = None,
    currents: Annotated[int | None, typer.Option(min=1, help="Use only the first so many currents.")] = None,
    tau: Annotated[list[float] | None, typer.Option(help="Noise level; repeat it for a mixture.")] = None,
    batch: Annotated[
        int | None, typer.Option(min=1, help="Samples in each step, of all processes together.")
    ] = None,
    epochs: Annotated[float | None, typer.Option(help="Length of the training in epochs,")] = None,
    samples: Annotated[int | None, typer.Option(help="or in samples,")] = None,
    minutes: Annotated[float | None, typer.Option(help="or in minutes of training.")] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="Any other setting, such as schedule.lr=5e-4.")
    ] = None,
    stop_after: Annotated[
        float | None, typer.Option(help="Stop after so many minutes; the same command continues.")
    ] = None,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:k.")] = "auto",
    logger: Annotated[list[str] | None, typer.Option(help="Log to tensorboard or wandb as well.")] = None,
    export: Annotated[
        Path | None,
        typer.Option(help="Copy 8-bit weights and results to this folder; works for a finished run, too."),
    ] = None,
    test: Annotated[bool, typer.Option(help="Evaluate on the test split at the end.")] = True,
) -> None:
    """Train a network and keep its weights, log and result in a folder.

    Example: eitlens train --preset smoke --out runs/smoke
    """
    from eitlens.train import train as fit
    from eitlens.train.folder import RunFolder
    from eitlens.train.loggers import create_logger

    changes = changed_settings(data, stream, network, currents, tau, batch, (epochs, samples, minutes))
    recipe = build_recipe(preset, config, changes, settings or [])
    console = Console()
    limit = budget("--stop-after", stop_after)
    if export is not None:
        if export.resolve() == out.resolve():
            raise InputError(
                f"{export}: is the run's own folder, whose weights have 32 bits: export to another"
            )
        check_writable(export / "config.json")
        if RunFolder(out).finished(recipe):
            _export(console, out, export)
            return
    asked = logger if rank() == 0 else None  # the first process logs for all
    observers = [create_logger(name, recipe, out) for name in asked or []]
    try:
        with progress_bar(console) as bar:
            observers.append(observer(bar, recipe))
            result = fit(recipe, out, device, limit, tuple(observers))
    except KeyboardInterrupt:
        say(console, "interrupted; the same command continues from the last checkpoint: ", out)
        raise typer.Exit(130) from None  # 128 + SIGINT, as shells count
    if rank() > 0:
        return
    draw_curve(out)
    if result is None:
        say(console, "stopped; the same command continues: ", out)
    elif test:
        from eitlens.cli.evaluate import evaluate

        evaluate(out, more=[], tau=list(recipe.noise.levels), device=device)
    if export is not None:
        _export(console, out, export)
    if result is not None:
        say(console, "run: ", out)


def _export(console: Console, run: Path, target: Path) -> None:
    """Copy 8-bit weights, configuration, log and results; the first process copies for all."""
    from eitlens.models.trained import save_compact

    if rank() > 0:
        return
    for name in ("best", "last"):
        if (run / f"{name}.safetensors").exists():
            save_compact(run, name, target)
    copy_files((*run.glob("*.json"), *run.glob("*.csv"), *run.glob("*.png")), target)
    say(console, "exported: ", target)
