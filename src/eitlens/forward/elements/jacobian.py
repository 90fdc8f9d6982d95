"""The derivative of readings in the conductivity, as a matrix and as an operator.

Let u_l be the potential of current l and w_m that of the unit current through the electrodes as reading m weighs them.
Then dV_lm / dσ(x) = -∇u_l(x)·∇w_m(x): products of fields that are all sums of one field for each electrode.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float64
from torch import Tensor

from eitlens.errors import InputError
from eitlens.forward.elements.conductivity import Interpolation
from eitlens.forward.elements.interfaces import MeshFrame
from eitlens.forward.elements.quadratic import gradients


@dataclass(frozen=True)
class Sensitivity:
    """The linear map dσ ↦ dV of L currents and M readings, for numbers of the shape `shape`.

    >>> start = torch.arange(4, dtype=torch.float64) * torch.pi / 2
    >>> tank = eit.ElementElectrodeSolver(eit.Disk(8), start, start + 0.5, torch.full((4,), 0.01).double())
    >>> eye = torch.eye(4, dtype=torch.float64)
    >>> neighbours = eye - eye.roll(1, 0)
    >>> derivative = tank.jacobian(torch.ones(8, 8, dtype=torch.float64), neighbours, neighbours)
    >>> derivative.matrix().shape
    torch.Size([4, 4, 8, 8])
    """

    driven: Float64[Tensor, "triangles components currents"]
    """∇u at the points of the rule times the roots of their weights; a component for each point and direction."""
    read: Float64[Tensor, "triangles components readings"]
    interpolation: Interpolation
    shape: tuple[int, ...]

    def matrix(self) -> Float64[Tensor, "currents readings *shape"]:
        """The derivatives as one matrix."""
        if self._constant:
            return -(self.driven.mT @ self.read).permute(1, 2, 0)
        shared = self._at_points(self.driven)[..., :, None] * self._at_points(self.read)[..., None, :]
        products = -shared.sum(2).permute(2, 3, 0, 1)
        return torch.unflatten(self.interpolation.transposed(products), -1, self.shape)

    def jvp(self, change: Float64[Tensor, "*shape"]) -> Float64[Tensor, "currents readings"]:
        """The change dV of the readings for a change dσ."""
        self._check(change, self.shape, "change")
        sigma = self.interpolation(change.reshape(1, -1))[0]
        weighted = self._at_points(self.driven) * sigma[..., None, None]
        return -torch.einsum("tpcl,tpcm->lm", weighted, self._at_points(self.read))

    def vjp(self, weights: Float64[Tensor, "currents readings"]) -> Float64[Tensor, "*shape"]:
        """The derivative of Σ weights · V: the transposed map."""
        self._check(weights, (self.driven.shape[-1], self.read.shape[-1]), "weights")
        products = -((self.driven @ weights) * self.read).sum(-1)
        at_points = torch.unflatten(products, 1, (-1, 2)).sum(2)
        return torch.unflatten(self.interpolation.transposed(at_points), -1, self.shape)

    @property
    def _constant(self) -> bool:
        """Whether the numbers are those of the triangles."""
        return self.shape == (len(self.driven),)

    def _at_points(self, field: Tensor) -> Float64[Tensor, "triangles points 2 rows"]:
        return torch.unflatten(field, 1, (-1, 2))

    def _check(self, given: Tensor, shape: tuple[int, ...], name: str) -> None:
        if tuple(given.shape) != shape:
            raise InputError(f"{name}: expected shape {shape}, got {tuple(given.shape)}")


def sensitivity(
    frame: MeshFrame,
    fields: Float64[Tensor, "unknowns electrodes"],
    interpolation: Interpolation,
    currents: Float64[Tensor, "currents electrodes"],
    readings: Float64[Tensor, "readings electrodes"],
    shape: tuple[int, ...],
) -> Sensitivity:
    """The map from the potentials of a unit current through each electrode."""
    positions = frame.positions(frame.vertices[None])
    found = gradients(positions.detach(), frame.triangles, fields).flatten(1, 2)
    return Sensitivity(found @ currents.mT, found @ readings.mT, interpolation, shape)
