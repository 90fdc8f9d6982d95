"""Is a data set what it says? Bytes against checksums, every number finite, spot checks of the phantoms."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from eitlens.dataset.config import DataConfig
from eitlens.dataset.read import Dataset
from eitlens.dataset.samples import Samples, pack
from eitlens.dataset.shard import read_samples, verify
from eitlens.dataset.simulate import targets
from eitlens.errors import InputError
from eitlens.files import sha256
from eitlens.phantom.tensors import to_tensors

_SPOT = 4  # samples a file whose phantoms are drawn again: enough to find another seed or sampler
_ROUNDING = 1e-12  # of numbers of size 1, computed on another machine
_LAST_BIT = 2.0**-10  # of float16
_MEAN = 1e-9  # of the largest value: what rounding leaves, with three digits to spare


@dataclass(frozen=True)
class Checked:
    """The numbers of a data set that `check` found sound."""

    samples: int
    currents: int
    n: int
    shards: int
    bytes: int
    area: float
    """Mean part of the nodes that lies in the inclusion."""
    spot_checks: int
    """Samples whose phantom was drawn and rasterised again."""


def check(folder: Path, progress: Callable[[int, int], None] | None = None) -> Checked:
    """Read the whole data set; raise `InputError` with file and remedy at the first thing that is wrong."""
    dataset = Dataset.open(folder)
    shards = dataset.manifest.shards
    area, spots = 0.0, 0
    for shard in shards:
        verify(folder / shard.file)
        if sha256(folder / shard.file) != shard.sha256:
            raise InputError(
                f"{folder / shard.file}: checksum mismatch with the manifest: delete it and generate again"
            )
        samples = read_samples(folder / shard.file, shard.start, shard.stop)
        if not dataset.manifest.readings:
            _check_mean(folder / shard.file, samples)
        spots += _check_phantoms(folder / shard.file, dataset, samples[:_SPOT])
        area += float(samples.mask.double().mean()) * len(samples)
        if progress is not None:
            progress(shard.stop, len(dataset))
    size = sum(shard.bytes for shard in shards)
    return Checked(
        len(dataset),
        dataset.manifest.currents.count,
        dataset.manifest.n,
        len(shards),
        size,
        area / len(dataset),
        spots,
    )


def _check_mean(path: Path, samples: Samples) -> None:
    """Check that the data have zero mean over the boundary, as f and f0 do."""
    mean = samples.difference.mean(-1).abs().amax()
    if bool(mean > _MEAN * samples.difference.abs().amax()):
        raise InputError(
            f"{path}: boundary data of mean {float(mean):.3g}, expected 0: delete it and generate again"
        )


def _check_phantoms(path: Path, dataset: Dataset, samples: Samples) -> int:
    """Check that the sampler draws these phantoms, and that the masks show them."""
    if samples.phantoms is None:
        return 0
    mask, log_sigma = targets(dataset.domain, samples.phantoms, samples.log_sigma is not None)
    if not torch.equal(pack(mask), samples.packed) or not _shows(samples.log_sigma, log_sigma):
        raise InputError(
            f"{path}: masks or σ do not show the phantoms stored with them: delete it and generate again"
        )
    if dataset.config is not None:
        _check_drawn(path, dataset.config, samples)
    return len(samples)


def _shows(stored: Tensor | None, drawn: Tensor | None) -> bool:
    """Whether log σ is what was stored, up to the last of its 11 bits."""
    if stored is None or drawn is None:
        return stored is drawn
    return torch.allclose(stored.double(), drawn.double(), _LAST_BIT, _LAST_BIT)


def _check_drawn(path: Path, config: DataConfig, samples: Samples) -> None:
    assert samples.phantoms is not None
    drawn = to_tensors(config.sampler.build(config.domain).sample(samples.index))
    for name, stored in to_tensors(samples.phantoms).items():
        if name not in drawn or not torch.allclose(drawn[name].double(), stored.double(), 0, _ROUNDING):
            raise InputError(
                f"{path}: {name} differs from what the sampler draws: made by another version? generate again"
            )
