"""Batches and memory: chunks that fit a budget, some samples of a batch, and constants made once."""

from collections.abc import Callable
from dataclasses import fields, replace
from functools import lru_cache, wraps
from typing import Any, ParamSpec, TypeVar, cast

import torch
from jaxtyping import Int64
from torch import Tensor

P = ParamSpec("P")
T = TypeVar("T")

_CPU_BUDGET = 2**28  # bytes: more is no faster there, and a server has several at once
_CUDA_BUDGET, _CUDA_FRACTION = 8 * 2**30, 0.5  # enough to be busy, and never all: others use the GPU, too


def cached(function: Callable[P, T]) -> Callable[P, T]:
    """Remember the last results of a function that makes constant tensors, which nobody may change in place.

    So a function for users gives them a copy: `xy = square.nodes(); xy += 1` must not move everybody's nodes.
    They are made outside inference mode: what is made inside can never be trained through, and a validation
    often comes before the first training step.
    """

    @wraps(function)
    def make(*args: P.args, **kwargs: P.kwargs) -> T:
        with torch.inference_mode(False), torch.no_grad():
            return function(*args, **kwargs)

    return cast(Callable[P, T], lru_cache(maxsize=16)(make))  # a few grids and bodies at once


def chunk_size(bytes_per_sample: int, device: torch.device) -> int:
    """The number of samples that fit the budget: 256 MiB on a CPU, 8 GiB or half of what is free on a GPU."""
    budget = _CPU_BUDGET
    if device.type == "cuda":
        budget = min(_CUDA_BUDGET, int(_CUDA_FRACTION * _free(device)))
    return max(1, budget // max(1, bytes_per_sample))


def _free(device: torch.device) -> int:
    """Free bytes of a GPU, with those that torch holds in reserve."""
    put_by = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return torch.cuda.mem_get_info(device)[0] + put_by


def select(batch: T, rows: slice | Int64[Tensor, "rows"]) -> T:
    """Select samples of a batch: rows of every tensor in a dataclass or named tuple."""
    some: Any = batch
    if isinstance(batch, tuple):
        some = type(batch)(*(select(part, rows) for part in batch))
    elif hasattr(batch, "__getitem__"):
        some = some[rows]
    else:
        some = replace(some, **{part.name: select(getattr(some, part.name), rows) for part in fields(some)})
    return cast(T, some)
