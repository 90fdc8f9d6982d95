"""Training: recipes, the loop, and the folder a run leaves behind. The only place that uses Lightning."""

from eitlens.train.config import NetworkConfig, SourceConfig, TrainConfig
from eitlens.train.loop import Observer, train
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
