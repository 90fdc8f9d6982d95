"""Losses of the training. z are logits, t the true indicator, p = sigmoid(z), all (B, 1, n, n).

`phases` is another: of the five outputs of networks such as `worlds`, and log σ (`models.worlds.phase_loss`).
"""

from collections.abc import Callable
from typing import Literal, get_args

import torch
from torch import Tensor
from torch import distributed as dist
from torch.nn import functional as fn

from eitlens.evaluate.metrics import INSIDE, OUTSIDE
from eitlens.models.worlds import phase_loss

Loss = Callable[[Tensor, Tensor], Tensor]
LossName = Literal["bce", "weighted-bce", "soft-dice", "l2", "phases"]
LOSS_NAMES: tuple[LossName, ...] = get_args(LossName)

_GUARD = 1e-8  # of the published code: a sample without inclusion has a weight, too


def bce(logits: Tensor, target: Tensor) -> Tensor:
    """Cross entropy, the mean over nodes and samples of -t log p - (1 - t) log(1 - p)."""
    return fn.binary_cross_entropy_with_logits(logits, target)


def weighted_bce(logits: Tensor, target: Tensor) -> Tensor:
    """The published code's cross entropy: sample b weighs a_b^-½ / mean(a^-½), a its number of nodes inside.

    The mean is over the batch, over that of all processes where there are several; small inclusions count
    more.
    """
    weight = (target.flatten(1).sum(1) + _GUARD).rsqrt()
    mean = weight.mean()
    if dist.is_available() and dist.is_initialized():
        dist.all_reduce(mean)
        mean = mean / dist.get_world_size()
    each = fn.binary_cross_entropy_with_logits(logits, target, reduction="none").flatten(1).mean(1)
    return (weight / mean * each).mean()


def soft_dice(logits: Tensor, target: Tensor) -> Tensor:
    """1 - (2 Σ p t + 1) / (Σ p + Σ t + 1), mean over samples. Here p = sigmoid(z)."""
    p, t = torch.sigmoid(logits).flatten(1), target.flatten(1)
    return (1 - (2 * (p * t).sum(1) + 1) / (p.sum(1) + t.sum(1) + 1)).mean()


def l2(logits: Tensor, target: Tensor) -> Tensor:
    """|σ̂ - σ|² / |σ|² with σ = 1 + 9 t and σ̂ = 1 + 9 p, mean over samples."""
    jump = INSIDE - OUTSIDE
    error = (jump * (torch.sigmoid(logits) - target)).flatten(1).square().sum(1)
    return (error / (OUTSIDE + jump * target).flatten(1).square().sum(1)).mean()


PHASES: LossName = "phases"
"""The loss of networks of classes and log σ: its target is log σ."""
LOSSES: dict[LossName, Loss] = {
    "bce": bce,
    "weighted-bce": weighted_bce,
    "soft-dice": soft_dice,
    "l2": l2,
    PHASES: phase_loss,
}
