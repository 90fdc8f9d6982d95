"""Attention as the discretisation of a kernel integral.

With queries q(z), keys k(z) and values v(z) on M nodes z_j of weight w = 1/M (a body of unit area),

    o(z_i) = Σ_j w κ(z_i, z_j) v(z_j),   κ(z, z') = q(z)·k(z') / √d,

is a quadrature of ∫ κ(z, z') v(z') dz' by a kernel of rank d. One sum, three ways to take it:

- `explicit`: (Q Kᵀ) V, the M × M kernel first: 4 M² d operations a head. The only one with dropout on the
  kernel.
- `reassociated`: Q (Kᵀ V), the d × d moments ∫ k v first: 4 M d² operations, linear in the number of nodes;
  the same function. Guo, Cao, Chen, ICLR 2023, use the first; the second is what makes the integral form pay.
- `softmax`: rows of the kernel turned into probabilities, by PyTorch's fused kernel. It does not
  re-associate.
"""

from math import sqrt
from typing import Literal

from torch import Tensor
from torch.nn import functional as fn

from eitlens.errors import InputError

Evaluation = Literal["explicit", "reassociated", "softmax"]


def quadrature_scale(nodes: int, depth: int) -> float:
    """α = w/√d: the mesh weight 1/M of the quadrature times the scale of the kernel."""
    return 1 / (nodes * sqrt(depth))


def attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    evaluation: Evaluation,
    scale: float,
    bias: Tensor | None = None,
    dropout: float = 0.0,
) -> Tensor:
    """Σ_j α (q_i·k_j + b_ij) v_j over the last two axes of q, k (…, M, d) and v (…, M, e).

    Args:
        q: queries.
        k: keys.
        v: values.
        evaluation: how the sum is taken, see above; with `softmax`, softmax_j(α q_i·k_j) v_j instead.
        scale: α; `quadrature_scale(M, d)` makes the sum a quadrature, 1/√d is the usual scale of a softmax.
        bias: b, broadcast against the kernel; for `explicit` alone.
        dropout: probability with which entries of the kernel are left out; not for `reassociated`, which
            never forms it.
    """
    if evaluation == "explicit":
        kernel = q @ k.mT if bias is None else q @ k.mT + bias
        return fn.dropout(scale * kernel, dropout) @ v
    if bias is not None:
        raise InputError(f"a bias on the kernel needs evaluation='explicit', got {evaluation!r}")
    if evaluation == "softmax":
        return fn.scaled_dot_product_attention(q, k, v, dropout_p=dropout, scale=scale)
    if dropout:
        raise InputError(
            f"dropout on the kernel needs 'explicit' or 'softmax', got {evaluation!r}: set dropout to 0"
        )
    return q @ (scale * (k.mT @ v))
