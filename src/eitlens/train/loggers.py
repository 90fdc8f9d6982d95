"""Loggers, which take the rows of the log besides the CSV file; a package is imported only if asked for."""

import hashlib
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from eitlens.checks import choose
from eitlens.errors import InputError
from eitlens.train.config import TrainConfig

Row = dict[str, float]
Observer = Callable[[Row], None]
"""Called with each row of the log."""
LOGGERS = ("tensorboard", "wandb")
_DIGITS = 16  # of a name: 64 bits, which no two folders share by chance


def create_logger(name: str, config: TrainConfig, folder: Path) -> Observer:
    """An observer that sends every row to TensorBoard or Weights & Biases."""
    choose("logger", name, LOGGERS)
    return _tensorboard(folder) if name == "tensorboard" else _wandb(config, folder)


def _tensorboard(folder: Path) -> Observer:
    writer = _package("torch.utils.tensorboard", "tensorboard").SummaryWriter(str(folder / "tensorboard"))

    def observe(row: Row) -> None:
        for name, value in row.items():
            writer.add_scalar(name, value, int(row["step"]))
        writer.flush()

    return observe


def _wandb(config: TrainConfig, folder: Path) -> Observer:
    wandb = _package("wandb", "wandb")
    folder.mkdir(parents=True, exist_ok=True)
    place = folder.resolve()
    run = wandb.init(
        project="eitlens",
        name=place.name,
        id=_identity(place),
        dir=str(folder),
        config=config.to_dict(),
        resume="allow",
    )
    return lambda row: run.log(row, step=int(row["step"]))


def _identity(place: Path) -> str:
    """A name that a resumed run keeps, and that a run elsewhere in a folder of the same name does not have."""
    return hashlib.sha256(str(place).encode()).hexdigest()[:_DIGITS]


def _package(module: str, package: str) -> Any:
    try:
        return import_module(module)
    except ImportError:
        raise InputError(
            f"{package} is not installed: pip install {package}, or leave out --logger"
        ) from None
