"""What is asked of a GPU in more than one place: whether kernels of our own can run, and how exact float32 is."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

import torch

TRITON = find_spec("triton") is not None
"""Whether Triton is here to build our kernels. A constant, as compilers cannot look through a search for modules."""


@contextmanager
def float32_products(tf32: bool) -> Iterator[None]:
    """Products and convolutions of float32 numbers in TF32, with 10 of their 23 bits, or in full; then as before.

    Left alone, PyTorch computes products in full and convolutions in TF32. The setting is one for all threads.
    """
    cudnn = torch.backends.cudnn
    before = torch.get_float32_matmul_precision(), cudnn.allow_tf32
    torch.set_float32_matmul_precision("high" if tf32 else "highest")
    cudnn.allow_tf32 = tf32
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before[0])
        cudnn.allow_tf32 = before[1]
