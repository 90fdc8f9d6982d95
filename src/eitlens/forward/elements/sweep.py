"""Direct solution for all bodies of a batch at once: elimination up the tree, potentials down again.

On the inner (A, B) and outer (C) unknowns of a part, A = L Lᵀ, Y = L⁻¹ B, and what is left is C - Yᵀ Y. A load r on
the inner ones leaves -Yᵀ t on the outer ones, t = L⁻¹ r; on the way down u_inner = L⁻ᵀ (t - Y u_outer). There are no
steps to count, and no contrast makes any difference but in the last digits.

The solution is a differentiable function of the entries and of the load: with λ = A⁻¹ ū a change dA gives -λᵀ dA u.
"""

from typing import NamedTuple

import torch
from jaxtyping import Float64
from torch import Tensor
from torch.autograd.function import once_differentiable

from eitlens.forward.elements.tree import Level, Tree

Entries = Float64[Tensor, "_ entries"]
Potentials = Float64[Tensor, "_ unknowns currents"]


class Pivot(NamedTuple):
    """L and Y of all parts of a level."""

    factor: Float64[Tensor, "batch parts inner inner"]
    coupling: Float64[Tensor, "batch parts inner outer"]


def factorise(tree: Tree, entries: Entries) -> list[Pivot]:
    """Eliminate all unknowns, smallest parts first."""
    leaf, rest, pivots = tree.levels[-1], entries[:, :0], []
    parts, size = len(leaf.inner), leaf.inner.shape[1] + leaf.outer.shape[1]
    for level in reversed(tree.levels):
        if level is leaf:
            flat = entries.new_zeros(len(entries), parts * size**2)
            front = flat.index_add(1, tree.place, entries).view(-1, parts, size, size)
        else:
            front = _merged(level, rest)
        n = level.inner.shape[1]
        factor = torch.linalg.cholesky_ex(front[..., :n, :n] + torch.diag_embed(level.spare).to(front)).L
        coupling = torch.linalg.solve_triangular(factor, front[..., :n, n:], upper=False)
        both = (part.flatten(0, 1) for part in (front[..., n:, n:], coupling.mT, coupling))
        rest = torch.unflatten(torch.baddbmm(*both, alpha=-1), 0, front.shape[:2])
        pivots.append(Pivot(factor, coupling))
    return pivots


def substitute(tree: Tree, pivots: list[Pivot], load: Potentials) -> Potentials:
    """The solution for loads (B, unknowns, L)."""
    leaf = tree.levels[-1]
    parts, size = len(leaf.inner), leaf.inner.shape[1] + leaf.outer.shape[1]
    shape = (len(load), parts * size, load.shape[-1])
    rest = load.new_zeros(shape).index_copy(1, tree.load, load)
    rest = torch.unflatten(rest, 1, (parts, size))
    halfway = []
    for level, pivot in zip(reversed(tree.levels), pivots, strict=True):
        if level is not leaf:
            rest = _gathered(level, rest)
        n = level.inner.shape[1]
        halfway.append(torch.linalg.solve_triangular(pivot.factor, rest[..., :n, :], upper=False))
        rest = rest[..., n:, :] - pivot.coupling.mT @ halfway[-1]
    return _downwards(tree, pivots, halfway)


def _downwards(tree: Tree, pivots: list[Pivot], halfway: list[Tensor]) -> Potentials:
    found = halfway[0].new_zeros(len(halfway[0]), tree.unknowns + 1, halfway[0].shape[-1])
    for level, pivot, half in zip(tree.levels, reversed(pivots), reversed(halfway), strict=True):
        outer = torch.unflatten(found[:, level.outer.flatten()], 1, tuple(level.outer.shape))
        inner = torch.linalg.solve_triangular(pivot.factor.mT, half - pivot.coupling @ outer, upper=True)
        # Empty slots come out as zero, and go to the one row more.
        found = found.index_copy(1, level.inner.flatten(), inner.flatten(1, 2))
    return found[:, :-1]


def _merged(level: Level, rest: Float64[Tensor, "batch children outer outer"]) -> Tensor:
    """The matrices of parts from what is left of their halves."""
    size, slots = rest.shape[-1], level.merge.shape[-1]
    index = (level.merge[..., :, None] * size + level.merge[..., None, :]).flatten(2)
    one, other = torch.unflatten(rest.flatten(2), 1, (-1, 2)).unbind(2)
    shape = (len(rest), -1, -1)
    both = one.gather(2, index[:, 0].expand(shape)) + other.gather(2, index[:, 1].expand(shape))
    return torch.unflatten(both, 2, (slots, slots))


def _gathered(level: Level, rest: Float64[Tensor, "batch children outer currents"]) -> Tensor:
    """The loads of parts from what is left of their halves."""
    one, other = torch.unflatten(rest, 1, (-1, 2)).unbind(2)
    index = level.merge[..., None].expand(len(rest), -1, -1, -1, rest.shape[-1])
    return one.gather(2, index[:, :, 0]) + other.gather(2, index[:, :, 1])


def solve(tree: Tree, entries: Entries, load: Potentials) -> Potentials:
    """The solution of A u = load, differentiable once in both."""
    found: Potentials = _Solve.apply(tree, entries, load)  # type: ignore[no-untyped-call]
    return found


class _Solve(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(tree: Tree, entries: Entries, load: Potentials) -> Potentials:
        return substitute(tree, factorise(tree, entries), load)

    @staticmethod
    def setup_context(ctx, inputs, output):  # type: ignore[no-untyped-def]
        ctx.tree, entries, load = inputs
        ctx.shape = load.shape
        ctx.save_for_backward(entries, output)

    @staticmethod
    @once_differentiable
    def backward(ctx, slope: Potentials):  # type: ignore[no-untyped-def]
        entries, u = ctx.saved_tensors
        adjoint = substitute(ctx.tree, factorise(ctx.tree, entries), slope)
        return (
            None,
            -_products(ctx.tree, adjoint, u).sum_to_size(entries.shape),
            adjoint.sum_to_size(ctx.shape),
        )


def _products(tree: Tree, left: Potentials, right: Potentials) -> Entries:
    """The products of potentials that each entry stands between, summed over the currents."""
    groups = [(left[:, m] @ right[:, m].mT).flatten(1) for m in (tree.members, tree.extras)]
    ground = (left[:, :1] * right[:, :1]).sum(2)
    return torch.cat([*groups, ground], 1)


def change_of_load(
    tree: Tree, change: Float64[Tensor, "batch entries_of_elements"], u: Potentials
) -> Potentials:
    """The load -Δ u of the difference of two solutions, Δ a change of the elements' matrices."""
    matrices = change.view(len(change), -1, 6, 6)
    charges = -(matrices @ u[:, tree.members]).flatten(1, 2)
    empty = charges.new_zeros(len(charges), tree.unknowns, u.shape[-1])
    return empty.index_add(1, tree.members.flatten(), charges)
