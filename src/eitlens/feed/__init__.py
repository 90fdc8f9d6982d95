"""From samples to the batches of a training step: noise, symmetries, order, prefetching, an endless stream."""

from eitlens.feed.noise_levels import Noise
from eitlens.feed.order import batches, shuffled
from eitlens.feed.pipeline import Example, Pipeline
from eitlens.feed.prefetch import Ahead
from eitlens.feed.stream import Batch, Stream, StreamConfig

__all__ = ["Ahead", "Batch", "Example", "Noise", "Pipeline", "Stream", "StreamConfig", "batches", "shuffled"]
