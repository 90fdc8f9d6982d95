"""A running mean of the weights, validated and kept in their place: better than the weights of any single step.

torch's `swa_utils.AveragedModel` is not used: it takes 0.97 ms a step for uit-small on a CPU where this takes 0.36 ms
(flagship: 3.1 and 2.4 ms), begins with a copy of the first step's weights, and has a counter of its own to resume.
"""

import copy

import torch
from torch import Tensor

from eitlens.models import Network

_WARM_UP = 10  # as in TensorFlow's moving average


class Average:
    """θ̄ ← d θ̄ + (1 - d) θ after each step, d = min(decay, (1 + i)/(10 + i)); statistics of batch norms too.

    The smaller d of the first steps forgets the initial weights.
    """

    def __init__(self, network: Network, decay: float) -> None:
        self.network = copy.deepcopy(network).eval().requires_grad_(False)
        self.decay = decay
        pairs = list(zip(_tensors(self.network), _tensors(network), strict=True))
        self._means = [mean for mean, _ in pairs if mean.is_floating_point()]
        self._values = [value for _, value in pairs if value.is_floating_point()]
        self._counts = [(mean, value) for mean, value in pairs if not mean.is_floating_point()]

    @torch.no_grad()
    def update(self, step: int) -> None:
        """Take in the weights after step i."""
        decay = min(self.decay, (1 + step) / (_WARM_UP + step))
        torch._foreach_lerp_(self._means, self._values, 1 - decay)
        for mean, value in self._counts:
            mean.copy_(value)


def _tensors(network: Network) -> list[Tensor]:
    return [tensor.detach() for tensor in network.state_dict().values()]
