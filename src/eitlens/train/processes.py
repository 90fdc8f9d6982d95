"""The processes of a run, by torch alone: one process, or those that torchrun started, joined by DDP.

Lightning's Fabric saved some of these lines. It brought 14 packages, and to import it took 2.6 of the 4.2 seconds of
`import eitlens.train.loop`.
"""

import atexit
import os
from dataclasses import dataclass
from typing import TypeVar, cast

import torch
from torch import Tensor, nn
from torch import distributed as dist
from torch.nn.parallel import DistributedDataParallel

from eitlens import device
from eitlens.domain.base import CPU
from eitlens.train.config import Precision

T = TypeVar("T")


@dataclass(frozen=True)
class Processes:
    """The place of this process among the `world` processes of a run, its device and its precision."""

    rank: int = 0
    world: int = 1
    device: torch.device = CPU
    precision: Precision = "32"

    @staticmethod
    def join(precision: Precision, name: str) -> "Processes":
        """Join the processes that torchrun started, by NCCL or gloo; without torchrun there is one."""
        chosen, world = device.pick_device(name), int(os.environ.get("WORLD_SIZE", "1"))
        if chosen.type == "cuda":
            chosen = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if world > 1 else chosen
            torch.cuda.set_device(chosen)
        if world > 1 and not dist.is_initialized():
            dist.init_process_group("nccl" if chosen.type == "cuda" else "gloo")
            atexit.register(dist.destroy_process_group)
        return Processes(dist.get_rank() if world > 1 else 0, world, chosen, precision)

    @property
    def first(self) -> bool:
        """Whether this process is the one that writes files and reports."""
        return self.rank == 0

    def wrap(self, network: nn.Module) -> nn.Module:
        """The network with its gradients averaged over processes; batch norms are shared, so buffers are equal."""
        if self.world == 1:
            return network
        gpu = [self.device] if self.device.type == "cuda" else None
        return DistributedDataParallel(network, gpu, broadcast_buffers=False)

    def autocast(self) -> torch.autocast:
        """A context in which the network computes in the precision of the run."""
        return torch.autocast(self.device.type, torch.bfloat16, enabled=self.precision == "bf16")

    def logits(self, module: nn.Module, features: Tensor, exact: bool = False) -> Tensor:
        """The logits of a training step in float32, computed in the precision of the run.

        In bfloat16 the features are rounded before the network sees them, though not in validation: in training the
        16 bits of `models.layers.exact_conv` and the float32 of first layers are lost. Lightning's Fabric did the same
        when the networks of Table 1 and those of the package were trained; rounded still, new runs compare with them.
        An `exact` input is not rounded.
        """
        with self.autocast():
            rounded = features.bfloat16() if self.precision == "bf16" and not exact else features
            return cast(Tensor, module(rounded)).float()

    def sum(self, values: Tensor) -> Tensor:
        """Add the values of all processes, in place."""
        if self.world > 1:
            dist.all_reduce(values)
        return values

    def broadcast(self, item: T) -> T:
        """The item of the first process, in every process."""
        items = [item]
        if self.world > 1:
            dist.broadcast_object_list(items, 0)
        return items[0]

    def barrier(self) -> None:
        """Wait until all processes are here."""
        if self.world > 1:
            dist.barrier()
