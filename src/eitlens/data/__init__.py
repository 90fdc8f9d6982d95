"""Data sets: their format, the generator, the reader, the endless stream, and what a network is fed with."""

from eitlens.data.ahead import Ahead
from eitlens.data.check import check
from eitlens.data.codes import Codes
from eitlens.data.config import CurrentsConfig, DataConfig, SamplerConfig, SolverConfig, Split
from eitlens.data.dataset import Dataset
from eitlens.data.device import available_cores, pick_device
from eitlens.data.features import Features
from eitlens.data.generate import Part, generate
from eitlens.data.noise import Noise
from eitlens.data.order import batches, shuffled
from eitlens.data.pipeline import Example, Pipeline
from eitlens.data.presets import PRESETS, preset
from eitlens.data.samples import Samples
from eitlens.data.stream import Batch, Stream, StreamConfig
from eitlens.data.symmetry import symmetries

__all__ = [
    "PRESETS",
    "Ahead",
    "Batch",
    "Codes",
    "CurrentsConfig",
    "DataConfig",
    "Dataset",
    "Example",
    "Features",
    "Noise",
    "Part",
    "Pipeline",
    "SamplerConfig",
    "Samples",
    "SolverConfig",
    "Split",
    "Stream",
    "StreamConfig",
    "available_cores",
    "batches",
    "check",
    "generate",
    "pick_device",
    "preset",
    "shuffled",
    "symmetries",
]
