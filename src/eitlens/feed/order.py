"""The order in which samples are seen: a pure function of (seed, epoch), the same on every machine."""

import torch
from jaxtyping import Int64
from torch import Tensor

from eitlens import random
from eitlens.errors import InputError
from eitlens.random import mixed


def shuffled(count: int, seed: int, epoch: int) -> Int64[Tensor, "{count}"]:
    """The numbers 0 … count - 1 in the random order of an epoch, on the CPU."""
    keys = random.uniform(mixed(seed, "order", epoch), torch.arange(count), 1)[:, 0]
    return torch.argsort(keys, stable=True)


def share(size: int, world: int) -> int:
    """The samples of a global batch that each process sees."""
    if size % world:
        raise InputError(
            f"batch of {size} cannot be shared by {world} processes: choose a multiple of {world}"
        )
    return size // world


def batches(
    count: int, size: int, seed: int, epoch: int, rank: int = 0, world: int = 1
) -> Int64[Tensor, "steps local"]:
    """Rows of each training step of an epoch: global batches of `size`, of which this process sees its share.

    The last, shorter batch is left out. Process `rank` of `world` gets columns rank·size/world …, so the
    union over processes is the batch a single process would see.
    """
    if not 0 < size <= count:
        raise InputError(f"batch of {size} from {count} samples: expected 1 … {count}")
    steps, local = count // size, share(size, world)
    rows = shuffled(count, seed, epoch)[: steps * size].reshape(steps, size)
    return rows[:, rank * local : (rank + 1) * local]
