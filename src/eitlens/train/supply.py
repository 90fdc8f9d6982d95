"""The data of a run, from a data set on disk or a stream: grid, currents and the samples of each split."""

import hashlib
from dataclasses import dataclass, replace

import torch

from eitlens.dataset import DataConfig, Dataset, Samples
from eitlens.dataset.config import Split
from eitlens.dataset.samples import concatenate
from eitlens.errors import InputError
from eitlens.feed import Stream, StreamConfig, simulate_range
from eitlens.forward.currents import CurrentsConfig
from eitlens.train.config import SourceConfig
from eitlens.train.processes import Processes
from eitlens.train.sources import MemorySource, Source, StreamSource


@dataclass(frozen=True)
class Supply:
    """The data of a run: grid, currents and samples by split."""

    config: SourceConfig
    n: int
    currents: CurrentsConfig
    dataset: Dataset | None
    body: str

    @staticmethod
    def open(config: SourceConfig) -> "Supply":
        """Open the data set or read the stream's recipe."""
        if config.stream is not None:
            stream = config.stream
            _check_currents(stream.name, stream.tank is not None)
            return Supply(config, stream.n, _first_currents(config, stream.currents), None, stream.body)
        if not config.folder:
            raise InputError("no data: give a data set (--data DIR) or a stream")
        dataset = Dataset.open(config.folder)
        made = dataset.manifest
        _check_currents(config.folder, made.readings > 0)
        return Supply(config, made.n, _first_currents(config, made.currents), dataset, made.body)

    def source(self, batch: int, seed: int, processes: Processes) -> Source:
        """The source of training samples."""
        if self.dataset is not None:
            return MemorySource(self.split("train", processes.device), batch, seed, processes)
        if self.config.bank:
            return MemorySource(self.bank(seed, processes.device), batch, seed, processes)
        local = max(1, batch // processes.world)
        # The nearest whole number of a process's batches: nobody should have to work that out.
        block = max(1, round(self.config.block / local)) * local
        return StreamSource(StreamConfig(self._recipe, seed, batch, block, self.config.repeat), processes)

    def bank(self, seed: int, device: torch.device) -> Samples:
        """The first samples of the stream, simulated at once."""
        block = self.config.block
        stream = Stream(StreamConfig(self._recipe, seed, block, block), device, prefetch=False)
        parts = [replace(stream(k).samples, phantoms=None) for k in range(-(-self.config.bank // block))]
        return concatenate(parts)[: self.config.bank]

    def split(self, name: Split, device: torch.device, limit: int = 0) -> Samples:
        """The samples of a split; for a stream they are simulated."""
        asked = {"train": self.config.train, "validation": self.config.validation, "test": 0}[name]
        most = min((value for value in (asked, limit) if value), default=None)
        if self.dataset is not None:
            samples = self.dataset.split(name, device, most)
            first = samples.difference[:, : self.currents.count].contiguous()
            return replace(samples, phantoms=None, difference=first)
        start, stop = self._recipe.ranges[name]
        return simulate_range(self._recipe, start, stop if most is None else min(stop, start + most), device)

    @property
    def training(self) -> int | None:
        """Number of training samples; None for new ones for ever."""
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
        """The name of the data."""
        return self._recipe.name if self.dataset is None else self.dataset.manifest.name

    @property
    def recipe(self) -> DataConfig | None:
        """The recipe of the samples; None for an imported data set."""
        return self.config.stream if self.dataset is None else self.dataset.config

    @property
    def _recipe(self) -> DataConfig:
        assert self.config.stream is not None
        return replace(self.config.stream, currents=self.currents)


def _check_currents(name: str, tank: bool) -> None:
    """Refuse readings of electrodes: inputs of networks take the data of currents."""
    if tank:
        raise InputError(
            f"{name}: readings of electrodes, and networks are trained on the data of currents: take a data set "
            "without a tank"
        )


def _first_currents(config: SourceConfig, currents: CurrentsConfig) -> CurrentsConfig:
    if config.currents > currents.count:
        raise InputError(f"data: the first {config.currents} currents asked for, there are {currents.count}")
    return replace(currents, count=config.currents or currents.count)
