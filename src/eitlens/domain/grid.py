"""The grid of all planar bodies: they are scaled into the box [-1, 1]²."""

import torch
from jaxtyping import Float64
from torch import Tensor

from eitlens.memory import cached


@cached
def box(n: int, device: torch.device) -> Float64[Tensor, "nx ny 2"]:
    """The (n+1)² nodes of n cells a side, indexed [i, j] with x growing along i and y along j; not to be changed."""
    line = torch.arange(n + 1, dtype=torch.float64, device=device) * 2 / n - 1
    return torch.stack(torch.meshgrid(line, line, indexing="ij"), -1)
