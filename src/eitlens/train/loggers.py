"""Where rows of the log go besides the CSV file; each package is imported only if asked for."""

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
    """The same for a run that is resumed, and another for one elsewhere whose folder has the same name."""
    return hashlib.sha256(str(place).encode()).hexdigest()[:16]


def _package(module: str, package: str) -> Any:
    try:
        return import_module(module)
    except ImportError:
        raise InputError(
            f"{package} is not installed: pip install {package}, or leave out --logger"
        ) from None
