"""From samples to the batches of a training step: noise, symmetries, order, prefetching, an endless stream."""

from eitlens.feed.noise_levels import Noise
from eitlens.feed.order import batches, shuffled
from eitlens.feed.pipeline import Example, Pipeline
from eitlens.feed.prefetch import Prefetcher
from eitlens.feed.stream import Batch, Stream, StreamConfig, simulate_range

__all__ = [
    "Batch",
    "Example",
    "Noise",
    "Pipeline",
    "Prefetcher",
    "Stream",
    "StreamConfig",
    "batches",
    "shuffled",
    "simulate_range",
]
