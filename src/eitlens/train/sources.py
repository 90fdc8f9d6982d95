"""Sources of the samples of each step: a data set in memory, or a stream."""

from dataclasses import replace
from typing import Protocol

from torch import Tensor

from eitlens.dataset import Samples
from eitlens.feed import Batch, Stream, StreamConfig, batches
from eitlens.train.processes import Processes

_STREAM_INTERVAL = 500  # steps: a stream has no epochs; the paper's are of 864 steps


class Source(Protocol):
    """`source(k)` is this process's share of the batch of step k, a pure function of k."""

    interval: int
    """Steps of an epoch, or of what is taken for one."""

    def __call__(self, step: int) -> Batch: ...  # noqa: D102

    def close(self) -> None: ...  # noqa: D102


class MemorySource:
    """Samples on the device, in a new order each epoch."""

    def __init__(self, samples: Samples, batch: int, seed: int, processes: Processes) -> None:
        self.samples, self.batch, self.seed, self.processes = samples, batch, seed, processes
        self._order = (0, self._rows(0))
        self.interval = len(samples) // batch

    def __call__(self, step: int) -> Batch:
        """The samples of a step."""
        epoch, step = divmod(step, self.interval)
        if self._order[0] != epoch:
            self._order = (epoch, self._rows(epoch))
        return Batch(self.samples[self._order[1][step]], epoch)

    def _rows(self, epoch: int) -> Tensor:
        rank, world = self.processes.rank, self.processes.world
        rows = batches(len(self.samples), self.batch, self.seed, epoch, rank, world)
        return rows.to(self.samples.index.device)

    def close(self) -> None:
        """Do nothing: there is no thread to stop."""


class StreamSource:
    """A source of new samples without end."""

    interval = _STREAM_INTERVAL

    def __init__(self, config: StreamConfig, processes: Processes) -> None:
        self._stream = Stream(config, processes.device, processes.rank, processes.world)

    def __call__(self, step: int) -> Batch:
        """The samples of a step."""
        batch = self._stream(step)
        return replace(
            batch, samples=replace(batch.samples, phantoms=None)
        )  # a step would gather them in vain

    def close(self) -> None:
        """Stop simulating in advance."""
        self._stream.close()
