"""Training: recipes, the loop, and the folder a run leaves behind."""

from eitlens.train.config import NetworkConfig, SourceConfig, TrainConfig
from eitlens.train.loggers import Observer
from eitlens.train.loop import train
from eitlens.train.presets import PRESETS, preset
from eitlens.train.schedule import Schedule

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
