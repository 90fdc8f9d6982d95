"""`eitlens train`: train a network; stopped or killed and started again, it goes on where it was."""

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

    from eitlens.train import TrainConfig

CURVE = "learning_curve.png"


def train(
    out: Annotated[Path, typer.Option(help="Folder of the run; the same command again goes on with it.")],
    preset: Annotated[str, typer.Option(help="Recipe: paper, flagship, uit-small or smoke.")] = "paper",
    config: Annotated[Path | None, typer.Option(help="A JSON file instead of a preset.")] = None,
    data: Annotated[Path | None, typer.Option(help="Folder of a data set.")] = None,
    stream: Annotated[str | None, typer.Option(help="Or endless data: the name of a data preset.")] = None,
    network: Annotated[str | None, typer.Option(help="Which network; `eitlens models` lists them.")] = None,
    currents: Annotated[int | None, typer.Option(min=1, help="Use the first so many currents.")] = None,
    tau: Annotated[list[float] | None, typer.Option(help="Noise level; several for a mixture.")] = None,
    batch: Annotated[int | None, typer.Option(min=1, help="Samples a step, over all processes.")] = None,
    epochs: Annotated[float | None, typer.Option(help="How long to train: in epochs,")] = None,
    samples: Annotated[int | None, typer.Option(help="in samples,")] = None,
    minutes: Annotated[float | None, typer.Option(help="or in minutes of training.")] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="Any other setting, as schedule.lr=5e-4.")
    ] = None,
    stop_after: Annotated[
        float | None, typer.Option(help="Minutes until it stops; the same command goes on.")
    ] = None,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:k.")] = "auto",
    logger: Annotated[list[str] | None, typer.Option(help="tensorboard or wandb, too.")] = None,
    export: Annotated[
        Path | None, typer.Option(help="Copy 16-bit weights and results here, also of a finished run.")
    ] = None,
    test: Annotated[bool, typer.Option(help="Evaluate on the test split at the end.")] = True,
) -> None:
    """Train a network and keep its weights, log and result in a folder.

    Example: eitlens train --preset smoke --out runs/smoke
    """
    from rich.console import Console

    from eitlens.cli.show import say
    from eitlens.errors import InputError
    from eitlens.files import check_writable
    from eitlens.train import train as fit
    from eitlens.train.folder import RunFolder
    from eitlens.train.loggers import create_logger

    changes = _changes(data, stream, network, currents, tau, batch, (epochs, samples, minutes))
    recipe = _recipe(preset, config, changes, settings or [])
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
    asked = logger if _rank() == 0 else None  # the first process logs for all
    observers = [create_logger(name, recipe, out) for name in asked or []]
    try:
        with progress_bar(console) as bar:
            observers.append(observer(bar, recipe))
            result = fit(recipe, out, device, limit, tuple(observers))
    except KeyboardInterrupt:
        say(console, "interrupted; the same command goes on from the last checkpoint: ", out)
        raise typer.Exit(130) from None
    if _rank() > 0:
        return
    draw_curve(out)
    if result is None:
        say(console, "stopped; the same command goes on: ", out)
    elif test:
        from eitlens.cli.evaluate import evaluate

        evaluate(out, more=[], tau=list(recipe.noise.levels), device=device)
    if export is not None:
        _export(console, out, export)
    if result is not None:
        say(console, "run: ", out)


def _changes(
    data: Path | None,
    stream: str | None,
    network: str | None,
    currents: int | None,
    tau: list[float] | None,
    batch: int | None,
    length: tuple[float | None, int | None, float | None],
) -> dict[str, Any]:
    """The options given, as settings by their full names."""
    from eitlens.dataset import preset

    named = {"network.preset": network, "data.currents": currents, "batch": batch}
    changes: dict[str, Any] = {key: value for key, value in named.items() if value is not None}
    if data is not None:
        changes |= {"data.folder": str(data), "data.stream": None}
    if stream is not None:
        changes |= {"data.folder": "", "data.stream": preset(stream).to_dict()}
    if tau:
        changes |= {"noise.levels": tau, "noise.draw": "set"}
    names = ("epochs", "samples", "minutes")
    if any(value is not None for value in length):
        changes |= {name: value or 0 for name, value in zip(names, length, strict=True)}
    return changes


def _recipe(preset: str, config: Path | None, changes: dict[str, Any], settings: list[str]) -> "TrainConfig":
    from eitlens.train import TrainConfig
    from eitlens.train import preset as named

    values = (named(preset) if config is None else TrainConfig.read(config)).to_dict()
    for key, value in [*changes.items(), *map(_setting, settings)]:
        *parents, last = key.split(".")
        place = values
        for parent in parents:
            inner = place.get(parent)
            place[parent] = place = inner if isinstance(inner, dict) else {}
        place[last] = value
    return TrainConfig.from_dict(values)


def budget(option: str, minutes: float | None) -> float:
    """Minutes an option gives, all the time there is where it is left out."""
    from eitlens.errors import InputError

    if minutes is None:
        return math.inf
    if not 0 <= minutes < math.inf:
        raise InputError(f"{option} {minutes:g}: give minutes >= 0, or leave it out for no limit")
    return minutes


def _setting(text: str) -> tuple[str, Any]:
    from eitlens.errors import InputError

    key, equals, value = text.partition("=")
    if not equals:
        raise InputError(f"--set {text}: expected key=value, as schedule.lr=5e-4")
    try:
        return key, json.loads(value)
    except ValueError:
        return key, value


def progress_bar(console: "Console") -> "Progress":
    """How much of a run is done, how well and how fast it goes."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.percentage:.1f} %"),
        TextColumn("{task.fields[told]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
        disable=_rank() > 0 or not console.is_terminal,
    )


def observer(bar: "Progress", recipe: "TrainConfig") -> Any:
    """Moves the bar with each row, and leaves a line for each validation."""
    from eitlens.cli.show import say

    task = bar.add_task(recipe.network.preset, total=1.0, told="")

    def observe(row: dict[str, float]) -> None:
        told = f"loss {row['loss']:.4f}, {row['images_per_second']:.0f} images/s"
        bar.update(task, completed=row["progress"], told=told)
        if "soft_dice" in row:
            say(
                bar.console,
                f"step {row['step']}, {row['seconds'] / 60:.1f} min: {told}; validation: CE "
                f"{row['cross_entropy']:.4f}, paper L2 {row['paper_l2']:.4f}, Dice {row['soft_dice']:.4f}",
            )

    return observe


def _rank() -> int:
    import os

    return int(os.environ.get("RANK", "0"))


def draw_curve(folder: Path) -> None:
    """The learning curve of a run or a cell, beside its log."""
    from eitlens.figures.training import learning_curve
    from eitlens.train.folder import RunFolder, read_log

    rows = read_log(RunFolder(folder).log)
    if rows:
        learning_curve(rows, folder / CURVE)


def _export(console: "Console", run: Path, target: Path) -> None:
    """What there is to bring home: weights, configuration, log, results; the first process brings it for all."""
    from eitlens.cli.show import say
    from eitlens.models.trained import save_compact

    if _rank() > 0:
        return
    for name in ("best", "last"):
        if (run / f"{name}.safetensors").exists():
            save_compact(run, name, target)
    for file in (*run.glob("*.json"), *run.glob("*.csv"), *run.glob("*.png")):
        (target / file.name).write_bytes(file.read_bytes())
    say(console, "exported: ", target)
