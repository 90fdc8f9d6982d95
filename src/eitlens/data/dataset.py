"""Reading a data set: cheap to open, samples are read when a split is asked for."""

from dataclasses import dataclass
from pathlib import Path

import torch

from eitlens.data.config import SPLITS, DataConfig, Split, choose
from eitlens.data.format import read_header, read_samples
from eitlens.data.manifest import Manifest, Shard, read_manifest
from eitlens.data.samples import Samples, concatenate
from eitlens.domain import Square
from eitlens.domain.base import CPU
from eitlens.errors import InputError
from eitlens.forward.base import Currents


@dataclass(frozen=True)
class Dataset:
    """A finished data set on disk.

    Opening checks the manifest and, of every shard, that it is there, whole (its size) and says it is what
    the manifest lists; `eitlens check` also reads every byte.
    """

    folder: Path
    manifest: Manifest

    @staticmethod
    def open(folder: str | Path) -> "Dataset":
        """The data set in a folder."""
        dataset = Dataset(Path(folder), read_manifest(Path(folder)))
        for shard in dataset.manifest.shards:
            dataset._check(shard)
        return dataset

    def __len__(self) -> int:
        return self.manifest.count

    @property
    def domain(self) -> Square:
        """The body and its grid."""
        return Square(self.manifest.n)

    @property
    def currents(self) -> Currents:
        """The currents (L, 4n)."""
        return self.manifest.currents.build(self.domain)

    @property
    def config(self) -> DataConfig | None:
        """How it was generated; None for an imported one."""
        recipe = self.manifest.source.get("config")
        return None if recipe is None else DataConfig.from_dict(recipe)

    def split(self, name: Split, device: torch.device = CPU, limit: int | None = None) -> Samples:
        """The samples of a split, or its first `limit`, on a device: 210 MB for the paper's training set."""
        choose("split", name, SPLITS)
        start, stop = self.manifest.splits[name]
        stop = stop if limit is None else min(stop, start + limit)
        if stop <= start:
            raise InputError(f"{self.folder}: its {name} split is empty: use another split or data set")
        return self.read(start, stop, device)

    def read(self, start: int, stop: int, device: torch.device = CPU) -> Samples:
        """Samples start … stop - 1, whatever their split."""
        if not 0 <= start < stop <= len(self):
            raise InputError(
                f"{self.folder}: samples {start} … {stop - 1} asked for, it has 0 … {len(self) - 1}"
            )
        parts = [
            read_samples(self.folder / shard.file, max(start, shard.start), min(stop, shard.stop))
            for shard in self.manifest.shards
            if shard.start < stop and shard.stop > start
        ]
        return concatenate(parts).to(device)

    def _check(self, shard: Shard) -> None:
        path = self.folder / shard.file
        if path.is_file() and path.stat().st_size != shard.bytes:
            size = path.stat().st_size
            raise InputError(
                f"{path}: {size} bytes, expected {shard.bytes}, cut short?: delete it and generate again"
            )
        header = read_header(path)
        found = (header.start, header.stop, header.n, header.currents["count"])
        expected = (shard.start, shard.stop, self.manifest.n, self.manifest.currents.count)
        if found != expected:
            raise InputError(
                f"{path}: (start, stop, n, currents) = {found}, the manifest says {expected}: is it its own?"
            )
