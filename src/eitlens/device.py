"""The device to compute on, the cores, and how exact float32 is on a GPU."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

import torch

from eitlens.errors import InputError

TRITON = find_spec("triton") is not None
"""Whether Triton is here to build our kernels. A constant, as compilers cannot look through a search for modules."""


def pick_device(name: str = "auto") -> torch.device:
    """`auto` is this process's GPU when there is one (LOCAL_RANK under torchrun), else the CPU."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
    except RuntimeError:
        raise InputError(
            f"no device is called {name!r}: choose auto, cpu, cuda or cuda:0, cuda:1, …"
        ) from None
    if device.type == "cuda":
        if not torch.cuda.is_available():
            raise InputError(f"{name}: this machine or this torch has no CUDA: use --device cpu")
        count = torch.cuda.device_count()
        if name == "cuda":
            device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")) % count)
        if device.index >= count:
            raise InputError(f"{name}: this machine has {count} GPUs, the first is cuda:0")
    elif device.type != "cpu":
        raise InputError(f"{name}: expected cpu or cuda: the physics needs float64")
    return device


def available_cores() -> int:
    """Cores this process may use; OMP_NUM_THREADS asks for fewer, as torchrun does."""
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    wanted = os.environ.get("OMP_NUM_THREADS", "")
    return min(available, int(wanted)) if wanted.isdecimal() and int(wanted) > 0 else available


@contextmanager
def float32_products(tf32: bool, same_shapes: bool = False) -> Iterator[None]:
    """Compute products and convolutions of float32 numbers in TF32 (10 of 23 bits) or in full, inside the block.

    Left alone, PyTorch computes products in full and convolutions in TF32. The setting is one for all threads.
    Where all batches have the `same_shapes`, as in training, the fastest convolution is worth a search.
    """
    cudnn = torch.backends.cudnn
    before = torch.get_float32_matmul_precision(), cudnn.allow_tf32, cudnn.benchmark
    torch.set_float32_matmul_precision("high" if tf32 else "highest")
    cudnn.allow_tf32, cudnn.benchmark = tf32, cudnn.benchmark or same_shapes
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before[0])
        cudnn.allow_tf32, cudnn.benchmark = before[1:]
