"""Attention as the discretisation of a kernel integral.

With queries q(z), keys k(z) and values v(z) on M nodes z_j of weight w = 1/M (a body of unit area),

    o(z_i) = Σ_j w κ(z_i, z_j) v(z_j),   κ(z, z') = q(z)·k(z') / √d,

is a quadrature of ∫ κ(z, z') v(z') dz' by a kernel of rank d. One sum, three ways to take it:

- `explicit`: (Q Kᵀ) V, the M × M kernel first: 4 M² d operations a head. The only one with dropout on the
  kernel.
- `reassociated`: Q (Kᵀ V), the d × d moments ∫ k v first: 4 M d² operations, linear in the number of nodes;
  the same function. Guo, Cao, Chen, ICLR 2023, use the first; the second is what makes the integral form pay.
  Where the values are a linear map of fewer numbers, `lifted_integral` maps the moments instead.
- `softmax`: rows of the kernel turned into probabilities, by PyTorch's fused kernel. It does not
  re-associate.
"""

from math import sqrt
from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional as fn

from eitlens.errors import InputError

Evaluation = Literal["explicit", "reassociated", "softmax"]


def quadrature_scale(nodes: int, depth: int) -> float:
    """α = w/√d: the mesh weight 1/M of the quadrature times the scale of the kernel."""
    return 1 / (nodes * sqrt(depth))


def split(nodes: Tensor, heads: int) -> Tensor:
    """(B, M, heads·d) ↦ (B, M, heads, d)."""
    return nodes.reshape(*nodes.shape[:-1], heads, nodes.shape[-1] // heads)


def split_three(qkv: Tensor, heads: int) -> Tensor:
    """Queries, keys and values beside each other (B, M, 3·heads·d) ↦ one after the other (3, B, heads, M, d)."""
    return torch.unflatten(qkv, 2, (3, heads, -1)).permute(2, 0, 3, 1, 4)


def merge(x: Tensor) -> Tensor:
    """(B, heads, M, d) ↦ (B, M, heads·d)."""
    return x.transpose(1, 2).flatten(2)


def attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    evaluation: Evaluation,
    scale: float | None = None,
    bias: Tensor | None = None,
    dropout: float = 0.0,
    causal: bool = False,
) -> Tensor:
    """Σ_j α (q_i·k_j + b_ij) v_j over the last two axes of q, k (…, M, d) and v (…, M, e).

    Args:
        q: queries.
        k: keys.
        v: values.
        evaluation: how the sum is taken, see above; with `softmax`, softmax_j(α q_i·k_j) v_j instead.
        scale: α; by default 1/√d under a softmax, and `quadrature_scale(M, d)`, which makes the sum a quadrature.
        bias: b, broadcast against the kernel; for `explicit` alone.
        dropout: probability with which entries of the kernel are left out; not for `reassociated`, which
            never forms it.
        causal: leave out the keys that come after a query; for `softmax` alone.
    """
    if evaluation == "softmax" and bias is None:
        return fn.scaled_dot_product_attention(q, k, v, dropout_p=dropout, is_causal=causal, scale=scale)
    if causal:
        raise InputError(f"causal attention needs evaluation='softmax' and no bias, got {evaluation!r}")
    scale = quadrature_scale(k.shape[-2], k.shape[-1]) if scale is None else scale
    if evaluation == "explicit":
        kernel = q @ k.mT if bias is None else q @ k.mT + bias
        return fn.dropout(scale * kernel, dropout) @ v
    if bias is not None:
        raise InputError(f"a bias on the kernel needs evaluation='explicit', got {evaluation!r}")
    if dropout:
        raise InputError(
            f"dropout on the kernel needs 'explicit' or 'softmax', got {evaluation!r}: set dropout to 0"
        )
    return q @ (scale * (k.mT @ v))


def lifted_integral(q: Tensor, k: Tensor, u: Tensor, lift: Tensor) -> Tensor:
    """Q ((Kᵀ u) P) / (M √d): the re-associated integral of values u P that are never formed.

    Args:
        q: queries (B, heads, M, d).
        k: keys of the same shape.
        u: what the values of all heads are made of, (B, M, c).
        lift: P of each head, (heads, e, c).
    """
    heads, nodes, depth = k.shape[1:]
    moments = (merge(k).mT @ u).reshape(u.shape[0], heads, depth, u.shape[-1])
    scaled = quadrature_scale(nodes, depth) * moments
    return q @ torch.einsum("bhdc,hec->bhde", scaled, lift).to(q.dtype)
