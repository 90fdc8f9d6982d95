"""Loggers, which take the rows of the log besides the CSV file; a package is imported only if asked for."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from eitlens.checks import choose, installed
from eitlens.train.config import TrainConfig

Row = dict[str, float]
Observer = Callable[[Row], None]
"""Called with each row of the log."""
LOGGERS = ("tensorboard", "wandb")
_DIGITS = 16  # of a name: 64 bits, which no two folders share by chance


def create_logger(name: str, config: TrainConfig, folder: Path) -> Observer:
    """An observer that sends every row to TensorBoard or Weights & Biases."""
    choose("logger", name, LOGGERS)
    module = "torch.utils.tensorboard" if name == "tensorboard" else name
    package = installed(module, f"{name} is not installed: pip install {name}, or leave out --logger")
    return _tensorboard(package, folder) if name == "tensorboard" else _wandb(package, config, folder)


def _tensorboard(package: Any, folder: Path) -> Observer:
    writer = package.SummaryWriter(str(folder / "tensorboard"))

    def observe(row: Row) -> None:
        for name, value in row.items():
            writer.add_scalar(name, value, int(row["step"]))
        writer.flush()

    return observe


def _wandb(package: Any, config: TrainConfig, folder: Path) -> Observer:
    folder.mkdir(parents=True, exist_ok=True)
    place = folder.resolve()
    run = package.init(
        project="eitlens",
        name=place.name,
        # A resumed run keeps it, and a run elsewhere in a folder of the same name has another.
        id=hashlib.sha256(str(place).encode()).hexdigest()[:_DIGITS],
        dir=str(folder),
        config=config.to_dict(),
        resume="allow",
    )
    return lambda row: run.log(row, step=int(row["step"]))
