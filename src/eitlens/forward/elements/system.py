"""The finite-element problem of a batch: matrices from positions and conductivities, solutions part by part."""

from collections.abc import Iterator
from typing import NamedTuple

import torch
from jaxtyping import Float64
from torch import Tensor

from eitlens.forward.elements.body import ElementBody
from eitlens.forward.elements.conductivity import Bodies
from eitlens.forward.elements.fitting import MeshFrame
from eitlens.forward.elements.quadratic import contact, metric, stiffness
from eitlens.forward.elements.sweep import change_of_load, solve
from eitlens.forward.elements.tree import Tree
from eitlens.memory import chunk_size

Loads = Float64[Tensor, "_ unknowns currents"]

# Copies of all the matrices of parts that are there at the same time while a body is solved; measured: 2.
_COPIES = 3


class ElementSystem(NamedTuple):
    """The matrix A0 of the uniform bodies, by entries, and what the elements' matrices change in it."""

    tree: Tree
    uniform: Float64[Tensor, "_ entries"]
    change: Float64[Tensor, "batch entries_of_elements"]

    @property
    def whole(self) -> Float64[Tensor, "batch entries"]:
        """The entries of A = A0 + Δ."""
        rest = self.uniform.shape[1] - self.change.shape[1]
        return self.uniform + torch.nn.functional.pad(self.change, (0, rest))

    def uniform_potentials(self, load: Loads) -> Loads:
        """The potentials u0 of the uniform bodies: A0 u0 = load."""
        return solve(self.tree, self.uniform, load)

    def potentials(self, load: Loads) -> Loads:
        """The potentials u: A u = load."""
        return solve(self.tree, self.whole, load)

    def difference(self, load: Loads) -> Loads:
        """U - u0 by A (u - u0) = -Δ u0, which keeps its digits however small it is."""
        u0 = self.uniform_potentials(load)
        return solve(self.tree, self.whole, change_of_load(self.tree, self.change, u0))


def assemble(
    body: ElementBody, tree: Tree, frame: MeshFrame, bodies: Bodies, admittance: Float64[Tensor, "electrodes"]
) -> ElementSystem:
    """The system of a batch, with the contacts' 1/z."""
    positions, sigma = bodies.at_points(frame)
    outside = bodies.outside
    if len(positions) == 1 and bool((outside == outside[0]).all()):
        outside = outside[:1]
    metrics = metric(positions, frame.triangles)
    device = positions.device
    under = contact(positions, body.contacts.to(device), admittance[body.electrode.to(device)][None])
    uniform = stiffness(metrics * outside[:, None, None, None])
    count = max(len(uniform), len(under))
    ground = torch.ones(count, 1, dtype=torch.float64, device=device)
    entries = [part.expand(count, -1) for part in (uniform, under, ground)]
    excess = sigma - bodies.outside[:, None, None]
    return ElementSystem(tree, torch.cat(entries, 1), stiffness(metrics * excess[..., None]))


def parts(body: ElementBody, bodies: Bodies, currents: int) -> Iterator[slice]:
    """Slices of the batch that fit the memory."""
    matrices = sum(
        level.merge.shape[0] * (level.inner.shape[1] + level.outer.shape[1]) ** 2
        for level in body.tree.levels
    )
    fields = body.tree.unknowns * currents
    numbers, device = matrices + fields + len(body.tree.place), bodies.outside.device
    size = chunk_size(8 * _COPIES * numbers, device)
    return (slice(k, k + size) for k in range(0, len(bodies.outside), size))
