"""Training: recipes, the loop, and the folder a run leaves behind. The only place that uses Lightning.

`train` is imported on first use: reading the configuration of a run needs no Lightning.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from eitlens.train.config import NetworkConfig, SourceConfig, TrainConfig
from eitlens.train.loggers import Observer
from eitlens.train.presets import PRESETS, preset
from eitlens.train.schedule import Schedule

if TYPE_CHECKING:
    from eitlens.train.loop import train

__all__ = [
    "PRESETS",
    "NetworkConfig",
    "Observer",
    "Schedule",
    "SourceConfig",
    "TrainConfig",
    "preset",
    "train",
]


def __getattr__(name: str) -> object:
    if name == "train":
        try:
            return import_module("eitlens.train.loop").train
        except ModuleNotFoundError as error:
            if not (error.name or "").startswith("lightning"):
                raise
            from eitlens.errors import InputError

            raise InputError("training needs Lightning: pip install 'eitlens[train]'") from None
    raise AttributeError(f"module 'eitlens.train' has no attribute {name!r}")
