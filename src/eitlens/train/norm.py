"""Batch norms over the batch of all processes, so that how many there are does not change the network."""

from typing import cast

import torch
from torch import Tensor, nn
from torch import distributed as dist
from torch.distributed.nn.functional import all_reduce


class SharedBatchNorm(nn.BatchNorm2d):
    """Batch norm with mean and variance over all processes, on the CPU as well, which torch's own refuses.

    Mean and mean square are summed over processes by an all-reduce whose gradient is an all-reduce. Every
    process must hold equally many samples, as they do in training.
    """

    def forward(self, x: Tensor) -> Tensor:
        """Normalise (B, C, H, W) over all but the channels."""
        if not self.training:
            return super().forward(x)
        # x less its running mean: the variance of what is far from zero would lose its digits otherwise.
        assert self.running_mean is not None
        assert self.running_var is not None
        offset = self.running_mean.clone()
        shifted = x.float() - offset[:, None, None]
        moments = torch.stack([shifted.mean((0, 2, 3)), shifted.square().mean((0, 2, 3))])
        world = dist.get_world_size()
        mean, square = cast(Tensor, all_reduce(moments)) / world  # type: ignore[no-untyped-call]
        variance = (square - mean.square()).clamp(min=0)
        self._remember((mean + offset).detach(), variance.detach(), world * x.numel() // x.shape[1])
        scale = (variance + self.eps).rsqrt() * self.weight
        normal: Tensor = (shifted - mean[:, None, None]) * scale[:, None, None] + self.bias[:, None, None]
        return normal.to(x.dtype)

    @torch.no_grad()
    def _remember(self, mean: Tensor, variance: Tensor, count: int) -> None:
        assert self.running_mean is not None
        assert self.running_var is not None
        assert self.num_batches_tracked is not None
        assert self.momentum is not None
        self.running_mean.lerp_(mean, self.momentum)
        self.running_var.lerp_(variance * count / max(1, count - 1), self.momentum)
        self.num_batches_tracked.add_(1)


def share_norms(network: nn.Module, device: torch.device) -> None:
    """Replace the batch norms of a network in place, weights and names kept."""
    for name, child in network.named_children():
        if type(child) is nn.BatchNorm2d:
            setattr(network, name, _shared(child, device))
        else:
            share_norms(child, device)


def _shared(norm: nn.BatchNorm2d, device: torch.device) -> nn.Module:
    if device.type == "cuda":
        torchs: nn.Module = nn.SyncBatchNorm.convert_sync_batchnorm(norm)  # type: ignore[no-untyped-call]
        return torchs
    shared = SharedBatchNorm(norm.num_features, norm.eps, norm.momentum)
    shared.load_state_dict(norm.state_dict())
    return shared
