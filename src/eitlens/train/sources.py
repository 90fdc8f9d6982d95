"""Where the samples of each step come from: a data set in memory, or a stream."""

import hashlib
from dataclasses import dataclass, replace
from typing import Protocol

import torch
from torch import Tensor

from eitlens.dataset import DataConfig, Dataset, Samples
from eitlens.dataset.config import Split
from eitlens.dataset.samples import concatenate
from eitlens.errors import InputError
from eitlens.evaluate.simulated import simulate
from eitlens.feed import Ahead, Batch, Example, Pipeline, Stream, StreamConfig, batches
from eitlens.forward.currents import CurrentsConfig
from eitlens.train.config import SourceConfig

_STREAM_INTERVAL = 500


@dataclass(frozen=True)
class Part:
    """Which of how many processes this one is."""

    rank: int = 0
    world: int = 1


class Source(Protocol):
    """`source(k)` is this process's share of the batch of step k, a pure function of k."""

    interval: int
    """Steps of an epoch, or of what is taken for one."""

    def __call__(self, step: int) -> Batch: ...  # noqa: D102

    def close(self) -> None: ...  # noqa: D102


class FolderSource:
    """The training split of a data set, on the device, in a new order each epoch."""

    def __init__(self, samples: Samples, batch: int, seed: int, part: Part) -> None:
        self.samples, self.batch, self.seed, self.part = samples, batch, seed, part
        self._order = (0, self._rows(0))
        self.interval = len(samples) // batch

    def __call__(self, step: int) -> Batch:
        """The samples of a step."""
        epoch, step = divmod(step, self.interval)
        if self._order[0] != epoch:
            self._order = (epoch, self._rows(epoch))
        return Batch(self.samples[self._order[1][step]], epoch)

    def _rows(self, epoch: int) -> Tensor:
        part, count = self.part, len(self.samples)
        rows = batches(count, self.batch, self.seed, epoch, part.rank, part.world)
        return rows.to(self.samples.index.device)

    def close(self) -> None:
        """Nothing to stop."""


class StreamSource:
    """New samples for ever."""

    interval = _STREAM_INTERVAL

    def __init__(self, config: StreamConfig, device: torch.device, part: Part) -> None:
        self._stream = Stream(config, device, part.rank, part.world)

    def __call__(self, step: int) -> Batch:
        """The samples of a step."""
        batch = self._stream(step)
        return Batch(_plain(batch.samples, 0), batch.epoch)

    def close(self) -> None:
        """Stop simulating ahead."""
        self._stream.close()


class Examples:
    """What the network is shown at step k; on a GPU it is made while the steps before are computed.

    Codes of many samples cost a GPU hardly more than those of few: it is the thousand small products one after
    the other that take time; and the host, which is busy with the steps, has fewer kernels to start. So examples
    are made for `group` steps at once; they are the same as one by one.
    """

    def __init__(
        self,
        source: Source,
        pipeline: Pipeline,
        device: torch.device,
        ahead: bool | None = None,
        group: int = 1,
    ) -> None:
        self._source, self._pipeline, self._group = source, pipeline, group
        wanted = device.type == "cuda" if ahead is None else ahead
        self._ahead = Ahead(self._make, device, depth=2 if group == 1 else 1) if wanted else None
        self._kept: tuple[int, list[Example]] | None = None

    def __call__(self, step: int) -> Example:
        """Features and target."""
        number, place = divmod(step, self._group)
        if self._kept is None or self._kept[0] != number:
            self._kept = (number, self._make(number) if self._ahead is None else self._ahead(number))
        return self._kept[1][place]

    def close(self) -> None:
        """Stop working ahead."""
        if self._ahead is not None:
            self._ahead.close()
        self._source.close()

    def _make(self, number: int) -> list[Example]:
        batches = [self._source(step) for step in range(number * self._group, (number + 1) * self._group)]
        epochs = {batch.epoch for batch in batches}
        if len(epochs) > 1 or self._group == 1:
            return [self._pipeline(batch.samples, batch.epoch) for batch in batches]
        together = self._pipeline(concatenate([batch.samples for batch in batches]), epochs.pop())
        return together.split(len(batches[0].samples))


@dataclass(frozen=True)
class Supply:
    """The data of a run: grid, currents and samples by split."""

    config: SourceConfig
    n: int
    currents: CurrentsConfig
    dataset: Dataset | None
    body: str = "square"

    @staticmethod
    def open(config: SourceConfig) -> "Supply":
        """Open the data set or read the stream's recipe."""
        if config.stream is not None:
            return Supply(config, config.stream.n, _first(config, config.stream.currents), None)
        if not config.folder:
            raise InputError("no data: give a data set (--data DIR) or a stream")
        dataset = Dataset.open(config.folder)
        return Supply(config, dataset.manifest.n, _first(config, dataset.manifest.currents), dataset)

    def source(self, batch: int, seed: int, device: torch.device, part: Part) -> Source:
        """The source of training samples."""
        if self.dataset is not None:
            return FolderSource(self.split("train", device), batch, seed, part)
        if self.config.bank:
            return FolderSource(self.bank(seed, device), batch, seed, part)
        local = max(1, batch // part.world)
        # The nearest whole number of a process's batches: nobody should have to work that out.
        block = max(1, round(self.config.block / local)) * local
        return StreamSource(StreamConfig(self._recipe, seed, batch, block, self.config.repeat), device, part)

    def bank(self, seed: int, device: torch.device) -> Samples:
        """The first samples of the stream, simulated at once."""
        stream = Stream(
            StreamConfig(self._recipe, seed, self.config.block, self.config.block), device, ahead=False
        )
        blocks = -(-self.config.bank // self.config.block)
        parts = [replace(stream(k).samples, phantoms=None) for k in range(blocks)]
        return concatenate(parts)[: self.config.bank]

    def split(self, name: Split, device: torch.device, limit: int = 0) -> Samples:
        """The samples of a split; those of a stream are simulated."""
        asked = {"train": self.config.train, "validation": self.config.validation, "test": 0}[name]
        most = min((value for value in (asked, limit) if value), default=None)
        if self.dataset is not None:
            return _plain(self.dataset.split(name, device, most), self.currents.count)
        start, stop = self._recipe.ranges[name]
        return simulate(self._recipe, start, stop if most is None else min(stop, start + most), device)

    @property
    def training(self) -> int | None:
        """Training samples there are; None for new ones for ever."""
        if self.dataset is None:
            return self.config.bank or None
        start, stop = self.dataset.manifest.splits["train"]
        return min(stop - start, self.config.train or stop - start)

    @property
    def digest(self) -> str:
        """A name for exactly these data: of their recipe, or of the files of an imported set."""
        if self.recipe is not None:
            return self.recipe.digest
        assert self.dataset is not None
        sums = "".join(shard.sha256 for shard in self.dataset.manifest.shards)
        return hashlib.sha256(sums.encode()).hexdigest()

    @property
    def name(self) -> str:
        """What the data are called."""
        return self._recipe.name if self.dataset is None else self.dataset.manifest.name

    @property
    def recipe(self) -> DataConfig | None:
        """How the samples are made; None for an imported data set."""
        return self.config.stream if self.dataset is None else self.dataset.config

    @property
    def _recipe(self) -> DataConfig:
        assert self.config.stream is not None
        return replace(self.config.stream, currents=self.currents)


def _plain(samples: Samples, currents: int) -> Samples:
    """Without the phantoms, which a step would gather in vain, and with the first currents only."""
    kept = samples.difference[:, :currents].contiguous() if currents else samples.difference
    return replace(samples, phantoms=None, difference=kept)


def _first(config: SourceConfig, currents: CurrentsConfig) -> CurrentsConfig:
    if config.currents > currents.count:
        raise InputError(f"data: the first {config.currents} currents asked for, there are {currents.count}")
    return replace(currents, count=config.currents or currents.count)
