"""The network for round tanks: the flagship's design on the code of any electrodes (`eitlens.feature.maps`).

It gives five numbers a pixel: logits of the background, of a resistive and of a conductive object, and the mean and the
logarithm of the deviation of log σ, σ over that of the background. The linear part begins as back-projections of the
modes of the map,

    E_k(x) = Σ_vw a_k[v, w] (|v| |w|)^s ∇φ_v(x)·∇φ_w(x),    φ the harmonic functions of the waves,

for a few exponents s: what a small change of σ at x does to mode k, from blurred to sharp.
"""

import math
from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Float64
from torch import Tensor

from eitlens.errors import InputError
from eitlens.feature.maps import MapPrior
from eitlens.models.base import Network, Preset
from eitlens.models.flagship import Flagship, FlagshipConfig

CLASSES = 3
"""Background, resistive, conductive."""
LARGEST_SIGMA = 5.3
"""Of |log σ|: beyond a ratio of 200 all contrasts look alike."""
LOG_DEVIATIONS = (-4.0, 3.0)
"""They keep the likelihood of log σ finite."""
_SHARPNESS = (0.0, 0.5, 1.0, 1.5)


def tank_config(modes: int, **changes: Any) -> FlagshipConfig:
    """The configuration for a code of so many modes."""
    settings: dict[str, Any] = {
        "currents": 1,
        "grid": 32,
        "fields": len(_SHARPNESS),
        "outputs": CLASSES + 2,
    } | changes
    return FlagshipConfig(modes=modes, **settings)


class TankOutput(NamedTuple):
    """What the network says of each place.

    Attributes:
        probabilities: of the background, a resistive and a conductive object.
        log_sigma, deviation: mean and standard deviation of log σ, σ over that of the background.
    """

    probabilities: Float[Tensor, "samples three *grid"]
    log_sigma: Float[Tensor, "samples *grid"]
    deviation: Float[Tensor, "samples *grid"]


def read_output(outputs: Float[Tensor, "samples five *grid"], temperature: float = 1.0) -> TankOutput:
    """The five numbers of each place in words."""
    logits, log_sigma, log_deviation = torch.split(outputs.float(), [CLASSES, 1, 1], 1)
    deviation = log_deviation.clamp(*LOG_DEVIATIONS).exp()
    return TankOutput((logits / temperature).softmax(1), log_sigma[:, 0], deviation[:, 0])


class Tank(Flagship):
    """Codes of maps (B, 3K + 1) ↦ (B, 5, size, size); see the module."""

    reads = "maps"

    @staticmethod
    def of(network: Network) -> "Tank":
        """The network as one for tanks; an error if it is another."""
        if not isinstance(network, Tank):
            raise InputError(f"expected a network for tanks, got one of the kind {network.preset!r}")
        return network

    def begin_with(self, prior: MapPrior) -> None:
        """Let the linear part begin as back-projections of the prior's modes."""
        fields = back_projections(prior, self.config.grid)
        self.start_linear(fields[1:].float(), fields[0].float())


def back_projections(prior: MapPrior, grid: int) -> Float64[Tensor, "one_and_modes fields grid grid"]:
    """The fields of the mean and of each mode at the centres of cells of [-1, 1]², zero outside the disk."""
    place = (torch.arange(grid, dtype=torch.float64) + 0.5) * (2 / grid) - 1
    x, y = torch.meshgrid(place, place, indexing="ij")
    z = torch.complex(x, y).flatten()
    inside = z.abs() < 1
    order = torch.arange(1, prior.count + 1, dtype=torch.float64)
    # Re z^k / (k √π) has the gradient conj(z^(k-1)) / √π, Im z^k / (k √π) that times i.
    ones = torch.ones_like(z)[None]
    power = torch.cat([ones, torch.where(inside, z, 0.0).expand(prior.count - 1, -1).cumprod(0)])
    power = power / math.sqrt(math.pi) * inside
    slope = torch.cat([power.conj(), 1j * power.conj()])
    matrices = torch.cat([prior.mean[None], prior.modes])
    rows = []
    for s in _SHARPNESS:
        field = (torch.cat([order, order]) ** s)[:, None] * slope
        pair = torch.stack([field.real, field.imag])
        rows.append(sum(torch.einsum("nvw,vx,wx->nx", matrices, part, part) for part in pair))
    return torch.unflatten(torch.stack([torch.as_tensor(row) for row in rows], 1), -1, (grid, grid))


PRESETS = {
    "tank": Preset("Tank", Tank, tank_config(255, grid=24), 12_670_132),
}
