"""Devices and processes, by Lightning's Fabric: one process, or those that torchrun started."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from lightning.fabric import Fabric
from lightning.fabric.strategies.ddp import DDPStrategy

from eitlens import device
from eitlens.device import pick_device
from eitlens.train.config import Precision


def create_fabric(precision: Precision, device: str) -> Fabric:
    """Fabric on this process's device; under torchrun joined with the others, by NCCL or gloo."""
    chosen = pick_device(device)
    local, world = (int(os.environ.get(name, "1")) for name in ("LOCAL_WORLD_SIZE", "WORLD_SIZE"))
    strategy: str | DDPStrategy = "auto"
    if world > 1:
        backend = "nccl" if chosen.type == "cuda" else "gloo"
        # Batch norms are shared, so buffers are equal anyway.
        strategy = DDPStrategy(process_group_backend=backend, broadcast_buffers=False)
    fabric = Fabric(
        accelerator=chosen.type,
        devices=[chosen.index] if chosen.type == "cuda" and world == 1 else local,
        num_nodes=max(1, world // local),
        strategy=strategy,
        precision="bf16-mixed" if precision == "bf16" else "32-true",
    )
    fabric.launch()
    return fabric


@contextmanager
def float32_products(precision: Precision) -> Iterator[None]:
    """TF32 for what is left in float32 unless the precision is that, and as before afterwards.

    Shapes do not change, so the fastest convolution is worth looking for.
    """
    cudnn = torch.backends.cudnn
    before = cudnn.benchmark
    with device.float32_products(tf32=precision != "32"):
        cudnn.benchmark = True
        try:
            yield
        finally:
            cudnn.benchmark = before
