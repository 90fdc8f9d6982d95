"""Tensors in one safetensors file or in several: `name.safetensors`, or `name-00001-of-00003.safetensors` and so on."""

import os
import re
from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import Tensor

from eitlens.errors import InputError

LIMIT = 15_000_000
"""Most bytes of tensors in a file: what hosts and reviewers of repositories take without complaint."""
_SHARD = re.compile(r"-(\d{5})-of-(\d{5})\.safetensors$")


def halved(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Matrices and kernels in float16, each weight changed by at most one part in 2,000.

    Vectors, such as the variances of norms, stay float32: they are few and may be tiny.
    """
    return {k: t.half() if t.ndim > 1 and t.dtype == torch.float32 else t for k, t in tensors.items()}


def widened(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """16-bit numbers as float32, which every network computes with."""
    short = (torch.float16, torch.bfloat16)
    return {k: t.float() if t.dtype in short else t for k, t in tensors.items()}


def write(tensors: Mapping[str, Tensor], path: Path, limit: int | None = None) -> list[Path]:
    """Write `path` (.safetensors), or shards of at most `limit` bytes; what was there stays until all are written."""
    parts = [dict(tensors)] if limit is None else _split(tensors, limit)
    files = _names(path, len(parts))
    partial = [file.with_name(file.name + ".partial") for file in files]
    for part, file in zip(parts, partial, strict=True):
        # Not `save_file`, whose files nobody but their owner may read.
        file.write_bytes(save(part))
    stale = {file for file in (path, *_shards(path)) if file.exists()} - set(files)
    for temporary, file in zip(partial, files, strict=True):
        os.replace(temporary, file)
    for file in stale:
        file.unlink()
    return files


def read(path: Path) -> dict[str, Tensor]:
    """The tensors of `path` (.safetensors), or of all its shards when there is no such file."""
    tensors: dict[str, Tensor] = {}
    for file in find(path):
        tensors |= _load(file)
    return tensors


def find(path: Path) -> list[Path]:
    """The file, or all the shards that stand for it; none if there is neither, an error if a shard is missing."""
    if path.exists():
        return [path]
    found = _shards(path)
    if not found:
        raise InputError(f"{path}: no such file: a network is two files, .safetensors and .json, of one name")
    expected = _names(path, int(_number(found[0])[2]))
    missing = [file.name for file in expected if file not in found]
    if missing or len(found) > len(expected):
        which = f"{missing[0]} is missing" if missing else f"{found[-1].name} is of another set"
        raise InputError(f"{path.parent}: {which}: copy all {len(expected)} shards of {path.stem} again")
    return expected


def exists(path: Path) -> bool:
    """Whether there is such a file, or a shard of it."""
    return path.exists() or bool(_shards(path))


def _load(path: Path) -> dict[str, Tensor]:
    try:
        return load_file(path)
    except (OSError, SafetensorError) as error:
        raise InputError(
            f"{path}: not a whole safetensors file ({error}): copy or download it again"
        ) from None


def _split(tensors: Mapping[str, Tensor], limit: int) -> list[dict[str, Tensor]]:
    """In order, a new part whenever the next tensor would not fit."""
    parts: list[dict[str, Tensor]] = [{}]
    room = limit
    for name, tensor in tensors.items():
        if tensor.nbytes > room and parts[-1]:
            parts.append({})
            room = limit
        parts[-1][name] = tensor
        room -= tensor.nbytes
    return parts


def _names(path: Path, count: int) -> list[Path]:
    if count == 1:
        return [path]
    return [path.with_name(f"{path.stem}-{k:05d}-of-{count:05d}.safetensors") for k in range(1, count + 1)]


def _shards(path: Path) -> list[Path]:
    if not path.parent.is_dir():
        return []
    return sorted(
        f for f in path.parent.iterdir() if (m := _SHARD.search(f.name)) and f.name[: m.start()] == path.stem
    )


def _number(path: Path) -> re.Match[str]:
    match = _SHARD.search(path.name)
    assert match is not None
    return match
