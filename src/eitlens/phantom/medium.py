"""The conductivity around the shapes where it is not uniform: phases of a random field, and a smooth factor.

Both are made of cosines on the box (-1, 1)², so they can be had at any point and on any grid:

    g(x, y) = w(x, y) Σ_jk c_jk cos(jπ(x+1)/2) cos(kπ(y+1)/2),    j, k = 0 … K - 1.

The window w is flat in the middle and zero from |x| = 0.95 or |y| = 0.95 on, so that σ is uniform where currents enter.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float64
from torch import Tensor

WAVES = 16
"""Cosines a side: the shortest wave is 0.27 long, about what three currents resolve near the boundary."""
_EDGE, _STEEPNESS = 0.95, 8
"""Where the window ends, as for the paper's ellipses, and its power: it is above 0.9 up to |x| = 0.7."""
Points = Float64[Tensor, "one_or_batch points 2"]
Waves = Float64[Tensor, "batch waves waves"]


@dataclass(frozen=True)
class Medium:
    """The medium of a batch of phantoms, as factors of the conductivity outside.

    Attributes:
        phases: c of the field g that the phases are cut from.
        levels: the first phase is where g is above `levels[0]`, the second where -g is above `levels[1]`; both are
            positive, and infinite where there is no such phase.
        values: factors of the two phases.
        texture: c of log of the smooth factor, which also varies the conductivity of shapes; zeros for none.
    """

    phases: Waves
    levels: Float64[Tensor, "batch two"]
    values: Float64[Tensor, "batch two"]
    texture: Waves

    @property
    def tensors(self) -> dict[str, Tensor]:
        """The tensors by name."""
        return vars(self).copy()

    def mapped(self, change: Callable[[Tensor], Tensor]) -> "Medium":
        """The medium with every tensor changed alike."""
        return Medium(**{name: change(tensor) for name, tensor in self.tensors.items()})

    @property
    def uneven(self) -> Bool[Tensor, "batch"]:
        """Whether the medium of a sample is not uniform."""
        return self.levels.isfinite().any(-1) | self.textured

    @property
    def textured(self) -> Bool[Tensor, "batch"]:
        """Whether a sample has a smooth factor."""
        return (self.texture != 0).flatten(1).any(-1)

    def phase(self, points: Points) -> Float64[Tensor, "batch points"]:
        """The factor of the phase that each point is in, 1 in none."""
        g = field(self.phases, points)
        first, second = (g > self.levels[:, :1]), (-g > self.levels[:, 1:])
        return torch.where(first, self.values[:, :1], torch.where(second, self.values[:, 1:], 1.0))

    def factor(self, points: Points) -> Float64[Tensor, "batch points"]:
        """The smooth factor."""
        return field(self.texture, points).exp()


def field(coefficients: Waves, points: Points) -> Float64[Tensor, "batch points"]:
    """The field g at the points."""
    order = torch.arange(coefficients.shape[-1], dtype=torch.float64, device=points.device)
    x, y = (torch.cos((part[..., None] + 1) * (math.pi / 2 * order)) for part in points.unbind(-1))
    window = (1 - (points / _EDGE).abs() ** _STEEPNESS).clamp(min=0).prod(-1)
    return window * ((x @ coefficients) * y).sum(-1)


def random_waves(
    normal: Float64[Tensor, "batch waves waves"], length: Float64[Tensor, "batch"]
) -> Float64[Tensor, "batch waves waves"]:
    """The c of random fields of unit variance (before the window) and of these correlation lengths.

    The amplitude of a wave number ω is (1 + (length ω)²)^(-3/2), that of a Matérn field of smoothness 2, whose
    gradient is continuous; there is no constant, and no wave beyond `WAVES`.
    """
    order = torch.arange(normal.shape[-1], dtype=torch.float64, device=normal.device) * (math.pi / 2)
    squared = order[:, None].square() + order.square()
    amplitude = (1 + length[:, None, None].square() * squared) ** -1.5
    amplitude[:, 0, 0] = 0.0
    # The mean of cos² over the box is ½, of the constant 1.
    mean = torch.where(order > 0, 0.5, 1.0)
    power = (amplitude.square() * mean[:, None] * mean).sum((-2, -1), keepdim=True)
    return normal * amplitude / power.sqrt()
