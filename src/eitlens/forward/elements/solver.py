"""Finite elements for continuous currents: any body, any conductivity."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import torch
from jaxtyping import Float64
from torch import Tensor

from eitlens import checks
from eitlens.domain import Domain
from eitlens.errors import InputError
from eitlens.forward.base import Currents, Data, Solver, check_currents
from eitlens.forward.currents import project
from eitlens.forward.elements.body import ElementBody, build
from eitlens.forward.elements.conductivity import ElementConductivity, read
from eitlens.forward.elements.outline import DEFAULT
from eitlens.forward.elements.quadratic import line
from eitlens.forward.elements.system import assemble, parts

_NODES_AN_EDGE = 3.0
"""Boundary nodes of the body for each edge of the mesh: its finest resolves no less than half of their waves."""

_SAME = 1e-9  # arclengths so close to each other are of one point


@dataclass(frozen=True)
class ElementSolver(Solver):
    """A solver for f - f0 of any conductivity in any body, by quadratic finite elements fitted to sharp interfaces.

    Discretisation. Triangles of six nodes with curved sides. For a phantom the vertices next to its interfaces move
    onto them, and the middles of the sides between follow the curve (`interfaces`). The current g stands for sources
    at the boundary nodes of the body, each on the quadratic functions of its edge; the data are the values of u there.
    Λ is symmetric, kills constants and decreases as σ grows.

    Solution. Nested dissection in batched dense blocks (`sweep`), directly: any contrast takes the same time. f - f0
    keeps its relative accuracy for small inclusions, and is zero without any. Batches are worked off in parts that fit
    the memory.

    `size` is the longest edge inside the body; by default its perimeter over 90, or as long as three boundary nodes
    are apart if that is more. Caveats: an outline with a radius of curvature below `size` is blunted, a gap or shape
    thinner than `size` is seen as an average; corners of inclusions cost an order.
    Differentiable (once) in the currents, in values of σ and in the parameters of shapes.

    >>> solver = eit.ElementSolver(eit.Disk(32))
    >>> phantom = eit.Phantom([eit.circle((0.2, 0.1), 0.3), eit.circle((0.4, 0.1), 0.3)], [10.0, 0.1])
    >>> solver.difference(phantom, eit.currents.cosine(solver.domain, 2)).shape
    torch.Size([2, 256])
    """

    domain: Domain
    size: float | None = None
    order: ClassVar[float] = 3.0

    def __post_init__(self) -> None:
        if not isinstance(self.domain, Domain):
            raise InputError(
                f"ElementSolver: expected a body such as Square(200), got {checks.shown(self.domain)}"
            )
        if self.size is not None:
            checks.positive_number(self.size, "ElementSolver: size")

    @cached_property
    def body(self) -> ElementBody:
        """The mesh and all that belongs to it."""
        apart = _NODES_AN_EDGE * self.domain.boundary_weight
        size = self.size or max(apart, self.domain.perimeter / DEFAULT)
        corners = self.domain.corners or (0.0,)
        breaks = torch.tensor(corners, dtype=torch.float64)
        return build(self.domain, self.domain.boundary(), breaks, 0, size, min(size, apart))

    def difference(self, conductivity: ElementConductivity, currents: Currents) -> Data:
        """The data f - f0; see `Solver.difference`."""
        given = checks.real(currents, "currents")
        bodies = read(self.domain, self.body, conductivity, given.device)
        count = len(bodies.outside)
        g = check_currents(self.domain, given, count)
        tree, frame = self.body.tree.to(g.device), self.body.frame.to(g.device)
        place = self._places().to(g.device)
        load = self.domain.boundary_weight * place.T @ (g if g.ndim == 3 else g[None]).mT
        none = load.new_zeros(0)
        found = []
        for rows in parts(self.body, bodies, load.shape[-1]):
            system = assemble(self.body, tree, frame, bodies.part(rows), none)
            found.append((place @ system.difference(load if len(load) == 1 else load[rows])).mT)
        data = project(torch.cat(found))
        return data.view(*bodies.shape, *data.shape[1:])

    def _places(self) -> Float64[Tensor, "boundary unknowns"]:
        """The values at the boundary nodes of the body from those at the nodes of the mesh."""
        mesh, s = self.body.mesh, self.domain.arclength()
        start = torch.from_numpy(mesh.arclength)
        around = self.domain.perimeter
        k = (torch.searchsorted(start, s + _SAME) - 1) % mesh.boundary
        length = (start.roll(-1) - start) % around
        t = 2 * ((s - start[k] + _SAME) % around - _SAME) / length[k] - 1
        nodes = torch.stack([k, (k + 1) % mesh.boundary, torch.from_numpy(mesh.middle)[k]], 1)
        table = torch.zeros(len(s), self.body.tree.unknowns, dtype=torch.float64)
        return table.scatter_add(1, nodes, line(t))
