"""The finite-element problem of a batch: matrices from positions and conductivities, solutions part by part."""

from collections.abc import Iterator
from typing import NamedTuple

import torch
from jaxtyping import Float64
from torch import Tensor

from eitlens.forward.elements.body import ElementBody
from eitlens.forward.elements.conductivity import Conductivities
from eitlens.forward.elements.interfaces import MeshFrame
from eitlens.forward.elements.quadratic import contact, metric, stiffness
from eitlens.forward.elements.sweep import change_of_load, solve
from eitlens.forward.elements.tree import Tree
from eitlens.memory import chunk_size

Loads = Float64[Tensor, "_ unknowns currents"]

# Copies of all the matrices of parts that are there at the same time while a body is solved; measured: 2.
_COPIES = 3
# Bytes of matrices that a CPU has at a time: larger arrays leave its cache and come from the system anew each time,
# which takes two to three times as long.
_CACHE = 2 * 2**20


class ElementSystem(NamedTuple):
    """The matrices of a batch: A0 of the uniform bodies, A = A0 + Δ, by their entries."""

    tree: Tree
    metrics: Float64[Tensor, "_ triangles points 3"]
    sigma: Float64[Tensor, "batch triangles points"]
    outside: Float64[Tensor, "batch"]
    rest: Float64[Tensor, "_ entries_of_contacts"]
    """The contacts, and the unknown 0 held fast."""

    @property
    def uniform(self) -> Float64[Tensor, "_ entries"]:
        """The entries of A0: once for all bodies that share them."""
        same = len(self.metrics) == 1 and bool((self.outside == self.outside[0]).all())
        outside = self.outside[:1] if same else self.outside
        return self._with_rest(stiffness(self.metrics * outside[:, None, None, None]))

    @property
    def change(self) -> Float64[Tensor, "batch entries_of_elements"]:
        """The entries of Δ."""
        excess = self.sigma - self.outside[:, None, None]
        return stiffness(self.metrics * excess[..., None])

    @property
    def whole(self) -> Float64[Tensor, "batch entries"]:
        """The entries of A."""
        return self._with_rest(stiffness(self.metrics * self.sigma[..., None]))

    def _with_rest(self, entries: Tensor) -> Float64[Tensor, "_ entries"]:
        return torch.cat([entries, self.rest.expand(len(entries), -1)], 1)

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
    body: ElementBody,
    tree: Tree,
    frame: MeshFrame,
    bodies: Conductivities,
    admittance: Float64[Tensor, "electrodes"],
) -> ElementSystem:
    """The system of a batch, with the contacts' 1/z."""
    positions, sigma = bodies.at_points(frame)
    edges, electrode = body.contacts.to(positions.device), body.electrode.to(positions.device)
    under = contact(positions, edges, admittance[electrode][None])
    rest = torch.nn.functional.pad(under, (0, 1), value=1.0)
    return ElementSystem(tree, metric(positions, frame.triangles), sigma, bodies.outside, rest)


def parts(body: ElementBody, bodies: Conductivities, currents: int) -> Iterator[slice]:
    """Slices of the batch that fit the memory."""
    matrices = sum(
        level.merge.shape[0] * (level.inner.shape[1] + level.outer.shape[1]) ** 2
        for level in body.tree.levels
    )
    fields = body.tree.unknowns * currents
    numbers, device = matrices + fields + len(body.tree.place), bodies.outside.device
    size = chunk_size(8 * _COPIES * numbers, device)
    if device.type == "cpu":
        size = min(size, max(1, _CACHE // (8 * numbers)))
    return (slice(k, k + size) for k in range(0, len(bodies.outside), size))
