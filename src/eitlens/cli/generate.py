"""`eitlens generate`: make a data set; if interrupted, the same command continues, and ends in the same bytes."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from eitlens.cli.show import progress_bar, say

if TYPE_CHECKING:
    from eitlens.dataset import DataConfig


def generate(
    out: Annotated[Path, typer.Option(help="Folder of the data set; created if it does not exist.")],
    preset: Annotated[
        str,
        typer.Option(
            help="Name of the data set: paper, paper-disjoint, paper-both, worlds, worlds-smoke or smoke."
        ),
    ] = "paper",
    config: Annotated[Path | None, typer.Option(help="A JSON file, instead of a preset.")] = None,
    shard: Annotated[
        str | None,
        typer.Option(help="Make only part i of N, written i/N; under torchrun this is set for you."),
    ] = None,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:k.")] = "auto",
    workers: Annotated[
        int | None, typer.Option(min=1, help="Number of CPU threads; by default one for each core.")
    ] = None,
) -> None:
    """Simulate a data set: phantoms, boundary data, masks or σ, in shards with checksums.

    Example: eitlens generate --preset smoke --out data/smoke
    """
    from eitlens.dataset import Part
    from eitlens.dataset import generate as make

    chosen = recipe(preset, config)
    part = Part.of_process() if shard is None else Part.parse(shard)
    # Under torchrun one bar is enough; errors of the others still show.
    console = Console(quiet=shard is None and part.index > 0)
    with progress_bar(console) as bar:
        task = bar.add_task(chosen.name, total=None)

        def told(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)

        report = make(chosen, out, part, device, workers, told)
    for name in report.replaced:
        say(console, f"{out / name} was damaged and has been made again")
    say(console, f"{report.made} samples made, {report.kept} were there already")
    if report.complete:
        say(console, "data set: ", out)
    else:
        say(console, "this part is done; the manifest is written when all parts are")


def recipe(preset: str, config: Path | None) -> "DataConfig":
    """From a JSON file, or a preset where none is given."""
    from eitlens.dataset import DataConfig
    from eitlens.dataset import preset as named

    return named(preset) if config is None else DataConfig.read(config)
