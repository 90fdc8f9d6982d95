"""The kinks along an interface form a chain: each meets only the one before and the one after it.

Their matrix is tridiagonal along every interface, closed to a ring where the interface is a closed curve. It
is inverted exactly in two levels. The rings are laid out in order, in blocks of 16; the first kink of a block
is a separator. Between separators the 15 others of a block are independent of all other blocks and have a
small dense inverse; what remains for the separators is a small dense matrix for each sample. Both are
inverted once and then applied as products.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float64, Int64
from torch import Tensor
from torch.nn.functional import pad

BLOCK = 16
"""Kinks a block: small enough for dense inverses, and the matrix of the separators is 16 times smaller."""

Slots = Int64[Tensor, "batch slots"]
Numbers = Int64[Tensor, "batch blocks"]
Values = Float64[Tensor, "batch currents places"]


class Layout(NamedTuple):
    """The order of the kinks. A place without a kink holds the slot number `slots`, one beyond the last."""

    slot: Int64[Tensor, "batch places"]
    """The kink at each place; its follower is one place before it, except for separators."""
    follower: Int64[Tensor, "batch places"]
    """The place of its follower; its own at the end of an open chain and where there is no kink."""


@dataclass(frozen=True)
class ChainInverse:
    """K⁻¹ = P + H R⁻¹ Hᵀ: P inverts between separators, H = (-P E, 1), R is the separators' matrix.

    E holds the entries between separators and the others; R = 1 + (direct entries) - Eᵀ P E.
    """

    between: Float64[Tensor, "batch blocks block block"]
    own: Float64[Tensor, "batch blocks block"]
    """The columns of H of the separator that starts the block, in the block."""
    above: Float64[Tensor, "batch blocks block"]
    """The columns of H of the separator that follows into the block from above, in the block."""
    upper: Numbers
    """The number of that separator."""
    lower: Numbers
    """The block that each separator follows into."""
    joined: Float64[Tensor, "batch blocks"]
    """1, or 0 for a separator without a follower."""
    separators: Float64[Tensor, "batch blocks blocks"]

    def __call__(self, load: Values) -> Values:
        """K⁻¹ load for all currents."""
        blocks = load.view(*load.shape[:2], -1, BLOCK).transpose(1, 2)
        from_above = (blocks * self.above[:, :, None]).sum(-1)
        charge = (blocks * self.own[:, :, None]).sum(-1)
        followed = from_above.gather(1, self.lower[..., None].expand_as(charge))
        value = self.separators @ (charge + followed * self.joined[..., None])
        value_above = value.gather(1, self.upper[..., None].expand_as(value))
        result = blocks @ self.between
        result.addcmul_(value[..., None], self.own[:, :, None])
        result.addcmul_(value_above[..., None], self.above[:, :, None])
        return result.transpose(1, 2).flatten(-2)


def lay_out(follower: Slots, present: Bool[Tensor, "batch slots"]) -> Layout:
    """Order the kinks of every chain and cut it into blocks."""
    leader, rank = _rank(follower)
    count = torch.zeros_like(follower).scatter_reduce(1, leader, torch.where(present, rank + 1, 0), "amax")
    blocks = (count + BLOCK - 1) // BLOCK
    start = blocks.cumsum(1) - blocks
    total = BLOCK * int(blocks.sum(1).max()) if blocks.numel() else 0
    place = torch.where(present, BLOCK * start.gather(1, leader) + rank, total)
    slots = follower.shape[1]
    slot = torch.full((len(follower), total + 1), slots, device=follower.device)
    slot = slot.scatter(1, place, torch.arange(slots, device=place.device).expand_as(place))[:, :total]
    own = torch.arange(total, device=place.device).expand_as(slot)
    after = pad(place.gather(1, follower), (0, 1)).gather(1, slot)
    return Layout(slot, torch.where(slot < slots, after, own))


def _rank(follower: Slots) -> tuple[Slots, Slots]:
    """The leader of each chain and every kink's distance to it, by doubling the jumps.

    The leader of an open chain is its end, that of a ring its smallest slot.
    """
    rounds = math.ceil(math.log2(max(2, follower.shape[1]))) + 1
    own = torch.arange(follower.shape[1], device=follower.device).expand_as(follower)
    smallest, jump = own, follower
    for _ in range(rounds):
        smallest = torch.minimum(smallest, smallest.gather(1, jump))
        jump = jump.gather(1, jump)
    leader = torch.where(follower.gather(1, jump) == jump, jump, smallest)
    jump = torch.where(own == leader, own, follower)
    rank = (own != leader).to(torch.int64)
    for _ in range(rounds):
        rank = rank + rank.gather(1, jump)
        jump = jump.gather(1, jump)
    return leader, rank


@torch.no_grad()
def invert(link: Float64[Tensor, "batch places"], follower: Int64[Tensor, "batch places"]) -> ChainInverse:
    """The inverse of the matrix with unit diagonal and `link` between each place and its follower."""
    links = link.view(len(link), -1, BLOCK)
    count = links.shape[1]
    own = torch.arange(count, device=link.device).expand(len(link), -1)
    target = follower[:, ::BLOCK]
    joined = target != BLOCK * own
    lower = torch.where(joined, target // BLOCK, own)
    above, upper = _from_above(links[..., 0], target, joined, own)
    inner = torch.eye(BLOCK - 1, dtype=link.dtype, device=link.device)
    inner = inner + torch.diag_embed(links[..., 2:], 1) + torch.diag_embed(links[..., 2:], -1)
    inverse = _inverse(inner)
    first = inverse[..., 0] * links[..., 1, None]
    last = (inverse @ above[..., 1:, None])[..., 0]
    diagonal = 1 - links[..., 1] * first[..., 0]
    diagonal = diagonal - joined * (above[..., 1:] * last).sum(-1).gather(1, lower)
    beside = above[..., 0] - links[..., 1] * last[..., 0]
    matrix = torch.zeros(*links.shape[:2], count, dtype=link.dtype, device=link.device)
    matrix = matrix.scatter(2, upper[..., None], beside[..., None])
    matrix = torch.diag_embed(diagonal) + matrix + matrix.mT
    return ChainInverse(
        pad(inverse, (1, 0, 1, 0)),
        pad(-first, (1, 0), value=1.0),
        pad(-last, (1, 0)),
        upper,
        lower,
        joined.to(link.dtype),
        _inverse(matrix),
    )


def _inverse(matrix: Float64[Tensor, "*any size size"]) -> Float64[Tensor, "*any size size"]:
    """The inverse of positive definite matrices, from A = L Lᵀ as L⁻ᵀ L⁻¹.

    Each step is one batched call on a GPU, which torch's own inverse from Cholesky factors is not; and
    torch's batched LU fails on several threads in some builds of MKL.
    """
    factor = torch.linalg.cholesky_ex(matrix).L
    eye = torch.eye(matrix.shape[-1], dtype=matrix.dtype, device=matrix.device).expand_as(matrix)
    half: Tensor = torch.linalg.solve_triangular(factor, eye, upper=False)
    return half.mT @ half


def _from_above(
    link: Float64[Tensor, "batch blocks"], target: Numbers, joined: Bool[Tensor, "batch blocks"], own: Numbers
) -> tuple[Float64[Tensor, "batch blocks block"], Numbers]:
    """The entries of the separator that follows into each block, and its number; 0 and itself if none does."""
    count = own.shape[1]
    entry = link.new_zeros(len(link), BLOCK * count + 1)
    entry = entry.scatter(1, torch.where(joined, target, BLOCK * count), link)[:, :-1]
    upper = pad(own, (0, 1)).scatter(1, torch.where(joined, target // BLOCK, count), own)[:, :-1]
    return entry.reshape(len(link), count, BLOCK), upper
