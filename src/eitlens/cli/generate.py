"""`eitlens generate`: make a data set; killed and started again, it goes on and ends in the same bytes."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.progress import Progress

    from eitlens.data import DataConfig


def generate(
    out: Annotated[Path, typer.Option(help="Folder of the data set; created if need be.")],
    preset: Annotated[str, typer.Option(help="Which data set: paper, paper-disjoint or smoke.")] = "paper",
    config: Annotated[Path | None, typer.Option(help="A JSON file instead of a preset.")] = None,
    shard: Annotated[str | None, typer.Option(help="Only part i of N, as i/N; torchrun sets it.")] = None,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:k.")] = "auto",
    workers: Annotated[
        int | None, typer.Option(min=1, help="Threads on a CPU; all cores by default.")
    ] = None,
) -> None:
    """Simulate a data set: phantoms, boundary data and masks, in shards with checksums.

    Example: eitlens generate --preset smoke --out data/smoke
    """
    from rich.console import Console

    from eitlens.data import Part
    from eitlens.data import generate as make

    recipe = _recipe(preset, config)
    part = Part.of_process() if shard is None else Part.parse(shard)
    # Under torchrun one bar is enough; errors of the others still show.
    console = Console(quiet=shard is None and part.index > 0)
    with progress_bar(console) as bar:
        task = bar.add_task(f"{recipe.name}", total=None)
        report = make(
            recipe,
            out,
            part,
            device,
            workers,
            lambda done, total: bar.update(task, completed=done, total=total),
        )
    for name in report.replaced:
        console.print(f"{out / name} was damaged and has been made again", highlight=False)
    console.print(f"{report.made} samples made, {report.kept} were there", highlight=False)
    whole = f"data set: [bold]{out}[/bold]"
    waiting = "this part is done; the manifest is written when all parts are"
    console.print(whole if report.complete else waiting, highlight=False)


def progress_bar(console: object) -> "Progress":
    """Samples done, rate and time left."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn
    from rich.progress import TimeRemainingColumn as TimeLeft
    from rich.text import Text

    class Rate(ProgressColumn):
        """Samples a second."""

        def render(self, task: Task) -> Text:
            return Text(f"{task.speed:.1f}/s" if task.speed else "–/s")

    assert isinstance(console, Console)
    # The speed is a mean over two minutes: shards found on disk would look like lightning otherwise.
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        Rate(),
        TimeLeft(),
        console=console,
        speed_estimate_period=120,
    )


def _recipe(preset: str, config: Path | None) -> "DataConfig":
    import json

    from eitlens.data import DataConfig
    from eitlens.data import preset as named
    from eitlens.errors import InputError

    if config is None:
        return named(preset)
    try:
        return DataConfig.from_dict(json.loads(config.read_text()))
    except OSError as error:
        raise InputError(f"{config}: {error.strerror}: see docs/data_format.md for an example") from None
    except ValueError as error:
        if isinstance(error, InputError):
            raise InputError(f"{config}: {error}") from None
        raise InputError(
            f"{config}: not a JSON file ({error}): see docs/data_format.md for an example"
        ) from None
