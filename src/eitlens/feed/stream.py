"""New samples, simulated when they are needed: a range of a recipe, or an endless stream while a network trains.

Batch k of a stream is a pure function of (configuration, seed, k): a run that is killed goes on with the very samples
it would have seen. Samples are simulated in blocks, as a GPU needs hundreds of systems at once to be busy, and one in
advance.
"""

from dataclasses import dataclass, replace

import torch

from eitlens.checks import at_least
from eitlens.dataset.config import DataConfig
from eitlens.dataset.samples import Samples, concatenate
from eitlens.dataset.simulate import Simulator
from eitlens.domain.base import CPU
from eitlens.errors import InputError
from eitlens.feed.order import share, shuffled
from eitlens.feed.prefetch import Prefetcher

# Numbers beyond those of any data set: a stream with a data set's seed still shares no sample with it.
_FIRST = 1 << 40
_AT_ONCE = 256  # samples, each of which takes about 10 MB while it is solved


@dataclass(frozen=True)
class StreamConfig:
    """The settings of a stream.

    Attributes:
        data: phantoms, currents and solver, as for a data set; its counts and shards play no part.
        seed: of the samples.
        batch: samples in a global batch, over all processes.
        block: samples one process simulates at once, a multiple of its share of a batch; while a block is
            solved it takes about 10 MB a sample.
        repeat: how many times each sample is shown, in another order each time. More than once makes a slow
            solver affordable; noise and symmetries differ from time to time, as `Batch.epoch` does.
    """

    data: DataConfig
    seed: int = 0
    batch: int = 64
    block: int = 512
    repeat: int = 1

    def __post_init__(self) -> None:
        for name in ("batch", "block", "repeat"):
            at_least(f"stream: {name}", getattr(self, name), 1)


@dataclass(frozen=True)
class Batch:
    """The samples of one step and their epoch: noise is a function of (epoch, index)."""

    samples: Samples
    epoch: int


class Stream:
    """`stream(k)` is batch k of this process, the same in whichever order batches are asked for."""

    def __init__(
        self,
        config: StreamConfig,
        device: torch.device = CPU,
        rank: int = 0,
        world: int = 1,
        prefetch: bool | None = None,
    ) -> None:
        self.config, self.rank, self.local = config, rank, share(config.batch, world)
        if config.block % self.local:
            raise InputError(
                f"block of {config.block}: expected a multiple of {self.local} samples, a process's batch"
            )
        self._simulate = Simulator.build(config.data, device, config.seed)
        self._blocks = Prefetcher(self._block, device, threaded=prefetch)

    def __call__(self, k: int) -> Batch:
        """Batch k."""
        steps = self.config.block // self.local
        block, step = divmod(k, steps * self.config.repeat)
        epoch, step = divmod(step, steps)
        samples = self._blocks(block)
        rows = slice(step * self.local, (step + 1) * self.local)
        if epoch:
            order = shuffled(self.config.block, self.config.seed + block, epoch)
            return Batch(samples[order[rows].to(samples.index.device)], epoch)
        return Batch(samples[rows], epoch)

    def close(self) -> None:
        """Stop simulating in advance."""
        self._blocks.close()

    def _block(self, block: int) -> Samples:
        """Simulate a block: position p is row p mod local of this process's share of the global batch p // local."""
        position = torch.arange(block * self.config.block, (block + 1) * self.config.block)
        index = position // self.local * self.config.batch + self.rank * self.local + position % self.local
        return self._simulate(_FIRST + index)


def simulate_range(recipe: DataConfig, start: int, stop: int, device: torch.device) -> Samples:
    """Simulate samples start … stop - 1 of a recipe, as `eitlens generate` makes them; without their phantoms."""
    if stop <= start:
        raise InputError(f"{recipe.name}: this split is empty: give it samples")
    simulator = Simulator.build(recipe, device)
    parts = [simulator(index) for index in torch.split(torch.arange(start, stop), _AT_ONCE)]
    return replace(concatenate(parts), phantoms=None)
