"""Direct sampling made learnable: one layer with the query, key and value of `eitlens.classical.index_attention`.

For each of L currents the layer computes (Q * K) / (V * V)^½ at the nodes, as eq. 22 of the paper has it, with

    Q = x_h (W₀^Q + P A^Q),   K = x_h (W₀^K + P A^K),   V = x_h (W₀^V + P A^V).

W₀ are the matrices of direct sampling, so with A = 0, as it begins, the layer is direct sampling. A is learned: what
the query, key and value of a node take from `rank` components P of the data of all currents together. These are the
leading principal components of training data, each divided by its spread, so that a small one counts as much as a large
one. A matrix has rank × 2M numbers to learn instead of (2M)². The logits are the indices, each times a number, plus a
number.
"""

import math
from typing import Literal, NamedTuple

import torch
from jaxtyping import Float, Float64
from torch import Tensor, nn

from eitlens.classical.dsm import probing
from eitlens.classical.index_attention import factors
from eitlens.domain import Domain

Part = Literal["query", "key", "value"]
PARTS: tuple[Part, ...] = ("query", "key", "value")
_LEAST = 1e-12  # of the square of a value, for the gradient where a value vanishes
_GAIN, _BIAS = 10.0, -3.0  # before they are fitted: an index of 0.3 is the outline
Values = Float[Tensor, "batch currents boundary"]


class Exponents(NamedTuple):
    """The exponents of direct sampling, see `eitlens.classical.dsm`: here the paper's."""

    s: float = 1.5
    gamma: float = 0.0


PAPER = Exponents()


class LearnedIndex(nn.Module):
    """Boundary data (B, L, N) ↦ logits (B, nx, ny), direct sampling to begin with.

    Buffers: `waves` (N, 2K), the frequencies of the boundary times κ^γ; `extension` (N, 2, M), from data to the
    gradient of their extension; `scale` (M), the size of a dipole, mean over directions; `factor` (M, 2, 2), L / scale
    with |η|² = |Lᵀd|²; `components` (L N, rank).
    """

    waves: Tensor
    extension: Tensor
    scale: Tensor
    factor: Tensor
    components: Tensor

    def __init__(
        self,
        domain: Domain,
        components: Float64[Tensor, "currents boundary rank"],
        exponents: Exponents = PAPER,
    ) -> None:
        super().__init__()
        probe, weight = probing(domain, *exponents), domain.boundary_weight
        _, dx, dy = domain.extend_with_gradient(weight * (probe.modes.T * probe.weights) @ probe.modes)
        rows = [torch.stack([a, b], -1) for a, b in ((probe.xx, probe.xy), (probe.xy, probe.yy))]
        lower = factors(torch.stack(rows, -2).flatten(0, 1))
        scale = (lower.square().sum((-2, -1)) / 2).sqrt()
        parts = {
            "waves": weight * probe.modes.T * probe.weights.sqrt(),
            "extension": torch.stack([dx.flatten(1), dy.flatten(1)], 1),
            "scale": scale,
            "factor": lower / scale[:, None, None],
            "components": components.flatten(0, 1),
        }
        for name, part in parts.items():
            self.register_buffer(name, part.float())
        self.grid = domain.shape
        currents, _, rank = components.shape
        learned = {part: torch.zeros(currents, rank, 2, math.prod(self.grid)) for part in PARTS}
        self.learned = nn.ParameterDict({part: nn.Parameter(zero) for part, zero in learned.items()})
        self.gain = nn.Parameter(torch.full((currents,), _GAIN / currents))
        self.bias = nn.Parameter(torch.tensor(_BIAS))

    def index(self, data: Values) -> Float[Tensor, "batch currents nodes"]:
        """The index of each current."""
        size = (data @ self.waves).norm(dim=-1)[..., None, None]
        x = torch.einsum("blk,kan->blan", data, self.extension) / (size * self.scale)
        seen = normalised(data) @ self.components
        query, key, value = (torch.einsum("br,lran->blan", seen, self.learned[part]) for part in PARTS)
        value = value + torch.einsum("nca,blcn->blan", self.factor, x)
        index: Tensor = ((x + query) * (x + key)).sum(-2) / (value.square().sum(-2) + _LEAST).sqrt()
        return index

    def forward(self, data: Values) -> Float[Tensor, "batch nx ny"]:
        """The logits."""
        logits = torch.einsum("bln,l->bn", self.index(data), self.gain) + self.bias
        return torch.unflatten(logits, -1, self.grid)


def normalised(data: Float[Tensor, "batch currents boundary"]) -> Float[Tensor, "batch features"]:
    """The data of each current with a root mean square of 1, all currents in a row."""
    return (data / data.square().mean(-1, keepdim=True).sqrt()).flatten(1)


def principal_components(
    data: Float64[Tensor, "batch currents boundary"], rank: int
) -> Float64[Tensor, "currents boundary rank"]:
    """The leading directions of normalised data, each over the root mean square of the data along it.

    >>> data = torch.randn(500, 1, 64, dtype=torch.float64)
    >>> components = principal_components(data, 8)
    >>> round(float((normalised(data) @ components[0]).square().mean()), 6)
    1.0
    """
    rows = normalised(data)
    values, vectors = torch.linalg.eigh(rows.T @ rows / len(rows))
    kept = (vectors / values.clamp(min=torch.finfo(values.dtype).tiny).sqrt()).flip(1)[:, :rank]
    return torch.unflatten(kept, 0, data.shape[1:])
