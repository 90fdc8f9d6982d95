"""The stiffness matrix as the uniform body's plus what the inclusions change: A = A0 + Δ.

Eliminating the kinks k, whose matrix is K and whose coupling to the nodes is B, leaves on the nodes

    Δ = D - Bᵀ K⁻¹ B,        D the change of the matrix between nodes (`cells`).

Δ touches only the nodes of inclusions and of the cells that the interface cuts. These are the unknowns; they
are numbered sample by sample, those next to kinks first, and every sample of a batch gets as many as the
largest needs (a few nodes more do no harm: their rows are zero). Rows are lists of a fixed number of
neighbours, so Δ x is a sequence of gathers: the same numbers are added in the same order on every run.
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float64, Int64
from torch import Tensor

from eitlens.forward.grid.cells import NEIGHBOURS, Cells, neighbour_weights, touched_nodes
from eitlens.forward.grid.chain import ChainInverse, invert, lay_out
from eitlens.forward.grid.interfaces import Kinks
from eitlens.forward.grid.rows import product, take

Unknowns = Float64[Tensor, "batch currents unknowns"]
KinkValues = Float64[Tensor, "batch currents kinks"]
Vertices = Int64[Tensor, "batch 4 kinks"]
Used = Bool[Tensor, "batch kinks"]


class Entries(NamedTuple):
    """The numbers in the matrix, which derivatives are taken for."""

    weights: Float64[Tensor, "batch 9 unknowns"]
    coupling: Float64[Tensor, "batch 4 kinks"]
    link: Float64[Tensor, "batch kinks"]


@dataclass(frozen=True)
class System:
    """Δ on the unknowns of a batch."""

    entries: Entries
    nodes: Int64[Tensor, "batch unknowns"]
    """Flat grid index of each unknown."""
    neighbours: Int64[Tensor, "batch 9 unknowns"]
    vertices: Vertices
    follower: Int64[Tensor, "batch kinks"]
    incident: Int64[Tensor, "batch width band"]
    """The kinks at each of the first unknowns: Bᵀ by rows."""
    incident_weight: Float64[Tensor, "batch width band"]
    inverse: ChainInverse
    contrast: Float64[Tensor, "batch"]
    """The largest conductivity over that outside."""

    def __call__(self, x: Unknowns) -> Unknowns:
        """Δ x."""
        y = product(self.entries.weights, self.neighbours, x)
        if self.follower.shape[1]:
            kinks = self.inverse(self.at_kinks(x))
            y[..., : self.incident.shape[2]] -= product(self.incident_weight, self.incident, kinks)
        return y

    def at_kinks(self, x: Unknowns) -> KinkValues:
        """B x."""
        return product(self.entries.coupling, self.vertices, x)

    def kinks(self, x: Unknowns) -> KinkValues:
        """The values of the kinks that belong to nodal values x, -K⁻¹ B x."""
        return -self.inverse(self.at_kinks(x)) if self.follower.shape[1] else self.at_kinks(x)

    def derivative(self, adjoint: Unknowns, x: Unknowns) -> Entries:
        """-∂(adjointᵀ A x)/∂entries, summed over the currents."""
        weights = torch.stack([-(adjoint * take(x, self.neighbours[:, k])).sum(1) for k in range(9)], 1)
        kinks, adjoint_kinks = self.kinks(x), self.kinks(adjoint)
        coupling = torch.stack(
            [-_symmetric(kinks, x, adjoint_kinks, adjoint, self.vertices[:, k]) for k in range(4)], 1
        )
        link = -_symmetric(kinks, kinks, adjoint_kinks, adjoint_kinks, self.follower)
        return Entries(weights, coupling, link)


def _symmetric(kinks: Tensor, x: Tensor, adjoint_kinks: Tensor, adjoint: Tensor, index: Tensor) -> Tensor:
    """Derivative of a bilinear form by an entry that appears on both sides of the diagonal."""
    return (adjoint_kinks * take(x, index) + kinks * take(adjoint, index)).sum(1)


def assemble(cells: Cells, kinks: Kinks) -> System:
    """Number the unknowns and write down their rows."""
    layout = lay_out(kinks.follower, kinks.present)
    used = layout.slot < kinks.present.shape[1]
    at, coupling = _lay(kinks.vertices, layout.slot), _lay(kinks.coupling, layout.slot)
    link = _lay(kinks.link[:, None], layout.slot)[:, 0]
    nodes, unknown, band = _number(touched_nodes(cells.active), at, used)
    vertices = torch.where(used[:, None], unknown.gather(1, at.flatten(1)).view_as(at), 0)
    return System(
        Entries(neighbour_weights(cells, nodes), coupling, link),
        nodes,
        _neighbours(nodes, unknown, cells.lower.shape[-1] + 1),
        vertices,
        layout.follower,
        *_transpose(vertices, used, coupling.detach(), band),
        invert(link.detach(), layout.follower),
        1 + torch.maximum(cells.lower, cells.upper).detach().amax((1, 2)),
    )


def _lay(values: Tensor, slot: Int64[Tensor, "batch places"]) -> Tensor:
    """Values (batch, any, slots) at the slots that lie at each place, 0 where there is none."""
    padded = torch.nn.functional.pad(values, (0, 1))
    return padded.gather(2, slot[:, None].expand(-1, values.shape[1], -1))


def _number(
    touched: Bool[Tensor, "batch nodes"], at: Vertices, used: Used
) -> tuple[Int64[Tensor, "batch unknowns"], Int64[Tensor, "batch nodes"], int]:
    """The nodes in order of number, the number of each node, and how many are next to kinks.

    Nodes next to kinks come first, then the other touched ones, then the rest; each in order of the grid.
    """
    spare = torch.zeros(len(touched), touched.shape[1] + 1, dtype=torch.bool, device=touched.device)
    index = torch.where(used[:, None], at, touched.shape[1]).flatten(1)
    near = spare.scatter(1, index, True)[:, :-1]
    first, second = near.sum(1, keepdim=True), (touched | near).sum(1, keepdim=True)
    number = torch.where(near, near.cumsum(1), first + (touched & ~near).cumsum(1))
    number = torch.where(touched | near, number, second + (~touched & ~near).cumsum(1)) - 1
    own = torch.arange(touched.shape[1], device=touched.device).expand_as(number)
    nodes = torch.empty_like(number).scatter(1, number, own)[:, : int(second.max())]
    return nodes, number, int(first.max())


def _neighbours(
    nodes: Int64[Tensor, "batch unknowns"], unknown: Int64[Tensor, "batch nodes"], size: int
) -> Tensor:
    """Numbers of each unknown and its eight neighbours; any other number where the row has a zero."""
    steps = torch.tensor([0] + [di * size + dj for di, dj in NEIGHBOURS], device=nodes.device)
    around = (nodes[:, None] + steps[:, None]).clamp(0, size**2 - 1)
    return unknown.gather(1, around.flatten(1)).view_as(around).clamp(max=nodes.shape[1] - 1)


def _transpose(
    vertices: Vertices, used: Used, coupling: Float64[Tensor, "batch 4 kinks"], band: int
) -> tuple[Int64[Tensor, "batch width band"], Float64[Tensor, "batch width band"]]:
    """Bᵀ by rows: the kinks that each of the first `band` unknowns meets and the entries, then zeros."""
    if not band:
        return vertices.new_zeros(len(used), 0, 0), coupling.new_zeros(len(used), 0, 0)
    node, entry = torch.where(used[:, None], vertices, band).flatten(1).sort(dim=1, stable=True)
    place = torch.arange(node.shape[1], device=node.device).expand_as(node)
    begins = torch.nn.functional.pad(node[:, 1:] != node[:, :-1], (1, 0), value=True)
    rank = torch.where(node < band, place - torch.where(begins, place, 0).cummax(1).values, 0)
    shape = (len(node), int(rank.max()) + 1, band + 1)
    target = rank * (band + 1) + node
    kink = node.new_zeros(shape).flatten(1).scatter(1, target, entry % used.shape[1])
    weight = coupling.new_zeros(shape).flatten(1).scatter(1, target, coupling.flatten(1).gather(1, entry))
    return kink.view(shape)[..., :band], weight.view(shape)[..., :band]
