"""Samples of the tasks with full boundary maps: simulated in blocks on disk, and as codes for the training.

A block has the maps of some samples, as float32 like the published kernels, and log σ on a coarser grid in half
precision. Blocks that are there are not made again. Samples 0 … 9,499 are for training, 9,500 … 9,599 for validation,
9,600 … 9,999 for the test, as in the publication; what comes after is more to train on.
"""

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor
from torch.nn import functional as fn

from eitlens.errors import InputError
from eitlens.feature.noisy_maps import WhiteCode, map_norms
from eitlens.forward.rings import Rings
from eitlens.phantom.disk_images import DiskTask

TRAINING, VALIDATION, TEST = range(9_500), range(9_500, 9_600), range(9_600, 10_000)
BLOCK = 100
"""Samples of a file; the splits end where blocks do."""
SEED = 2025
_TOGETHER = 2000  # maps that are unpacked at once, to save memory


@dataclass(frozen=True)
class Resolution:
    """How fine the simulation is, the highest order of the maps, and the nodes a side of stored images."""

    rings: int = 64
    angles: int = 256
    waves: int = 64
    nodes: int = 128

    def grid(self, task: DiskTask) -> Rings:
        """The rings for a task."""
        return Rings(self.rings, self.angles, task.reach, task.sharp)


def generate(
    folder: Path, task: DiskTask, samples: range, how: Resolution, device: torch.device, chunk: int
) -> None:
    """Simulate those blocks of the samples that are not there."""
    folder.mkdir(parents=True, exist_ok=True)
    told = folder / "simulation.json"
    settings = vars(how) | {"task": task.name, "seed": task.seed}
    if told.exists() and json.loads(told.read_text()) != settings:
        raise InputError(f"{folder} was simulated otherwise: take another folder, or remove it")
    told.write_text(json.dumps(settings, indent=1) + "\n")
    start, made = time.monotonic(), 0
    for first in range(samples.start, samples.stop, BLOCK):
        path = folder / f"{first:07d}.safetensors"
        if path.exists():
            continue
        parts = [
            simulated(task, torch.arange(low, min(low + chunk, first + BLOCK), device=device), how)
            for low in range(first, first + BLOCK, chunk)
        ]
        block = {name: torch.cat([part[name] for part in parts]).cpu() for name in parts[0]}
        save_file(block, path.with_suffix(".partial"))
        path.with_suffix(".partial").replace(path)
        made += BLOCK
        rate = made / (time.monotonic() - start)
        print(f"{task.name}: {first + BLOCK} of {samples.stop}, {rate:.1f} samples/s", flush=True)


def simulated(task: DiskTask, index: Tensor, how: Resolution) -> dict[str, Tensor]:
    """Upper triangles of the maps, and log σ."""
    maps = how.grid(task).differences(task.images(index), how.waves)
    row, column = torch.triu_indices(2 * how.waves, 2 * how.waves, device=maps.device)
    return {"maps": maps[:, row, column].float(), "log_sigma": task.images(index, how.nodes).log().half()}


class Samples(NamedTuple):
    """Upper triangles of maps, their highest order, and log σ of some samples."""

    packed: Tensor
    waves: int
    log_sigma: Tensor

    def maps(self, rows: slice = slice(None)) -> Tensor:
        """The symmetric matrices of some, in float64."""
        packed = self.packed[rows].double()
        maps = packed.new_zeros(len(packed), 2 * self.waves, 2 * self.waves)
        row, column = torch.triu_indices(2 * self.waves, 2 * self.waves, device=packed.device)
        maps[:, row, column] = packed
        maps[:, column, row] = packed
        return maps


def read(folder: Path, samples: range, device: torch.device) -> Samples:
    """The samples of a folder."""
    waves = json.loads((folder / "simulation.json").read_text())["waves"]
    firsts = range(samples.start // BLOCK * BLOCK, samples.stop, BLOCK)
    missing = [first for first in firsts if not (folder / f"{first:07d}.safetensors").exists()]
    if missing:
        raise InputError(f"{folder} has no samples from {missing[0]} on: run generate --samples for them")
    blocks = [load_file(folder / f"{first:07d}.safetensors") for first in firsts]
    here = slice(samples.start - firsts.start, samples.stop - firsts.start)
    packed, images = (torch.cat([block[name] for block in blocks])[here] for name in ("maps", "log_sigma"))
    return Samples(packed.to(device), waves, images.to(device))


class Coded(NamedTuple):
    """What the training is shown: the code of the maps, the norms of their kernels, and log σ."""

    z: Tensor
    norm: Tensor
    log_sigma: Tensor

    def __getitem__(self, rows: Tensor) -> "Coded":  # type: ignore[override]
        """Some samples."""
        return Coded(*(part[rows] for part in tuple(self)))


def coded(code: WhiteCode, samples: Samples) -> Coded:
    """Samples as codes."""
    z, norms = [], []
    for first in range(0, len(samples.packed), _TOGETHER):
        maps = samples.maps(slice(first, first + _TOGETHER))
        z.append(code.coordinates(maps))
        norms.append(map_norms(maps))
    return Coded(torch.cat(z), torch.cat(norms), samples.log_sigma)


def noisy_input(code: WhiteCode, z: Tensor, size: Tensor, draw: torch.Generator) -> Tensor:
    """The network's input for noise of size t: posterior means squeezed, deviations, an empty place, the means."""
    strength = code.strengths.to(z)
    noise = torch.randn(z.shape, generator=draw, dtype=z.dtype, device=z.device)
    found = code.posterior(z + size[:, None] / strength * noise, size)
    mean = found.mean.float()
    return torch.cat([torch.asinh(mean), found.deviation.float(), torch.zeros_like(mean[:, :1]), mean], -1)


def moved(
    code: WhiteCode, shown: Coded, pixels: int, sharp: bool, draw: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Codes and σ at the centres of pixels of the bodies mirrored, or not, and turned at random."""
    device, count = shown.z.device, len(shown.z)
    angle = 2 * torch.pi * torch.rand(count, generator=draw, dtype=torch.float64, device=device)
    flipped = torch.rand(count, generator=draw, device=device) < 0.5
    z = torch.where(flipped[:, None], code.mirrored(shown.z), shown.z)
    place = (torch.arange(pixels, device=device) + 0.5) * (2 / pixels) - 1
    x, y = torch.meshgrid(place, place, indexing="ij")
    cos, sin = (part.float()[:, None, None] for part in (angle.cos(), angle.sin()))
    back = cos * x + sin * y, (cos * y - sin * x) * torch.where(flipped, -1.0, 1.0)[:, None, None]
    places = torch.stack([back[1], back[0]], -1)
    mode = "nearest" if sharp else "bilinear"
    images = shown.log_sigma[:, None].float()
    seen = fn.grid_sample(images, places, mode=mode, padding_mode="border", align_corners=True)[:, 0]
    inside = (x.square() + y.square() < 1).expand_as(seen)
    return code.turned(z, angle), torch.where(inside, seen.exp(), 1.0)
