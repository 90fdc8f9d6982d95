"""An endless supply of new samples, simulated on the training device while the network trains.

Batch k is a pure function of (configuration, seed, k): a run that is killed goes on with the very samples it
would have seen. Samples are simulated in blocks, as a GPU needs hundreds of systems at once to be busy, and
one block ahead.
"""

from dataclasses import dataclass

import torch

from eitlens.checks import at_least
from eitlens.dataset.config import DataConfig
from eitlens.dataset.samples import Samples
from eitlens.dataset.simulate import Simulator
from eitlens.domain.base import CPU
from eitlens.errors import InputError
from eitlens.feed.order import shuffled
from eitlens.feed.prefetch import Ahead

# Numbers beyond those of any data set: a stream with a data set's seed still shares no sample with it.
_FIRST = 1 << 40


@dataclass(frozen=True)
class StreamConfig:
    """What a stream yields.

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
    """The samples of one step and which time they are shown: noise is a function of (epoch, index)."""

    samples: Samples
    epoch: int


class Stream:
    """`stream(k)` is batch k of this process: the same in any order, ready without waiting in order."""

    def __init__(
        self,
        config: StreamConfig,
        device: torch.device = CPU,
        rank: int = 0,
        world: int = 1,
        ahead: bool | None = None,
    ) -> None:
        if config.batch % world:
            raise InputError(
                f"batch of {config.batch} cannot be shared by {world} processes: choose a multiple of {world}"
            )
        self.config, self.rank = config, rank
        self.local = config.batch // world
        if config.block % self.local:
            raise InputError(
                f"block of {config.block}: expected a multiple of {self.local} samples, a process's batch"
            )
        self._simulate = Simulator.build(config.data, device, config.seed)
        # On a CPU a second thread would take the cores from the network.
        self._ahead = (
            Ahead(self._block, device) if (device.type == "cuda" if ahead is None else ahead) else None
        )
        self._kept: tuple[int, Samples] | None = None

    def __call__(self, k: int) -> Batch:
        """Batch k."""
        steps = self.config.block // self.local
        block, step = divmod(k, steps * self.config.repeat)
        epoch, step = divmod(step, steps)
        samples = self._get(block)
        if epoch:
            rows = shuffled(self.config.block, self.config.seed + block, epoch).to(samples.index.device)
            return Batch(samples[rows[step * self.local : (step + 1) * self.local]], epoch)
        return Batch(samples[step * self.local : (step + 1) * self.local], epoch)

    def close(self) -> None:
        """Stop simulating ahead."""
        if self._ahead is not None:
            self._ahead.close()

    def _get(self, block: int) -> Samples:
        if self._kept is None or self._kept[0] != block:
            self._kept = (block, self._block(block) if self._ahead is None else self._ahead(block))
        return self._kept[1]

    def _block(self, block: int) -> Samples:
        """Position p of this process is row p mod local of its share of the global batch p // local."""
        position = torch.arange(block * self.config.block, (block + 1) * self.config.block)
        index = position // self.local * self.config.batch + self.rank * self.local + position % self.local
        return self._simulate(_FIRST + index)
