"""Reading a data set: cheap to open, samples are read when a split is asked for."""

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from eitlens.checks import choose
from eitlens.dataset.arrays import write_arrays
from eitlens.dataset.config import SPLITS, DataConfig, Split
from eitlens.dataset.manifest import Manifest, Shard, read_manifest
from eitlens.dataset.samples import Samples, concatenate
from eitlens.dataset.shard import Header, read_header, read_samples
from eitlens.domain import Domain
from eitlens.domain.base import CPU
from eitlens.domain.bodies import BODIES, SQUARE
from eitlens.errors import InputError
from eitlens.forward.base import Currents
from eitlens.forward.currents import CurrentsConfig


@dataclass(frozen=True)
class Dataset:
    """A finished data set on disk.

    Opening checks the manifest and, of every shard, that it is there, whole (its size) and says it is what
    the manifest lists; `eitlens check` also reads every byte.

    >>> square = eit.Square(16)
    >>> phantoms = eit.EllipseSampler(seed=0, count=1, disjoint=True).batch(0, 20)
    >>> difference = eit.BoundaryIntegralSolver(square, 1e-4).difference(phantoms, eit.currents.cosine(square, 2))
    >>> data = eit.Dataset.from_arrays(difference, eit.indicator(square, phantoms))
    >>> len(data), len(data.split("train"))
    (20, 16)
    """

    folder: Path
    manifest: Manifest

    @staticmethod
    def open(folder: str | Path) -> "Dataset":
        """The data set in a folder."""
        dataset = Dataset(Path(folder), read_manifest(Path(folder)))
        first, *others = [dataset._check(shard) for shard in dataset.manifest.shards]
        for shard, header in zip(dataset.manifest.shards[1:], others, strict=True):
            if header.config != first.config:
                raise InputError(
                    f"{dataset.folder / shard.file}: of another data set than the first shard: copy its own, or "
                    "delete it and generate again"
                )
        return dataset

    @staticmethod
    def from_arrays(
        difference: Any,
        truth: Any,
        folder: str | Path | None = None,
        *,
        body: str | Domain = SQUARE,
        currents: CurrentsConfig | None = None,
        validation: float = 0.1,
        test: float = 0.1,
    ) -> "Dataset":
        """Write arrays that you already have as a data set, and open it.

        Args:
            difference: (samples, L, N) values of f - f0 at the boundary nodes of the body.
            truth: (samples, n + 1, n + 1) pictures on its grid, 1 in an inclusion and 0 elsewhere, x along the rows.
            folder: where the data set goes; a temporary folder if left out.
            body: the body, by its name or as an object with a registered name.
            currents: the family of the L currents, cosines if left out.
            validation: the share of the samples for validation.
            test: the share of the samples for testing; those of the test are the last.
        """
        where = Path(tempfile.mkdtemp(prefix="eitlens-") if folder is None else folder)
        chosen = BODIES[body if isinstance(body, str) else body.name]
        known = CurrentsConfig(count=max(1, *np.shape(difference)[-2:-1])) if currents is None else currents
        write_arrays(where, difference, truth, chosen, known, (validation, test))
        return Dataset.open(where)

    def __len__(self) -> int:
        return self.manifest.count

    @property
    def domain(self) -> Domain:
        """The body and its grid."""
        return BODIES[self.manifest.body].at(self.manifest.n)

    @property
    def currents(self) -> Currents:
        """The currents (L, N)."""
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

    def _check(self, shard: Shard) -> Header:
        path = self.folder / shard.file
        if path.is_file() and path.stat().st_size != shard.bytes:
            size = path.stat().st_size
            raise InputError(
                f"{path}: {size} bytes, expected {shard.bytes}, cut short?: delete it and generate again"
            )
        header = read_header(path)
        one, other = CurrentsConfig(**header.currents), self.manifest.currents
        found = (header.start, header.stop, header.n, one.count, one.family)
        expected = (shard.start, shard.stop, self.manifest.n, other.count, other.family)
        if found != expected:
            raise InputError(
                f"{path}: (start, stop, n, currents, family) = {found}, the manifest says {expected}: is it its own?"
            )
        if header.body != self.manifest.body:
            raise InputError(
                f"{path}: of the body {header.body!r}, the manifest says {self.manifest.body!r}: is it its own?"
            )
        return header
