"""Any conductivity: elements on the grid, fitted to sharp interfaces, and conjugate gradients."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import torch
from jaxtyping import Float64, Int64
from torch import Tensor

from eitlens import checks
from eitlens.domain import Domain, Square
from eitlens.errors import InputError
from eitlens.forward.base import Currents, Data, Solver, check_currents, per_conductivity
from eitlens.forward.grid import pcg
from eitlens.forward.grid.adjoint import correction, restrict
from eitlens.forward.grid.conductivity import Conductivity, GridConductivity, as_grid_conductivity
from eitlens.forward.grid.laplacian import laplacian
from eitlens.forward.grid.pcg import Stopping
from eitlens.forward.grid.system import System, assemble
from eitlens.memory import chunk_size, select
from eitlens.threads import free_cores_only

Potentials = Float64[Tensor, "*batch currents nx ny"]

# Fields a current and a sample need at the same time: solution, work space and temporaries, from above.
_FIELDS_A_CURRENT, _FIELDS_A_SAMPLE = 6, 14


class _Problem(NamedTuple):
    """Part of a batch, with conductivity 1 outside; the results are then divided by `outside`."""

    system: System
    uniform: Float64[Tensor, "batch currents nodes nodes"]
    outside: Float64[Tensor, "batch"]


@dataclass(frozen=True)
class GridSolver(Solver):
    """A solver for f - f0 of any conductivity on the grid of the square, to second order.

    Discretisation. Cells of one conductivity have the nine-point element of `laplacian`; cells cut by the
    interface of a phantom or level set have two triangles of linear elements, split along the interface, with
    one kink unknown for each cut edge (`interfaces`). The load is h g at boundary nodes (trapezoid rule), the
    data are nodal values of u. The matrix is symmetric and linear in the conductivities, hence Λ is
    symmetric, kills constants and decreases as they grow, all exactly. The solution for the uniform body is
    split off, so that f - f0 keeps its relative accuracy for small inclusions and is zero without any.

    Solution. The kinks are eliminated exactly (`chain`). Conjugate gradients preconditioned by the uniform
    body (`pcg`) reduce the residual of f - f0 by `tolerance`: to 1e-6 in about 19 steps at contrast 10 and
    50 at contrast 100, on any grid. The boundary data are then within 3e-7 (4e-6) of the discrete solution,
    which itself is 1e-4 (contrast 10) to 1e-3 (0.01) off at n = 200 for the paper's ellipses. Above a contrast
    of 100 the residual is reduced by as much more, which keeps the data that accurate up to 1e8 (200 steps).
    Batches of any size, and any number of currents, are worked off in chunks that fit the memory.

    Caveats: features thinner than a cell are lost; tips of curvature radius below a cell are blunted. As the
    contrast tends to 1, f - f0 tends to the difference of cut and whole elements, not to 0: about 2e-6 of the
    difference at contrast 10 (n = 200), which is felt below contrasts of 1 ± 0.01. An interface may reach the
    boundary (level sets only), but no current should enter there.
    Differentiable (once) in the currents, a Field and a LevelSet, by one adjoint solve.

    >>> square, phantom = eit.Square(32), eit.Phantom([eit.Ellipse((0.2, 0.1), (0.3, 0.2))])
    >>> difference = eit.GridSolver(square).difference(phantom, eit.currents.cosine(square, 1))
    >>> round(float(difference.abs().max()), 2)
    0.15
    """

    domain: Square
    tolerance: float = 1e-6
    max_steps: int = 1000  # five times what contrast 1e6 takes down to 1e-10
    order: ClassVar[float] = 2.0

    def __post_init__(self) -> None:
        if not GridSolver.takes(self.domain):
            hint = "use ElementSolver" if isinstance(self.domain, Domain) else "write Square(200)"
            raise InputError(f"GridSolver is for the Square, got {checks.shown(self.domain)}: {hint}")
        if not 0 < self.tolerance < 1 or self.max_steps < 1:
            given = f"tolerance={self.tolerance}, max_steps={self.max_steps}"
            raise InputError(f"GridSolver needs 0 < tolerance < 1 and max_steps >= 1, got {given}")

    @staticmethod
    def takes(domain: object) -> bool:
        """Whether it solves on this body."""
        return bool(getattr(domain, "fills_grid", False))

    def difference(self, conductivity: Conductivity, currents: Currents) -> Data:
        """The difference f - f0: (L, 4n) for one conductivity, (B, L, 4n) for a batch of them."""
        return self._solve(conductivity, currents, lambda uniform, change: self._trace(change))

    def trace(self, conductivity: Conductivity, currents: Currents) -> Data:
        """The potential f = u on the boundary, with mean zero."""
        return self._solve(conductivity, currents, lambda uniform, change: self._trace(uniform + change))

    def potential(self, conductivity: Conductivity, currents: Currents) -> Potentials:
        """The potential u at the nodes, (L, n+1, n+1) or (B, L, n+1, n+1); its trace has mean zero."""

        def whole(uniform: Tensor, change: Tensor) -> Tensor:
            u = uniform + change
            return u - self.domain.trace(u).mean(-1)[..., None, None]

        return self._solve(conductivity, currents, whole)

    def background(self, currents: Currents, outside: float | Float64[Tensor, "batch"] = 1.0) -> Data:
        """The potential f0 of the uniform body on this grid: what `trace` gives without inclusions.

        Of fourth order in h for currents without slope at the corners; for cos lθ of order 2.5 and within 1e-6
        at n = 200.
        """
        return per_conductivity(self._trace(self._uniform(check_currents(self.domain, currents))), outside)

    def steps(self, conductivity: Conductivity, currents: Currents) -> Int64[Tensor, "*batch currents"]:
        """Count the steps of conjugate gradients that each current takes."""
        given = checks.real(currents, "currents")
        a0 = laplacian(self.domain.n, given.device)

        def count(problem: _Problem) -> Tensor:
            start = restrict(problem.system, problem.uniform)
            return pcg.solve(problem.system, a0, start, self._stopping).steps

        return self._in_parts(conductivity, given, count)

    @property
    def _stopping(self) -> Stopping:
        return Stopping(self.tolerance, self.max_steps)

    def _trace(self, field: Potentials) -> Data:
        values = self.domain.trace(field)
        return values - values.mean(-1, keepdim=True)

    def _uniform(self, g: Currents) -> Potentials:
        """The potential u0 for conductivity 1: A0 u0 = h g at the boundary nodes."""
        size = self.domain.n + 1
        load = g.new_zeros(*g.shape[:-1], size**2)
        load = load.index_copy(-1, self.domain.loop(g.device), self.domain.boundary_weight * g)
        return laplacian(self.domain.n, g.device).solve(load.view(*g.shape[:-1], size, size))

    def _solve(
        self, conductivity: Conductivity, currents: Currents, read: Callable[[Tensor, Tensor], Tensor]
    ) -> Tensor:
        """Solve, and let `read` make the result of u0 and of u - u0."""
        given = checks.real(currents, "currents")
        a0 = laplacian(self.domain.n, given.device)

        def solve(problem: _Problem) -> Tensor:
            change = correction(problem.system, a0, problem.uniform, self._stopping)
            result = read(problem.uniform, change)
            return result / problem.outside.view(-1, *[1] * (result.ndim - 1))

        return self._in_parts(conductivity, given, solve)

    @free_cores_only()
    def _in_parts(
        self, conductivity: Conductivity, currents: Currents, solve: Callable[[_Problem], Tensor]
    ) -> Tensor:
        """Solve for some currents and some samples at a time, and put the results together."""
        body, shape = as_grid_conductivity(self.domain, conductivity, currents.device)
        count = math.prod(shape)
        g = check_currents(self.domain, currents, count)
        g = g.expand(count, -1, -1) if g.ndim == 2 else g
        field = 8 * (self.domain.n + 1) ** 2
        size = chunk_size(_FIELDS_A_CURRENT * field, g.device)
        groups = [g[:, start : start + size] for start in range(0, g.shape[1], size)]
        parts = [torch.cat([solve(p) for p in self._problems(body, group, field)]) for group in groups]
        result = torch.cat(parts, 1)
        return result.view(*shape, *result.shape[1:])

    def _problems(
        self, body: GridConductivity, g: Float64[Tensor, "batch currents boundary"], field: int
    ) -> Iterator[_Problem]:
        size = chunk_size((_FIELDS_A_CURRENT * g.shape[1] + _FIELDS_A_SAMPLE) * field, g.device)
        for start in range(0, len(g), size):
            some = select(body, slice(start, start + size))
            system, load = assemble(*some.elements(self.domain)), g[start : start + size]
            # Currents common to all samples are a view of one of them: solve for these once.
            uniform = self._uniform(load[:1] if load.stride(0) == 0 else load)
            yield _Problem(system, uniform.expand(len(load), -1, -1, -1), torch.as_tensor(some.outside))
