"""Writing samples that were not simulated here, from arrays or the published files, as a data set."""

import hashlib
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from eitlens.dataset.config import Split
from eitlens.dataset.manifest import FILE, write_manifest
from eitlens.dataset.samples import Samples, pack
from eitlens.dataset.shard import Header, made_with, shard_name, write_shard
from eitlens.domain import Domain
from eitlens.domain.base import CPU
from eitlens.errors import InputError
from eitlens.files import make_folder
from eitlens.forward.currents import CurrentsConfig


class ImportWriter:
    """A data set in the making: `add` writes a shard, `finish` the manifest; `content` is what the digest is of."""

    def __init__(self, folder: Path, body: Domain, currents: CurrentsConfig, content: bytes) -> None:
        if (folder / FILE).exists() or (folder / shard_name(0)).exists():
            raise InputError(f"{folder} already holds a data set: choose an empty folder")
        make_folder(folder)
        self.folder, self.body, self.currents = folder, body, currents
        self.digest = hashlib.sha256(content).hexdigest()
        self.count, self._headers = 0, dict[str, Header]()

    def add(self, difference: Tensor, mask: Tensor) -> None:
        """Write the next samples as one file."""
        start, self.count = self.count, self.count + len(difference)
        side = self.body.shape[0]
        currents, made = asdict(self.currents), made_with(CPU)
        header = Header(self.digest, start, self.count, side - 1, currents, made, body=self.body.name)
        samples = Samples(torch.arange(start, self.count), difference, pack(mask), side, None)
        name = shard_name(len(self._headers))
        self._headers[name] = header
        write_shard(self.folder / name, header, samples)

    def finish(self, name: str, splits: dict[Split, tuple[int, int]], note: dict[str, Any]) -> None:
        """Write the manifest, with a note on where the samples are from."""
        write_manifest(self.folder, name, self._headers, splits, {"imported": note})
