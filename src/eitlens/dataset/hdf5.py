"""The layout of the data set published with the paper: φ and targets as HDF5 files, in parts.

- `…phi_bm10bp1…part{i}….h5`: the first key, (N, C, 201, 201), φ_1 … φ_C, axes as here: [x, y].
- `…I_true_num4…part{i}….h5`: the key `I_true`, (N, 201, 201), the last two axes swapped.

φ is never stored in a data set. It is harmonic, so f - f0, its Neumann data, can be had back from its values
on the boundary (`eitlens.dataset.neumann_data`), and an imported set is like any other: 25 times smaller than φ, open
to any noise level, with gradients up to the boundary. A φ that is not harmonic (noise added to φ itself,
another feature) is refused.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float64
from torch import Tensor

from eitlens.checks import installed
from eitlens.dataset.config import Split
from eitlens.dataset.imported import ImportWriter
from eitlens.dataset.neumann_data import neumann_data
from eitlens.dataset.read import Dataset
from eitlens.domain import Square
from eitlens.errors import InputError
from eitlens.files import fresh, make_folder
from eitlens.forward.currents import CurrentsConfig

NEEDED = "HDF5 files need h5py: pip install 'eitlens[io]'"
PHI, TARGET, TARGET_KEY = "phi_bm10bp1", "I_true_num4", "I_true"
_BATCH = 100  # samples in memory at once: 97 MB of φ, and a file of an imported set
_TRAIN = 0.8  # of the samples that are not for testing, as in the paper


@dataclass(frozen=True)
class ImportReport:
    """The numbers of an import."""

    samples: int
    residual: float
    """Largest relative difference between a φ and the extension of the boundary data taken from it."""
    correlation: tuple[float, ...]
    """Mean of (g_l, f - f0) / (|g_l| |f - f0|), by current.

    Near -1 for conductive inclusions when currents, axes and signs are as assumed; near 0 when they are not.
    """


def export_hdf5(
    dataset: Dataset, folder: Path, split: Split, part: int = 1, dtype: torch.dtype = torch.float32
) -> tuple[Path, Path]:
    """Write a split as one part of the published layout: 485 KB a sample for 3 currents in float32."""
    h5py = installed("h5py", NEEDED)
    make_folder(folder)
    paths = folder / f"{PHI}_part{part}.h5", folder / f"{TARGET}_part{part}.h5"
    start, stop = dataset.manifest.splits[split]
    side, channels = dataset.domain.shape[0], dataset.manifest.currents.count
    kind = {torch.float32: "f4", torch.float64: "f8"}[dtype]
    with fresh(*paths) as (one, other), h5py.File(one, "w") as first, h5py.File(other, "w") as second:
        phi = first.create_dataset("phi", (stop - start, channels, side, side), kind)
        target = second.create_dataset(TARGET_KEY, (stop - start, side, side), "u1")
        for k in range(start, stop, _BATCH):
            samples = dataset.read(k, min(k + _BATCH, stop))
            rows = slice(k - start, k - start + len(samples))
            phi[rows] = dataset.domain.extend(samples.difference).to(dtype).numpy()
            target[rows] = samples.mask.mT.to(torch.uint8).numpy()
    return paths


def import_hdf5(
    source: Path,
    folder: Path,
    parts: Sequence[int],
    currents: CurrentsConfig | None = None,
    test: int = 0,
    tolerance: float = 0.05,
) -> ImportReport:
    """Turn the published layout into a data set.

    Args:
        source: folder of the HDF5 files.
        folder: where the data set goes; an empty one.
        parts: which parts, in this order.
        currents: the currents behind the first channels, cos θ, cos 2θ, cos 3θ by default.
        test: how many of the last samples are for testing; of the others 80 % are for training.
        tolerance: the largest residual before a φ counts as not harmonic.
    """
    h5py, currents = installed("h5py", NEEDED), CurrentsConfig() if currents is None else currents
    pairs = [(_find(source, PHI, part), _find(source, TARGET, part)) for part in parts]
    shapes = [_shape(h5py, *pair, currents.count) for pair in pairs]
    sides, count = {shape[-1] for shape in shapes}, sum(shape[0] for shape in shapes)
    if len(sides) != 1:
        raise InputError(f"{source}: parts of {sorted(sides)} nodes a side: import them one by one")
    if not 0 <= test < count:
        raise InputError(f"test={test}: expected fewer than the {count} samples there are")
    square = Square(sides.pop() - 1)
    writer = ImportWriter(folder, square, currents, repr((currents, pairs)).encode())
    residual, correlation = 0.0, torch.zeros(currents.count, dtype=torch.float64)
    for phi, mask in (block for pair in pairs for block in _blocks(h5py, *pair, currents.count)):
        difference, error = neumann_data(square, phi)
        if error > tolerance:
            raise InputError(
                f"{source}: φ from sample {writer.count} on is not harmonic ({error:.1%} off): "
                "noise in φ, another layout? raise the tolerance to import it all the same"
            )
        writer.add(difference, mask)
        residual = max(residual, error)
        correlation += _correlation(currents.build(square), difference).sum(0)
    report = ImportReport(count, residual, tuple((correlation / count).tolist()))
    files = [path.name for pair in pairs for path in pair]
    writer.finish("imported", _splits(count, test), {"files": files} | asdict(report))
    return report


def _correlation(currents: Tensor, difference: Tensor) -> Float64[Tensor, "samples currents"]:
    size = (currents.square().sum(-1) * difference.square().sum(-1)).sqrt()
    return (currents * difference).sum(-1) / size.clamp(min=1e-300)  # 0 of no data


def _splits(count: int, test: int) -> dict[Split, tuple[int, int]]:
    train = int(_TRAIN * (count - test))
    return {"train": (0, train), "validation": (train, count - test), "test": (count - test, count)}


def _shape(h5py: Any, phi_path: Path, target_path: Path, channels: int) -> tuple[int, ...]:
    """The shape of φ in a part; targets of another shape are refused."""
    with _opened(h5py, phi_path) as phi_file, _opened(h5py, target_path) as target_file:
        if TARGET_KEY not in target_file:
            raise InputError(f"{target_path}: expected the key {TARGET_KEY!r}, it has {list(target_file)}")
        phi: tuple[int, ...] = phi_file[next(iter(phi_file))].shape
        target = target_file[TARGET_KEY].shape
    good = len(phi) == 4 and phi[1] >= channels and phi[2] == phi[3] and target == (phi[0], *phi[2:])
    if not good:
        raise InputError(
            f"{phi_path}: φ of shape {phi} and targets of shape {target}, "
            f"expected (N, {channels} or more, n, n) and (N, n, n)"
        )
    return phi


def _blocks(h5py: Any, phi_path: Path, target_path: Path, channels: int) -> Iterator[tuple[Tensor, Tensor]]:
    """φ (samples, channels, n, n) and masks (samples, n, n), axes [x, y], some samples at once."""
    with _opened(h5py, phi_path) as phi_file, _opened(h5py, target_path) as target_file:
        phi, target = phi_file[next(iter(phi_file))], target_file[TARGET_KEY]
        for first in range(0, len(phi), _BATCH):
            rows = slice(first, first + _BATCH)
            values = torch.from_numpy(phi[rows, :channels]).to(torch.float64)
            if not bool(torch.isfinite(values).all()):
                raise InputError(
                    f"{phi_path}: NaN or infinite φ from sample {first} on: repair the file first"
                )
            yield values, torch.from_numpy(target[rows]).mT > 0.5


def _find(source: Path, stem: str, part: int) -> Path:
    """The one file of a part; several (noisy variants, say) would be mixed up."""
    pattern = re.compile(rf"{re.escape(stem)}.*part{part}(?!\d).*\.h5$")
    found = sorted(path for path in source.glob("*.h5") if pattern.search(path.name))
    if len(found) != 1:
        names = ", ".join(path.name for path in found) or "none"
        raise InputError(f"{source}: expected one *{stem}*part{part}*.h5, found {names}: keep one")
    return found[0]


@contextmanager
def _opened(h5py: Any, path: Path) -> Iterator[Any]:
    try:
        file = h5py.File(path, "r")
    except OSError as error:
        raise InputError(f"{path}: not a whole HDF5 file ({error}): copy or download it again") from None
    with file:
        yield file
