"""A data set from arrays that one already has: boundary differences and pictures of the truth."""

from pathlib import Path

import torch
from jaxtyping import Bool, Float64
from torch import Tensor

from eitlens import checks
from eitlens.dataset.config import Split
from eitlens.dataset.imported import ImportWriter
from eitlens.domain import Domain, check_boundary_values
from eitlens.errors import InputError
from eitlens.forward.currents import CurrentsConfig, project

_SHARD = 400  # samples in a file, as in generated data sets


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
    splits = _splits(len(data), *parts)
    writer = ImportWriter(folder, here, currents, data.numpy().tobytes() + mask.numpy().tobytes())
    for rows in torch.split(torch.arange(len(data)), _SHARD):
        writer.add(data[rows], mask[rows])
    writer.finish(folder.name, splits, {"arrays": writer.digest})


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
