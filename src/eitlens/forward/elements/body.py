"""A body ready for its solver: mesh, order of elimination, and how its nodes follow outline and electrodes."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float64, Int64
from numpy.typing import NDArray
from scipy.sparse import csc_array, diags_array
from scipy.sparse.linalg import splu
from torch import Tensor

from eitlens.domain import Domain
from eitlens.forward.elements.interfaces import MeshFrame
from eitlens.forward.elements.mesh import ElementMesh, mesh
from eitlens.forward.elements.outline import Spacing, at_arclength, space
from eitlens.forward.elements.tree import Tree, dissect

Array = NDArray[np.float64]
Index = NDArray[np.int64]


@dataclass(frozen=True)
class ElementBody:
    """The parts that do not depend on the conductivity. Unknowns are the nodes of the mesh, then the electrodes."""

    mesh: ElementMesh
    spacing: Spacing
    frame: MeshFrame
    tree: Tree
    contacts: Int64[Tensor, "contacts 3"]
    """First, last and middle node of each edge under an electrode."""
    electrode: Int64[Tensor, "contacts"]
    """Which electrode it is."""
    points: Float64[Tensor, "boundary 2"]
    breaks: Float64[Tensor, "breaks"]
    """The boundary nodes and the arclengths of the ends for which the mesh was made."""

    def moved(
        self, points: Float64[Tensor, "boundary 2"], breaks: Float64[Tensor, "breaks"], domain: Domain
    ) -> MeshFrame:
        """The frame as a differentiable function of the boundary points and of the ends of electrodes.

        The vertices inside follow those of the boundary, as means of their neighbours do.
        """
        given = points.requires_grad or breaks.requires_grad
        if not given and torch.equal(points, self.points) and torch.equal(breaks, self.breaks):
            return self.frame
        line = at_arclength(points, self.spacing.arclength(breaks), domain)
        edge, count = line[: self.mesh.boundary], self.mesh.boundary
        inner = self.frame.vertices[count:] + self._harmonic() @ (edge - self.frame.vertices[:count])
        vertices = torch.cat([edge, inner])
        bulge = line[count:] - _between(vertices, self.frame)[self._loop()]
        return self.frame._replace(
            vertices=vertices, bulge=self.frame.bulge.index_copy(0, self._loop(), bulge)
        )

    def _loop(self) -> Int64[Tensor, "boundary"]:
        """The numbers of the boundary edges."""
        return torch.from_numpy(self.mesh.middle - len(self.mesh.vertices))

    def _harmonic(self) -> Float64[Tensor, "inner boundary"]:
        """The share of each boundary vertex in the motion of each inner vertex."""
        size, count = len(self.mesh.vertices), self.mesh.boundary
        a, b = self.mesh.edges.T
        weights = csc_array((np.ones(2 * len(a)), (np.r_[a, b], np.r_[b, a])), shape=(size, size))
        laplacian: csc_array = (diags_array(weights.sum(1)) - weights).tocsc()
        right = -laplacian[count:, :count].toarray()
        return torch.from_numpy(splu(laplacian[count:, count:]).solve(right))


def build(
    domain: Domain,
    points: Float64[Tensor, "boundary 2"],
    breaks: Float64[Tensor, "breaks"],
    electrodes: int,
    size: float,
    longest: float,
) -> ElementBody:
    """The body with ends of electrodes at the first breaks, starts then ends, and corners at the others."""
    spacing = space(breaks.numpy(), 2 * electrodes, size, longest, domain.perimeter)
    s = spacing.arclength(breaks)
    line, count = at_arclength(points, s, domain), len(spacing.sharp)
    found = mesh(line[:count].numpy(), s[:count].numpy(), size)
    beside = _beside(found)
    contacts, electrode = _contacts(found, breaks.numpy(), electrodes, domain.perimeter)
    extras = np.concatenate([contacts, found.nodes + electrode[:, None]], 1)
    owner = beside[contacts[:, 2] - len(found.vertices), 0]
    centres = found.vertices[found.triangles[:, :3]].mean(1)
    tree = dissect(centres, found.triangles, extras, owner, found.nodes + electrodes)
    frame = _frame(found, spacing, line[count:], beside)
    under = torch.from_numpy(contacts), torch.from_numpy(electrode)
    return ElementBody(found, spacing, frame, tree, *under, points, breaks)


def _beside(found: ElementMesh) -> Index:
    """The two triangles of each edge, twice the same at the boundary."""
    edge = found.triangles[:, 3:].ravel() - len(found.vertices)
    triangle = np.repeat(np.arange(len(found.triangles)), 3)
    beside = np.zeros((len(found.edges), 2), np.int64)
    beside[edge, 0] = triangle
    beside[edge[::-1], 1] = triangle[::-1]
    return beside


def _frame(found: ElementMesh, spacing: Spacing, middles: Tensor, beside: Index) -> MeshFrame:
    """The mesh as it moves: middles of edges from the end of an electrode lie at a quarter."""
    sharp = np.zeros(len(found.vertices), bool)
    sharp[: found.boundary] = spacing.sharp.numpy() > 0
    ends = sharp[found.edges]
    share = np.where(ends[:, 0] == ends[:, 1], 0.5, np.where(ends[:, 0], 0.25, 0.75))
    fixed = np.arange(len(found.vertices)) < found.boundary
    vertices, straight = torch.from_numpy(found.vertices), torch.zeros(len(share), 2, dtype=torch.float64)
    shares, edges, triangles, sides, still = map(
        torch.from_numpy, (share, found.edges, found.triangles, beside, fixed)
    )
    frame = MeshFrame(vertices, straight, shares, edges, triangles, sides, still, _around(found))
    loop = torch.from_numpy(found.middle - len(found.vertices))
    bulge = middles - _between(vertices, frame)[loop]
    return frame._replace(bulge=frame.bulge.index_copy(0, loop, bulge))


def _between(vertices: Tensor, frame: MeshFrame) -> Tensor:
    """The points on straight edges where their middles belong."""
    first, last = vertices[frame.edges].unbind(1)
    return first + frame.share[:, None] * (last - first)


def _around(found: ElementMesh) -> Int64[Tensor, "vertices neighbours"]:
    """The neighbours of each vertex, itself where there are no more."""
    both = np.concatenate([found.edges, found.edges[:, ::-1]])
    both = both[np.argsort(both[:, 0], kind="stable")]
    counts = np.bincount(both[:, 0], minlength=len(found.vertices))
    slot = np.arange(len(both)) - np.repeat(np.cumsum(counts) - counts, counts)
    table = np.repeat(np.arange(len(counts))[:, None], counts.max(), 1)
    table[both[:, 0], slot] = both[:, 1]
    return torch.from_numpy(table)


def _contacts(found: ElementMesh, breaks: Array, electrodes: int, perimeter: float) -> tuple[Index, Index]:
    """The edges under electrodes, and which one it is: that in which the middle of the edge lies."""
    s, count = found.arclength, found.boundary
    middle = s + ((np.roll(s, -1) - s) % perimeter) / 2
    start, end = breaks[:electrodes], breaks[electrodes : 2 * electrodes]
    under = (middle[:, None] - start) % perimeter < end - start
    edge, electrode = np.nonzero(under)
    return np.stack([edge, (edge + 1) % count, found.middle[edge]], 1), electrode
