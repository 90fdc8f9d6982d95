"""A trained run for `eitlens evaluate` and `eitlens sweep`: its folder, its test data, the file of its scores."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from eitlens import weights
from eitlens.errors import InputError
from eitlens.files import check_writable, make_folder

if TYPE_CHECKING:
    from eitlens.train.supply import Supply

Run = Annotated[
    Path,
    typer.Argument(
        help="Folder of a run of `eitlens train`, or the name of a network that comes with the package."
    ),
]
Out = Annotated[
    Path | None, typer.Option(help="A .json file for the scores; by default one in the folder of the run.")
]


def run_folder(run: Path) -> Path:
    """The folder of a run, or of a network of the package by its name."""
    return run if weights.is_folder(str(run)) else weights.find(run)


def score_file(folder: Path, name: str, out: Path | None) -> Path:
    """The file of the scores, checked before they are computed; their picture goes beside it."""
    if out is None and weights.owns(folder):
        raise InputError(
            f"{folder}: a network of the package keeps the scores it came with: say where these go, as --out {name}"
        )
    target = folder / name if out is None else out
    if target.suffix != ".json":
        raise InputError(f"{target}: scores are written as JSON: give a name that ends in .json")
    for file in (target, target.with_suffix(".png")):
        check_writable(file)
    make_folder(target.parent)
    return target


@contextmanager
def score_lock(target: Path) -> Iterator[None]:
    """Hold the file of the scores while new ones are added to it; wait for a process that does so now."""
    from eitlens.train.lock import lock_file

    with lock_file(target.with_name(f".{target.name}.lock"), wait=True):
        yield


def open_supply(run: Path, data: Path | None) -> "Supply":
    """The test data: the data set given, else the data set of the run, or its recipe if the set is not here."""
    from dataclasses import replace

    from eitlens.train import SourceConfig, TrainConfig
    from eitlens.train.folder import RunFolder
    from eitlens.train.supply import Supply

    if data is not None:
        return Supply.open(SourceConfig(folder=str(data)))
    source, recipe = TrainConfig.read(run / "config.json").data, RunFolder(run).recipe()
    if source.folder and recipe is not None and not Path(source.folder).exists():
        source = replace(source, folder="", stream=recipe)
    return Supply.open(source)
