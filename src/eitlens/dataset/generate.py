"""Writing a data set: shard by shard, each whole or not there, so that a killed run goes on where it stopped.

A shard is computed in blocks of fixed size by one thread, so that its bytes depend neither on how the shards
are split over processes and machines nor on the number of cores. All parts write to one folder (or to several
that are merged by copying); whoever finds every shard there writes the manifest.
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import Event, Lock

import torch

from eitlens.dataset.config import DataConfig
from eitlens.dataset.manifest import FILE, read_manifest, write_manifest
from eitlens.dataset.samples import Samples, concatenate, packed_size
from eitlens.dataset.shard import (
    DamagedError,
    Header,
    made_with,
    read_header,
    shard_name,
    verify,
    write_shard,
)
from eitlens.dataset.simulate import Simulator
from eitlens.device import available_cores, pick_device
from eitlens.errors import InputError
from eitlens.files import make_folder, remove_leftovers
from eitlens.threads import Limit

Progress = Callable[[int, int], None]
"""Called with (samples done by this process, samples it has to do)."""
_CPU_BLOCK = 20  # samples at once on a CPU: 200 MB while they are solved; fixed, as the bytes depend on it
_LARGEST = 4 * 2**30  # bytes of a file, which are in memory until it is written


@dataclass(frozen=True)
class Part:
    """Part `index` of `count`: the shards whose number is `index` modulo `count`."""

    index: int = 0
    count: int = 1

    def __post_init__(self) -> None:
        if not 0 <= self.index < self.count:
            raise InputError(
                f"part {self.index + 1}/{self.count}: expected i/N with 1 <= i <= N, like 1/4 … 4/4"
            )

    @staticmethod
    def parse(text: str) -> "Part":
        """From `i/N`, i = 1 … N."""
        first, _, second = text.partition("/")
        if not (first.isdecimal() and second.isdecimal()):
            raise InputError(f"--shard {text}: expected i/N, like 1/4 … 4/4")
        return Part(int(first) - 1, int(second))

    @staticmethod
    def of_process() -> "Part":
        """The part of this process under torchrun, everything otherwise."""
        return Part(int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1")))


@dataclass(frozen=True)
class Report:
    """The work of one call of `generate`."""

    made: int
    kept: int
    """Samples found on disk, verified and left alone."""
    replaced: tuple[str, ...]
    """Damaged files made again."""
    complete: bool
    """Whether the whole data set is there, all parts of it."""


def generate(
    config: DataConfig,
    folder: Path,
    part: Part | None = None,
    device: str = "auto",
    workers: int | None = None,
    progress: Progress | None = None,
) -> Report:
    """Make what is missing of the data set in `folder`; see the module for what is guaranteed.

    Args:
        config: what to make; a folder with shards of another configuration is refused.
        folder: where; created if need be.
        part: which of the shards, those of this process under torchrun by default.
        device: auto, cpu, cuda, cuda:1 …
        workers: threads on a CPU, one for each core this process may use by default.
        progress: called after every block.
    """
    part = Part.of_process() if part is None else part
    where = pick_device(device)
    _check_shard(config)
    make_folder(folder)
    if (folder / FILE).exists() and read_manifest(folder).source != {"config": config.to_dict()}:
        raise InputError(f"{folder} holds another data set: choose an empty folder, or delete it first")
    remove_leftovers(folder)
    mine = [k for k in range(len(config.shards)) if k % part.count == part.index]
    state = {k: _state(folder / shard_name(k), config.digest) for k in mine}
    job = _Making(config, folder, where, progress, _samples(config, mine))
    job.advance(_samples(config, [k for k in mine if state[k] == "whole"]))
    missing = [k for k in mine if state[k] != "whole"]
    job.run(missing, workers or available_cores())
    complete = _finish(config, folder)
    made = _samples(config, missing)
    replaced = tuple(shard_name(k) for k in mine if state[k] == "damaged")
    return Report(made, _samples(config, mine) - made, replaced, complete)


class _Making:
    """The shards one process makes, on several threads of a CPU or one GPU."""

    def __init__(
        self, config: DataConfig, folder: Path, device: torch.device, progress: Progress | None, total: int
    ) -> None:
        self.config, self.folder, self.device = config, folder, device
        self.progress, self.total, self.done = progress, total, 0
        self.simulator = Simulator.build(config, device)
        self.lock, self.stop = Lock(), Event()

    def run(self, shards: list[int], workers: int) -> None:
        """Make the shards; the first error, or Ctrl-C, stops the other threads at their next block."""
        workers = 1 if self.device.type == "cuda" else max(1, min(workers, len(shards)))
        # One thread for each small system is faster, and the bytes do not depend on the number of cores.
        threads = 1 if self.device.type == "cpu" else torch.get_num_threads()
        with ThreadPoolExecutor(workers, initializer=lambda: Limit(threads)) as pool:
            futures = [pool.submit(self.make, k) for k in shards]
            try:
                for future in futures:
                    future.result()
            except BaseException:
                self.stop.set()
                pool.shutdown(cancel_futures=True)
                raise

    def make(self, k: int) -> None:
        """Simulate and write shard k."""
        start, stop = self.config.shards[k]
        size = _CPU_BLOCK if self.device.type == "cpu" else stop - start
        blocks: list[Samples] = []
        for first in range(start, stop, size):
            if self.stop.is_set():
                return
            blocks.append(self.simulator(torch.arange(first, min(first + size, stop))))
            self.advance(len(blocks[-1]))
        config, made = self.config, made_with(self.device)
        currents = asdict(config.currents)
        samples = concatenate(blocks)
        readings = 0 if config.tank is None else samples.difference.shape[1]
        header = Header(
            config.digest, start, stop, config.n, currents, made, body=config.body, readings=readings
        )
        write_shard(self.folder / shard_name(k), header, samples)

    def advance(self, samples: int) -> None:
        """Report progress, one thread at a time."""
        with self.lock:
            self.done += samples
            if self.progress is not None:
                self.progress(self.done, self.total)


def _check_shard(config: DataConfig) -> None:
    """Refuse files that no memory holds: each is made there before it is written.

    More samples to a file than there are is one file, which is as good a wish as any.
    """
    numbers = config.currents.count * config.domain.boundary_size
    if config.tank is not None:
        numbers = config.tank.drive().count
    each = numbers * 8 + packed_size(config.n + 1) + 2 * config.sigma * (config.n + 1) ** 2
    samples, most = min(config.shard, config.count), _LARGEST // each
    if samples > most:
        raise InputError(
            f"shard: a file of {samples:,} samples would take {samples * each / 1e9:,.0f} GB, and more in memory: "
            f"set it to at most {most:,}"
        )


def _state(path: Path, digest: str) -> str:
    """`missing`, `damaged` or `whole`.

    A shard of another configuration or another version, a file that is no shard or cannot be read is an error, never
    overwritten.
    """
    if not path.exists():
        return "missing"
    try:
        header = verify(path)
    except DamagedError:
        return "damaged"
    _check_same(path, header, digest)
    return "whole"


def _check_same(path: Path, header: Header, digest: str) -> None:
    if header.config != digest:
        raise InputError(
            f"{path}: belongs to another configuration: choose an empty folder, or delete this one's shards"
        )


def _finish(config: DataConfig, folder: Path) -> bool:
    """Write the manifest if every shard is there; any number of processes may, the bytes are the same."""
    names = [shard_name(k) for k in range(len(config.shards))]
    if not all((folder / name).is_file() for name in names):
        return False
    headers = {name: read_header(folder / name) for name in names}
    for name, header in headers.items():
        _check_same(folder / name, header, config.digest)
    write_manifest(folder, config.name, headers, config.ranges, {"config": config.to_dict()})
    return True


def _samples(config: DataConfig, shards: list[int]) -> int:
    return sum(stop - start for start, stop in (config.shards[k] for k in shards))
