"""Tensors in one safetensors file or in several: `name.safetensors`, or `name-00001-of-00003.safetensors` and so on."""

import math
import re
from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import Tensor
from torch.nn import functional as fn

from eitlens.errors import InputError
from eitlens.files import write_together

LIMIT = 15_000_000
"""Most bytes of tensors in a file: what hosts and reviewers of repositories take without complaint."""
_STEPS = 127
"""The largest of 8 bits with a sign: rounding is symmetric, -128 is not used."""
_GROUP = 64
"""Numbers that share a scale. With one scale for a whole row the guide of the posterior loses three times as much (0.18
nats instead of 0.05 on 400 phantoms); scales of 16 bits add a thirtieth to the file."""
_LARGE = 2**16
"""Tensors of fewer numbers take 16 bits: a small sum averages its rounding less, and they are few beside the others."""
_LARGEST = torch.finfo(torch.float16).max
"""Tensors with larger numbers, or with nan, stay as they are."""
_SCALE = "/scale"
"""Ends the name of a tensor's scales; no parameter of a network has a slash in its name."""
_DIGITS = 5  # of the number of a shard, as others who split files write it
_SHARD = re.compile(rf"-\d{{{_DIGITS}}}-of-\d{{{_DIGITS}}}\.safetensors$")


def compacted(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Large matrices and kernels in 8 bits, small ones in float16; vectors stay float32, as they may be tiny.

    In 8 bits w ≈ s q, with whole q from -127 to 127 and a scale s for each group of 64 neighbours: their largest |w|
    over 127. So a weight changes by at most 1/253 of that largest, and in float16 by at most one part in 2,000.

    Compacting what was `expanded` gives the same bytes: s has 8 binary digits, so that 127 s is exact.
    """
    found = dict(tensors)
    for name, tensor in tensors.items():
        if tensor.ndim > 1 and tensor.dtype == torch.float32 and bool((tensor.abs() <= _LARGEST).all()):
            if tensor.numel() < _LARGE:
                found[name] = tensor.half()
            else:
                found[name], found[name + _SCALE] = _eight_bits(tensor)
    return found


def expanded(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Numbers of 8 and 16 bits as float32, which every network computes with; all others as they are."""
    short = (torch.float16, torch.bfloat16)
    found = {k: t.float() if t.dtype in short else t for k, t in tensors.items()}
    for name in [name for name in found if name.endswith(_SCALE)]:
        scale, of = found.pop(name)[..., None], name.removesuffix(_SCALE)
        if of not in found or _groups(found[of]).shape[:2] != scale.shape[:2]:
            raise InputError(f"{name}: no tensor {of} that it fits: copy or download the weights again")
        found[of] = _joined(_groups(found[of]) * scale, found[of])
    return found


def _eight_bits(tensor: Tensor) -> tuple[Tensor, Tensor]:
    """The numbers q, and the scale of each group."""
    groups = _groups(tensor)
    scale = (groups.abs().amax(-1) / _STEPS).bfloat16()
    step = scale.float()[..., None]
    whole = torch.where(step > 0, groups / step, 0.0).round().clamp(-_STEPS, _STEPS)
    return _joined(whole.to(torch.int8), tensor), scale


def _groups(tensor: Tensor) -> Tensor:
    """(rows, groups, 64), the last of a row filled with zeros; a row is as few of the last axes as hold 64 numbers."""
    axis = tensor.ndim - 1
    while axis > 0 and math.prod(tensor.shape[axis:]) < _GROUP:
        axis -= 1
    rows = tensor.reshape(math.prod(tensor.shape[:axis]), -1)
    return torch.unflatten(fn.pad(rows, (0, -rows.shape[1] % _GROUP)), 1, (-1, _GROUP))


def _joined(groups: Tensor, like: Tensor) -> Tensor:
    """The inverse of `_groups`."""
    return groups.flatten(1)[:, : like.numel() // len(groups)].reshape(like.shape).contiguous()


def write(
    tensors: Mapping[str, Tensor],
    path: Path,
    limit: int | None = None,
    also: Mapping[Path, bytes] | None = None,
) -> list[Path]:
    """Write `path` (.safetensors), or shards of at most `limit` bytes, and files that belong to it, all together."""
    parts = [dict(tensors)] if limit is None else _split(tensors, limit)
    files = _names(path, len(parts))
    stale = {file for file in (path, *_shards(path)) if file.exists()} - set(files)
    # Not `save_file`, whose files nobody but their owner may read.
    write_together({file: save(part) for part, file in zip(parts, files, strict=True)} | dict(also or {}))
    for file in stale:
        file.unlink()
    return files


def read(path: Path) -> dict[str, Tensor]:
    """The tensors of `path` (.safetensors), or of all its shards when there is no such file."""
    tensors: dict[str, Tensor] = {}
    for file in find(path):
        try:
            tensors |= load_file(file)
        except (OSError, SafetensorError) as error:
            raise InputError(
                f"{file}: not a whole safetensors file ({error}): copy or download it again"
            ) from None
    return tensors


def find(path: Path) -> list[Path]:
    """The file, or all the shards that stand for it; none if there is neither, an error if a shard is missing."""
    if path.exists():
        return [path]
    found = _shards(path)
    if not found:
        raise InputError(f"{path}: no such file: a network is two files, .safetensors and .json, of one name")
    expected = _names(path, int(found[0].stem[-_DIGITS:]))
    missing = [file.name for file in expected if file not in found]
    if missing or len(found) > len(expected):
        which = f"{missing[0]} is missing" if missing else f"{found[-1].name} is of another set"
        raise InputError(f"{path.parent}: {which}: copy all {len(expected)} shards of {path.stem} again")
    return expected


def exists(path: Path) -> bool:
    """Whether there is such a file, or a shard of it."""
    return path.exists() or bool(_shards(path))


def _split(tensors: Mapping[str, Tensor], limit: int) -> list[dict[str, Tensor]]:
    """The tensors in order, in parts; a new part begins where the next tensor would not fit."""
    parts: list[dict[str, Tensor]] = [{}]
    for name, tensor in tensors.items():
        if parts[-1] and sum(part.nbytes for part in parts[-1].values()) + tensor.nbytes > limit:
            parts.append({})
        parts[-1][name] = tensor
    return parts


def _names(path: Path, count: int) -> list[Path]:
    if count == 1:
        return [path]
    numbers = (f"{k:0{_DIGITS}d}-of-{count:0{_DIGITS}d}" for k in range(1, count + 1))
    return [path.with_name(f"{path.stem}-{number}.safetensors") for number in numbers]


def _shards(path: Path) -> list[Path]:
    files = path.parent.iterdir() if path.parent.is_dir() else ()
    return sorted(f for f in files if (m := _SHARD.search(f.name)) and f.name[: m.start()] == path.stem)
