"""Data sets on disk: their configuration, the generator, the reader and the check."""

from eitlens.dataset.check import check
from eitlens.dataset.config import DataConfig, SamplerConfig, SolverConfig, Split
from eitlens.dataset.generate import Part, generate
from eitlens.dataset.presets import PRESETS, preset
from eitlens.dataset.read import Dataset
from eitlens.dataset.samples import Samples

__all__ = [
    "PRESETS",
    "DataConfig",
    "Dataset",
    "Part",
    "SamplerConfig",
    "Samples",
    "SolverConfig",
    "Split",
    "check",
    "generate",
    "preset",
]
