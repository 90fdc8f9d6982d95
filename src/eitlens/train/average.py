"""A running mean of the weights: what is validated and kept in its place is better than any single step's."""

import copy

import torch
from torch import Tensor

from eitlens.models import Network

_WARM_UP = 10


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
