"""The report of a training on a terminal: a bar, a line for each validation, and the learning curve as a picture."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from eitlens.cli.show import say

if TYPE_CHECKING:
    from rich.progress import Progress

    from eitlens.train import Observer, TrainConfig

CURVE = "learning_curve.png"


def progress_bar(console: Console) -> "Progress":
    """A bar of how much of a run is done, how well and how fast it goes."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.percentage:.1f} %"),
        TextColumn("{task.fields[told]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
        disable=rank() > 0 or not console.is_terminal,
    )


def observer(bar: "Progress", recipe: "TrainConfig") -> "Observer":
    """An observer that moves the bar with each row, and leaves a line for each validation."""
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


def rank() -> int:
    """The number of this process among those that torchrun started; the first one reports for all."""
    return int(os.environ.get("RANK", "0"))


def draw_curve(folder: Path) -> None:
    """Draw the learning curve of a run or a cell, beside its log."""
    from eitlens.figures.training import learning_curve
    from eitlens.train.folder import RunFolder, read_log

    rows = read_log(RunFolder(folder).log)
    if rows:
        learning_curve(rows, folder / CURVE)
