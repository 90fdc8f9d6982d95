"""The solution as a differentiable function of the matrix and of u0, by one adjoint solve.

With A = A0 + Δ(θ), w = -A⁻¹ Δ u0 and u = u0 + w, a change of the entries θ gives A dw = -dΔ u. For a scalar
J(w) with gradient w̄, let λ = A⁻¹ w̄: then

    dJ/dθ = -λᵀ (∂Δ/∂θ) u,        dJ/du0 = -Δ λ,

and λ = A0⁻¹ w̄ + its own correction is one more solve with the same matrix.
"""

import torch
from jaxtyping import Float64
from torch import Tensor
from torch.autograd.function import once_differentiable

from eitlens.forward.grid import pcg
from eitlens.forward.grid.laplacian import Laplacian
from eitlens.forward.grid.pcg import Stopping
from eitlens.forward.grid.rows import take
from eitlens.forward.grid.system import System, Unknowns

Potential = Float64[Tensor, "batch currents nodes nodes"]


def correction(system: System, laplacian: Laplacian, uniform: Potential, stopping: Stopping) -> Potential:
    """The change w = u - u0, differentiable in the entries of the system and in u0."""
    arguments = (*system.entries, uniform, system, laplacian, stopping)
    result: Potential = _Correction.apply(*arguments)  # type: ignore[no-untyped-call]
    return result


class _Correction(torch.autograd.Function):
    @staticmethod
    def forward(  # type: ignore[no-untyped-def]
        ctx,
        weights: Tensor,
        coupling: Tensor,
        link: Tensor,
        uniform: Potential,
        system: System,
        laplacian: Laplacian,
        stopping: Stopping,
    ) -> Potential:
        w = _correct(system, laplacian, uniform, stopping)
        ctx.save_for_backward(uniform, w)
        ctx.problem = (system, laplacian, stopping)
        return w

    @staticmethod
    @once_differentiable
    def backward(ctx, slope: Potential):  # type: ignore[no-untyped-def]
        system, laplacian, stopping = ctx.problem
        uniform, w = ctx.saved_tensors
        adjoint = laplacian.solve(slope)
        adjoint = adjoint + _correct(system, laplacian, adjoint, stopping)
        on_unknowns = restrict(system, adjoint)
        entries = system.derivative(on_unknowns, restrict(system, uniform + w))
        source = -_prolong(system, system(on_unknowns), slope)
        return *entries, source, None, None, None


def _correct(system: System, laplacian: Laplacian, uniform: Potential, stopping: Stopping) -> Potential:
    charge = pcg.solve(system, laplacian, restrict(system, uniform), stopping).value
    return laplacian.solve(_prolong(system, charge, uniform))


def restrict(system: System, field: Potential) -> Unknowns:
    """A field on the grid at the unknowns."""
    return take(field.flatten(2), system.nodes)


def _prolong(system: System, values: Unknowns, like: Potential) -> Potential:
    """Values at the unknowns as a field on the grid, zero elsewhere."""
    index = system.nodes[:, None].expand(-1, values.shape[1], -1)
    return torch.zeros_like(like).flatten(2).scatter(2, index, values).view_as(like)
