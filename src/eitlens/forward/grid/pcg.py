"""Conjugate gradients for A w = -Δ u0, A = A0 + Δ, preconditioned by A0.

The residual, and A0 times the search direction, which obeys the same recurrence as the direction itself, live
where Δ does: on the unknowns of the system. Only A0⁻¹ needs the whole grid, one cosine transform a step there
and back. Nor is w needed until the end: with q = A0 w, the charge that the inclusions induce, w = A0⁻¹ q
once. Since A0 knows everything about the problem but the contrast, the number of steps depends on the
contrast alone.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float64, Int64
from torch import Tensor

from eitlens.cancellation import check_wanted
from eitlens.errors import ConvergenceError
from eitlens.forward.grid.laplacian import Laplacian
from eitlens.forward.grid.system import System, Unknowns
from eitlens.memory import select

_LARGE = 100.0  # a contrast: above it Δ u0 grows, and the solution hardly does
_STEPS_UNWATCHED = 3  # on a GPU, where asking whether all are done makes the host wait for the device

PerCurrent = Float64[Tensor, "batch currents"]


@dataclass(frozen=True)
class Stopping:
    """Stop a current when its residual, in the norm (r, A0⁻¹ r)^½, has fallen by the factor `tolerance`.

    The residual begins at Δ u0, which grows with the contrast, where the solution does not: above a contrast of 100 it
    must fall by as much more.
    """

    tolerance: float
    max_steps: int

    def factor(self, contrast: Float64[Tensor, "batch"]) -> Float64[Tensor, "batch"]:
        """The factor by which the residual is to fall."""
        return self.tolerance * (_LARGE / contrast).clamp(max=1.0)


@dataclass(frozen=True)
class Charge:
    """The induced charge q on the unknowns, and the number of steps each current took."""

    value: Unknowns
    steps: Int64[Tensor, "batch currents"]


@dataclass
class _State:
    residual: Unknowns
    direction: Unknowns
    image: Unknowns
    """A0 times the direction."""
    charge: Unknowns
    energy: PerCurrent
    """(r, A0⁻¹ r)."""
    goal: PerCurrent
    steps: Int64[Tensor, "batch currents"]

    def live(self) -> Bool[Tensor, "batch currents"]:
        return ~(self.energy <= self.goal)


class _Preconditioner:
    """A0⁻¹ from the unknowns to the unknowns, through the grid."""

    def __init__(self, laplacian: Laplacian, system: System, currents: int) -> None:
        self.laplacian = laplacian.aligned
        nodes, size = len(laplacian.gain), len(self.laplacian.gain)
        place = system.nodes // nodes * size + system.nodes % nodes
        self.index = place[:, None].expand(-1, currents, -1)
        self.grid = laplacian.gain.new_empty(len(system.nodes) * currents, size, size)
        self.work = torch.empty_like(self.grid)

    def __call__(self, r: Unknowns) -> Unknowns:
        flat = self.grid.view(*r.shape[:2], -1)
        flat.zero_().scatter_(2, self.index, r)
        self.laplacian.solve_(self.grid, self.work)
        return flat.gather(2, self.index)


@torch.no_grad()
def solve(system: System, laplacian: Laplacian, start: Unknowns, stopping: Stopping) -> Charge:
    """The charge of w for u0 = `start` on the unknowns."""
    precondition = _Preconditioner(laplacian, system, start.shape[1])
    state = _begin(system, precondition, start, stopping)
    result = Charge(torch.zeros_like(state.charge), torch.zeros_like(state.steps))
    rows = torch.arange(len(start), device=start.device)
    interval = 1 if start.device.type == "cpu" else _STEPS_UNWATCHED
    for step in range(stopping.max_steps + 1):
        check_wanted()
        if step % interval == 0 or step == stopping.max_steps:
            live = state.live().any(1)
            remaining = int(live.sum())
            if 2 * remaining <= len(rows):
                result.value[rows], result.steps[rows] = state.charge, state.steps
                if remaining == 0:
                    return result
                keep = live.nonzero().flatten()
                rows, system, state = rows[keep], select(system, keep), select(state, keep)
                precondition = _Preconditioner(laplacian, system, start.shape[1])
        if step < stopping.max_steps:
            _advance(system, precondition, state)
    raise ConvergenceError(_failure(state, stopping, system))


def _begin(system: System, precondition: _Preconditioner, start: Unknowns, stopping: Stopping) -> _State:
    residual = -system(start)
    direction = precondition(residual)
    energy = (residual * direction).sum(-1)
    charge, steps = torch.zeros_like(residual), torch.zeros_like(energy, dtype=torch.int64)
    goal = stopping.factor(system.contrast).square()[:, None] * energy
    return _State(residual, direction, residual.clone(), charge, energy, goal, steps)


def _advance(system: System, precondition: _Preconditioner, state: _State) -> None:
    """One step, in place. A current that has converged takes a step of length zero."""
    live = state.live()
    image = system(state.direction).add_(state.image)
    length = torch.where(live, state.energy / (state.direction * image).sum(-1), 0.0)[..., None]
    state.charge.addcmul_(length, state.image)
    state.residual.addcmul_(length, image, value=-1)
    gradient = precondition(state.residual)
    energy = (state.residual * gradient).sum(-1)
    ratio = torch.where(live, energy / state.energy, 0.0)[..., None]
    torch.addcmul(gradient, ratio, state.direction, out=state.direction)
    torch.addcmul(state.residual, ratio, state.image, out=state.image)
    state.energy = torch.where(live, energy, state.energy)
    state.steps += live


def _failure(state: _State, stopping: Stopping, system: System) -> str:
    excess = (state.energy / state.goal).sqrt().amax(1)
    worst, expected = int(excess.argmax()), stopping.factor(system.contrast)
    stuck = int(state.live().sum())
    return (
        f"no convergence for {stuck} of {state.energy.numel()} potentials: residual "
        f"{float(excess[worst] * expected[worst]):.2g} after {stopping.max_steps} steps, expected "
        f"{float(expected[worst]):.2g}: allow more steps or a larger tolerance"
    )
