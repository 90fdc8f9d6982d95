"""A data set from arrays that one already has: boundary differences and pictures of the truth."""

import hashlib
from dataclasses import asdict
from pathlib import Path

import torch
from jaxtyping import Bool, Float64
from torch import Tensor

from eitlens import checks
from eitlens.dataset.config import Split
from eitlens.dataset.manifest import FILE, Manifest, list_shards, write_manifest
from eitlens.dataset.samples import Samples, pack
from eitlens.dataset.shard import Header, made_with, shard_name, write_shard
from eitlens.domain import Domain, check_boundary_values
from eitlens.domain.base import CPU
from eitlens.errors import InputError
from eitlens.files import make_folder
from eitlens.forward.currents import CurrentsConfig, project

_SHARD = 400
"""Samples in a file, as in generated data sets."""


def write_arrays(
    folder: Path,
    difference: object,
    truth: object,
    body: Domain,
    currents: CurrentsConfig,
    parts: tuple[float, float],
) -> None:
    """Write the arrays as a data set; `parts` are the shares of the samples for validation and for test."""
    mask = _checked_truth(truth)
    here = body.at(mask.shape[-1] - 1)
    data = _checked_difference(difference, here, len(mask), currents.count)
    if (folder / FILE).exists() or (folder / shard_name(0)).exists():
        raise InputError(f"{folder} already holds a data set: choose an empty folder")
    make_folder(folder)
    digest = hashlib.sha256(data.numpy().tobytes() + mask.numpy().tobytes()).hexdigest()
    headers: dict[str, Header] = {}
    for start in range(0, len(data), _SHARD):
        rows = torch.arange(start, min(start + _SHARD, len(data)))
        header = Header(
            digest,
            start,
            start + len(rows),
            here.shape[0] - 1,
            asdict(currents),
            made_with(CPU),
            body=body.name,
        )
        headers[shard_name(len(headers))] = header
        write_shard(
            folder / shard_name(len(headers) - 1),
            header,
            Samples(rows, data[rows], pack(mask[rows]), here.shape[0], None),
        )
    manifest = Manifest(
        name=folder.name,
        n=here.shape[0] - 1,
        currents=currents,
        splits=_splits(len(data), *parts),
        source={"imported": {"arrays": digest}},
        made_with=(made_with(CPU),),
        shards=list_shards(folder, headers),
        body=body.name,
    )
    write_manifest(folder, manifest)


def _checked_truth(truth: object) -> Bool[Tensor, "samples nx ny"]:
    values = checks.finite(checks.physics(truth, "truth"), "truth").cpu()
    if values.ndim != 3 or not len(values) or values.shape[1] != values.shape[2]:
        raise InputError(
            f"truth: expected pictures (samples, nodes, nodes), got an array of shape {tuple(values.shape)}"
        )
    if not bool(((values == 0) | (values == 1)).all()):
        raise InputError(
            "truth: expected 1 in an inclusion and 0 elsewhere, got other numbers: threshold them first"
        )
    return values > 0


def _checked_difference(
    difference: object, body: Domain, samples: int, currents: int
) -> Float64[Tensor, "samples currents boundary"]:
    data = check_boundary_values(body, difference, "difference").cpu()
    if data.ndim != 3 or data.shape[:2] != (samples, currents):
        raise InputError(
            f"difference: expected ({samples}, {currents}, {body.boundary_size}) values f - f0, a row for each sample "
            f"of the truth and each current, got the shape {tuple(data.shape)}"
        )
    return project(data)


def _splits(count: int, validation: float, test: float) -> dict[Split, tuple[int, int]]:
    if not (validation >= 0 and test >= 0 and validation + test < 1):
        raise InputError(
            f"validation={validation}, test={test}: expected shares that leave samples for training"
        )
    stop = count - round(test * count)
    start = stop - round(validation * count)
    return {"train": (0, start), "validation": (start, stop), "test": (stop, count)}
