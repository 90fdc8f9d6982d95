"""A square lattice over a body: the nodes at which tank images have their unknowns, whatever the mesh."""

from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Float64, Int64
from scipy.spatial import cKDTree
from torch import Tensor

from eitlens.domain import Domain

Values = Float64[Tensor, "unknowns"]


@dataclass(frozen=True, eq=False)
class Lattice:
    """Nodes in rows and columns over a body, those near it: what values at them are on triangles and elsewhere."""

    nodes: Float64[Tensor, "unknowns 2"]
    right: Int64[Tensor, "unknowns"]
    above: Int64[Tensor, "unknowns"]
    """The neighbours to the right and above by number; a node is its own where it has none."""
    step: Float64[Tensor, "2"]
    """The distance of neighbours in x and in y."""
    corner: Float64[Tensor, "2"]
    number: Int64[Tensor, "columns rows"]
    """The unknown of each node of the box: the nearest one where the node itself is too far from the body."""
    triangles: Float64[Tensor, "triangles unknowns"]
    """σ on triangles from σ at nodes, a sparse matrix."""

    @staticmethod
    def over(
        domain: Domain, cells: int, centres: Float64[Tensor, "triangles 2"], device: torch.device
    ) -> "Lattice":
        """The lattice of so many cells over the box around the body; unknown are the nodes that a triangle needs."""
        grid = domain.at(cells).nodes()
        corner, step = grid[0, 0], grid[1, 1] - grid[0, 0]
        place, weight = _bilinear(centres, corner, step, grid.shape[:2])
        used = torch.unique(place)
        flat = grid.flatten(0, 1)
        nearest = torch.from_numpy(cKDTree(flat[used].numpy()).query(flat.numpy())[1]).reshape(grid.shape[:2])
        row = torch.arange(len(centres))[:, None].expand_as(place)
        entries = torch.stack([row, nearest.flatten()[place]]).flatten(1)
        size = (len(centres), len(used))
        onto = torch.sparse_coo_tensor(entries, weight.flatten(), size, check_invariants=True).coalesce()
        beyond = [_neighbours(grid.shape[:2], used, axis) for axis in (0, 1)]
        parts = (flat[used], *beyond, step, corner, nearest, onto)
        return Lattice(*(part.to(device) for part in parts))

    def on_triangles(self, values: Values) -> Float64[Tensor, "triangles"]:
        """The values on the triangles."""
        return (self.triangles @ values[:, None])[:, 0]

    def collected(self, sums: Float64[Tensor, "triangles columns"]) -> Float64[Tensor, "unknowns columns"]:
        """Derivatives in the values on triangles as derivatives in those at nodes: the transposed map."""
        return self.triangles.T @ sums

    def at(self, values: Values, points: Float64[Tensor, "points 2"]) -> Float64[Tensor, "points"]:
        """The values at any points of the body."""
        place, weight = _bilinear(points, self.corner, self.step, self.number.shape)
        return (values[self.number.flatten()[place]] * weight).sum(-1)

    def gradient(self, values: Values) -> Float64[Tensor, "2 unknowns"]:
        """The differences to the right and upwards, over the step; 0 where there is no neighbour."""
        rise = torch.stack([values[self.right] - values, values[self.above] - values])
        return rise / self.step[:, None]

    @cached_property
    def slopes(self) -> Float64[Tensor, "2 unknowns unknowns"]:
        """The matrices of `gradient`."""
        eye = torch.eye(len(self.nodes), dtype=torch.float64, device=self.nodes.device)
        rise = torch.stack([eye[self.right] - eye, eye[self.above] - eye])
        return rise / self.step[:, None, None]


def _bilinear(points: Tensor, corner: Tensor, step: Tensor, shape: torch.Size) -> tuple[Tensor, Tensor]:
    """The four nodes around each point, by number in the box, and their weights."""
    at = (points - corner) / step
    most = torch.tensor(shape, dtype=torch.float64, device=points.device) - 2
    low = torch.minimum(at.floor().clamp(min=0), most)
    (i, j), (x, y) = low.long().unbind(-1), (at - low).clamp(0, 1).unbind(-1)
    first = i * shape[1] + j
    place = torch.stack([first, first + shape[1], first + 1, first + shape[1] + 1], -1)
    return place, torch.stack([(1 - x) * (1 - y), x * (1 - y), (1 - x) * y, x * y], -1)


def _neighbours(shape: torch.Size, used: Int64[Tensor, "unknowns"], axis: int) -> Int64[Tensor, "unknowns"]:
    """The next unknown along an axis, itself where there is none."""
    table = torch.full((shape[0] * shape[1],), -1)
    table[used] = torch.arange(len(used))
    box = table.reshape(shape[0], shape[1])
    after = torch.full_like(box, -1)
    if axis == 0:
        after[:-1] = box[1:]
    else:
        after[:, :-1] = box[:, 1:]
    found = after.flatten()[used]
    return torch.where(found >= 0, found, torch.arange(len(used)))
