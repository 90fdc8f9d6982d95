"""The index of direct sampling as query, key and value: eqs. 20 to 22 of the paper and its appendix D, as matrices.

With x_h = [∂₁φ, ∂₂φ] a row of 2M numbers, M the nodes of the grid, the paper writes the index as

    C (Q * K) / (V * V)^½,   Q = x_h W^Q,  K = x_h W^K,  V = x_h W^V,

products and quotient node by node. Here are its matrices, so that this is the index of `eitlens.classical.dsm` to
rounding. Three things are not as printed:

- Q, K and V have two numbers a node, one for each direction, and the products are added up over both. So W^Q, W^K and
  W^V are 2M × 2M, not 2M × M: with M columns the product of two sums would stand where the sum of two products does.
- |η_x|² = dᵀ M(x) d has a term 2 M₁₂ d₁ d₂, which eq. 41 leaves out. It is kept: with the Cholesky
  factor M = L Lᵀ the value is Lᵀ d instead of (√M₁₁ d₁, √M₂₂ d₂).
- The probing direction d = ∇φ / |∇φ| makes W^Q depend on the data. It need not: numerator and denominator are both
  proportional to the length of d, so d = ∇φ gives the same index, and W^Q = W^K = 1.
"""

from typing import NamedTuple

import torch
from jaxtyping import Float64
from torch import Tensor

from eitlens.domain import Domain, Square
from eitlens.forward.currents import arclength

Dipoles = Float64[Tensor, "2 boundary nodes"]
"""Traces of dipoles: column i of the n-th matrix is that of a dipole of unit strength at node i along axis n."""


class Elements(NamedTuple):
    """Linear elements on the square: the paper's B and R, and ψ, the gradients at the nodes.

    Attributes:
        laplacian: B, (M, M): -Δ with Neumann data, and the mean over the boundary nodes, which makes it regular.
        trace: R, (N, M), the values at the boundary nodes.
        gradient: (2, M, M), ∂₁ and ∂₂ at the nodes, of second order; their rows are the ψ_{n,i}.
    """

    laplacian: Float64[Tensor, "nodes nodes"]
    trace: Float64[Tensor, "boundary nodes"]
    gradient: Float64[Tensor, "2 nodes nodes"]

    def dipoles(self) -> Dipoles:
        """R B⁻¹ ψ for all nodes and both axes."""
        solved = torch.linalg.solve(self.laplacian, self.gradient.mT)
        found: Dipoles = self.trace @ solved
        return found

    def extend(
        self, values: Float64[Tensor, "*batch boundary"], weight: float
    ) -> Float64[Tensor, "*batch 2 nodes"]:
        """x_h = ∇φ at the nodes for Neumann data of zero mean, `weight` the length of boundary of a node."""
        phi = torch.linalg.solve(self.laplacian, weight * (values @ self.trace).mT).mT
        return torch.stack([phi @ part.T for part in self.gradient], -2)


class Weights(NamedTuple):
    """W^Q, W^K and W^V, which multiply x_h from the right."""

    query: Float64[Tensor, "features features"]
    key: Float64[Tensor, "features features"]
    value: Float64[Tensor, "features features"]


def linear_elements(square: Square) -> Elements:
    """The matrices B, R and ψ of a grid: right triangles, whose Laplacian is the five-point stencil."""
    n = square.n
    one = torch.eye(n + 1, dtype=torch.float64)
    step = one[1:] - one[:-1]
    # A side of a cell at the boundary belongs to one triangle instead of two.
    mass = one.clone()
    mass[0, 0] = mass[-1, -1] = 0.5
    stiffness = torch.kron(step.T @ step, mass) + torch.kron(mass, step.T @ step)
    slope = (torch.roll(one, 1, 1) - torch.roll(one, -1, 1)) / (2 * square.h)
    slope[0], slope[-1] = 0.0, 0.0
    edge = torch.tensor([-1.5, 2.0, -0.5], dtype=torch.float64) / square.h
    slope[0, :3], slope[-1, -3:] = edge, -edge.flip(0)
    trace = torch.eye((n + 1) ** 2, dtype=torch.float64)[square.loop()]
    mean = trace.mean(0)
    gradient = torch.stack([torch.kron(slope, one), torch.kron(one, slope)])
    return Elements(stiffness + torch.outer(mean, mean), trace, gradient)


def dipoles(domain: Domain) -> Dipoles:
    """The traces of dipoles without a mesh: by reciprocity they are the gradients of all harmonic extensions."""
    unit = torch.eye(domain.boundary_size, dtype=torch.float64)
    _, dx, dy = domain.extend_with_gradient(unit)
    return torch.stack([dx.flatten(1), dy.flatten(1)]) / domain.boundary_weight


def boundary_norm(domain: Domain, s: float, modes: int | None = None) -> Float64[Tensor, "boundary boundary"]:
    """The matrix V of |η|²_s = ηᵀ V η on the boundary, of the first `modes` frequencies, by default all."""
    modes = domain.boundary_size // 2 - 1 if modes is None else modes
    waves = domain.boundary_weight * arclength(domain, 2 * modes)
    order = torch.arange(1, modes + 1, dtype=torch.float64).repeat_interleave(2)
    return (waves.T * (order * (2 * torch.pi / domain.perimeter)) ** (2 * s)) @ waves


def sizes(probes: Dipoles, norm: Float64[Tensor, "boundary boundary"]) -> Float64[Tensor, "nodes 2 2"]:
    """The matrices M(x) of all nodes, ψᵀ B⁻¹ Rᵀ V R B⁻¹ ψ."""
    return torch.einsum("abi,bc,dci->iad", probes, norm, probes)


def factors(matrices: Float64[Tensor, "nodes 2 2"]) -> Float64[Tensor, "nodes 2 2"]:
    """The Cholesky factors L of M = L Lᵀ, which is singular at a corner, where both fluxes are one number."""
    first = matrices[:, 0, 0].sqrt()
    below = matrices[:, 0, 1] / first
    last = (matrices[:, 1, 1] - below.square()).clamp(min=0).sqrt()
    zero = torch.zeros_like(first)
    return torch.stack([torch.stack([first, zero], -1), torch.stack([below, last], -1)], -2)


def weights(probes: Dipoles, norm: Float64[Tensor, "boundary boundary"]) -> Weights:
    """W^Q, W^K and W^V of direct sampling."""
    nodes = probes.shape[-1]
    one = torch.eye(2 * nodes, dtype=torch.float64)
    blocks = factors(sizes(probes, norm))
    value = torch.cat([torch.cat([blocks[:, i, j].diag() for j in range(2)], 1) for i in range(2)])
    return Weights(one, one, value)


def attend(
    x: Float64[Tensor, "*batch 2 nodes"], found: Weights, size: Float64[Tensor, "*batch"]
) -> Float64[Tensor, "*batch nodes"]:
    """C (Q * K) / (V * V)^½ with C = 1 / `size`, the norm of f - f0 on the boundary."""
    q, k, v = (torch.unflatten(x.flatten(-2) @ one, -1, (2, -1)) for one in found)
    index: Tensor = (q * k).sum(-2) / torch.linalg.vector_norm(v, dim=-2) / size[..., None]
    return index
