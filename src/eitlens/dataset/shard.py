"""One shard: a safetensors file that says what it is and carries the checksum of its own data.

Tensors: `difference` (samples, L, N) float64, `mask` (samples, ⌈(n+1)²/8⌉) uint8, where the recipe asks for it
`log_sigma` (samples, n+1, n+1) float16, and the shape parameters of `eitlens.phantom.tensors`. The metadata is one
JSON text under the key `eitlens`: with a single key the file's bytes do not depend on the order in which a hash table
is walked. Nothing is ever unpickled.

Why float64: the solvers are good to 1e-9 and two machines agree to that, while float32 alone would be off by
6e-8; it costs 246 MB instead of 123 for the paper's 12,800 samples and 3 currents, of 314 MB in all.
"""

import hashlib
import json
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from eitlens.checks import known_keys
from eitlens.dataset.samples import Samples, packed_size
from eitlens.domain.bodies import BODIES, SQUARE, without_square
from eitlens.errors import InputError
from eitlens.files import disk_errors, write_atomically
from eitlens.forward.currents import CurrentsConfig
from eitlens.phantom import tensors as phantoms

VERSION = 1  # raised when an older eitlens could not read the file
_KEY, _SIGMA = "eitlens", "log_sigma"
_AGAIN = "delete it and run the command that made it again"


class DamagedError(InputError):
    """A damaged shard, which is to be made again; a shard of another version or no shard at all is not."""


@dataclass(frozen=True)
class Header:
    """The description of a shard in its own file."""

    config: str
    """Digest of the configuration it belongs to."""
    start: int
    stop: int
    n: int
    currents: dict[str, Any]
    made_with: str
    sha256: str = ""
    """Checksum of the data that follow the header."""
    version: int = VERSION
    body: str = SQUARE.name
    readings: int = 0
    """Of a tank; 0 where currents and boundary nodes say what was measured."""

    @property
    def measured(self) -> tuple[int, ...]:
        """The shape of what is measured of a sample."""
        if self.readings:
            return (self.readings,)
        return self.currents["count"], BODIES[self.body].at(self.n).boundary_size


def shard_name(number: int) -> str:
    """The file of shard `number`."""
    return f"shard-{number:05d}.safetensors"


def made_with(device: torch.device) -> str:
    """The versions and the kind of machine that decide a shard's last digits."""
    # By name: the package's face imports everything for type checkers, and this layer must not.
    version = import_module("eitlens").__version__
    where = platform.machine() if device.type == "cpu" else torch.cuda.get_device_name(device)
    return f"eitlens {version}, torch {torch.__version__}, {device.type} {where}"


def write_shard(path: Path, header: Header, samples: Samples) -> None:
    """Write the shard, whole or not at all."""
    content = {"difference": samples.difference, "mask": samples.packed}
    content |= {} if samples.log_sigma is None else {_SIGMA: samples.log_sigma}
    content |= {} if samples.phantoms is None else phantoms.to_tensors(samples.phantoms)
    tensors = {name: tensor.cpu().contiguous() for name, tensor in content.items()}
    digest = hashlib.sha256(_data(save(tensors))).hexdigest()
    values = without_square(asdict(header)) | {"sha256": digest}
    # As in files from before there were tanks.
    del values["currents" if header.readings else "readings"]
    text = json.dumps(values, sort_keys=True)
    write_atomically(path, save(tensors, {_KEY: text}))


def read_header(path: Path) -> Header:
    """Read the header alone; a file that is cut short, is no shard, or is of another version is refused."""
    with _reading(path), safe_open(path, "pt") as file:
        header = _header(path, file.metadata())
        shape = tuple(file.get_slice("difference").get_shape())
        mask = tuple(file.get_slice("mask").get_shape())
        count = header.stop - header.start
        expected = (count, *header.measured), (count, packed_size(header.n + 1))
    if (shape, mask) != expected:
        raise DamagedError(
            f"{path}: tensors of shape {shape} and {mask}, expected {expected[0]} and {expected[1]}: {_AGAIN}"
        )
    return header


def verify(path: Path) -> Header:
    """`read_header`, and that the data are those that were written: every byte is read."""
    header = read_header(path)
    with disk_errors(path):
        found = hashlib.sha256(_data(path.read_bytes())).hexdigest()
    if found != header.sha256:
        raise DamagedError(
            f"{path}: checksum mismatch, the data have changed since they were written: {_AGAIN}"
        )
    return header


def read_samples(path: Path, start: int, stop: int) -> Samples:
    """Samples start … stop - 1 (numbers within the data set) of a shard; NaN or infinite data are refused."""
    header = read_header(path)
    rows = slice(start - header.start, stop - header.start)
    with _reading(path), safe_open(path, "pt") as file:
        names = list(file.keys())
        tensors: dict[str, Tensor] = {name: file.get_slice(name)[rows] for name in names}
        made_of = phantoms.from_tensors(tensors)
    difference = tensors["difference"]
    bad = int((~torch.isfinite(difference)).flatten(1).any(1).sum())
    if bad:
        raise InputError(
            f"{path}: {bad} of {len(difference)} samples hold NaN or infinite boundary data: {_AGAIN}"
        )
    index = torch.arange(start, stop)
    return Samples(index, difference, tensors["mask"], header.n + 1, made_of, tensors.get(_SIGMA))


def _header(path: Path, metadata: dict[str, str] | None) -> Header:
    if metadata is None or _KEY not in metadata:
        raise InputError(
            f"{path}: a safetensors file, but not a shard of an eitlens data set: remove it from the folder"
        )
    values = json.loads(metadata[_KEY])
    found = values.get("version") if isinstance(values, dict) else None
    if found != VERSION:
        raise InputError(
            f"{path}: format version {found!r}, expected {VERSION}: update eitlens, or generate again"
        )
    header = Header(**({"currents": asdict(CurrentsConfig())} | known_keys(values, Header, str(path))))
    CurrentsConfig(**known_keys(header.currents, CurrentsConfig, str(path)))
    return header


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Turn whatever is wrong with a shard into one line."""
    if not path.is_file():
        raise InputError(f"{path}: no such file: run the command that made the data set again")
    try:
        with disk_errors(path):
            yield
    except InputError:
        raise
    except (SafetensorError, KeyError, RecursionError, TypeError, ValueError) as error:
        reason = str(error).replace("\n", " ")
        raise DamagedError(f"{path}: not a whole shard ({reason}): {_AGAIN}") from error


def _data(content: bytes) -> memoryview:
    """The data of a safetensors file, after its header, whose length is in the first eight bytes."""
    return memoryview(content)[8 + int.from_bytes(content[:8], "little") :]
