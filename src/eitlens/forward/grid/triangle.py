"""Linear elements on a right isosceles triangle cut by the interface: closed forms.

Vertex a lies alone on its side of the interface; the edges ab and ac are cut at p = a + f (b - a) and q = a +
g (c - a). The small triangle apq has conductivity σ_a, the rest σ_b, split into two triangles by the diagonal
from the cut point farther from a (no angle then comes near π). Next to the linear functions λ_a, λ_b, λ_c on
the whole triangle there is one continuous, piecewise linear "kink" function for each cut point, one there and
zero at all other vertices. With f >= g, so that the diagonal is pc, the pieces are

             apq         pcq                                  pbc
    hat_p    λ_b / f     λ_b / f                              λ_a / (1 - f)
    hat_q    λ_c / g     (λ_a - (1 - f)/f · λ_b) / (1 - g)    0
    area     f g         f (1 - g)                            1 - f                (of the whole triangle)

and every entry is a combination of G_vw = |T| ∇λ_v·∇λ_w, which is 1 for the right angle, ½ for the acute
ones, -½ along the legs and 0 along the hypotenuse, whatever the mesh size. All entries are linear in σ_a,
σ_b.
"""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float64
from torch import Tensor

Value = Float64[Tensor, "*edges"]
Flag = Bool[Tensor, "*edges"]


class KinkRow(NamedTuple):
    """The row of the element matrix that belongs to the kink on edge ab."""

    diagonal: Value
    a: Value
    b: Value
    c: Value
    link: Value
    """With the kink on edge ac."""


class _Gram(NamedTuple):
    aa: Value
    bb: Value
    cc: Value
    ab: Value
    ac: Value
    bc: Value


def kink_row(
    f: Value, g: Value, sigma_a: Value, sigma_b: Value, right: tuple[Flag, Flag, Flag], first: Flag
) -> KinkRow:
    """The row of the kink on ab; `right` marks the right angle of a, b, c, `first` that f counts as >= g."""
    gram = _gram(right)
    far, near = _far_kink(f, g, sigma_a, sigma_b, gram), _near_kink(f, g, sigma_a, sigma_b, gram)
    return KinkRow(*(torch.where(first, x, y) for x, y in zip(far, near, strict=True)))


def _gram(right: tuple[Flag, Flag, Flag]) -> _Gram:
    a, b, c = (flag.to(torch.float64) / 2 for flag in right)
    return _Gram(0.5 + a, 0.5 + b, 0.5 + c, -(a + b), -(a + c), -(b + c))


def _far_kink(f: Value, g: Value, sigma_a: Value, sigma_b: Value, gram: _Gram) -> KinkRow:
    """The row where f >= g: this kink is hat_p of the table."""
    mixed = sigma_a * g + sigma_b * (1 - g)
    return KinkRow(
        mixed * gram.bb / f + sigma_b * gram.aa / (1 - f),
        mixed * gram.ab + sigma_b * gram.aa,
        mixed * gram.bb + sigma_b * gram.ab,
        mixed * gram.bc + sigma_b * gram.ac,
        sigma_a * gram.bc + sigma_b * (gram.ab - (1 - f) / f * gram.bb),
    )


def _near_kink(f: Value, g: Value, sigma_a: Value, sigma_b: Value, gram: _Gram) -> KinkRow:
    """The row where f < g: this kink is hat_q of the table, with b and c, f and g exchanged."""
    ratio = (1 - g) / g
    bend = gram.aa - 2 * ratio * gram.ac + ratio * ratio * gram.cc
    return KinkRow(
        g * (sigma_a * gram.bb / f + sigma_b * bend / (1 - f)),
        g * (sigma_a * gram.ab + sigma_b * (gram.aa - ratio * gram.ac)),
        g * (sigma_a * gram.bb + sigma_b * (gram.ab - ratio * gram.bc)),
        g * (sigma_a * gram.bc + sigma_b * (gram.ac - ratio * gram.cc)),
        sigma_a * gram.bc + sigma_b * (gram.ac - ratio * gram.cc),
    )
