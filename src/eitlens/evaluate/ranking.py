"""How well a score ranks pixels."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from eitlens.errors import InputError


def area_under_curve(score: Float[Tensor, "*pixels"], truth: Bool[Tensor, "*pixels"]) -> float:
    """Area under the ROC curve: the chance that a pixel inside scores higher than one outside, ties half.

    By ranks: (R - p(p+1)/2) / (p q), R the sum of the mid-ranks of the p inside pixels and q the number
    outside.
    """
    inside = truth.flatten()
    p, q = int(inside.sum()), int((~inside).sum())
    if p == 0 or q == 0:
        raise InputError(f"the area under the curve needs pixels inside and outside, got {p} and {q}")
    _, inverse, counts = torch.unique(score.flatten().double(), return_inverse=True, return_counts=True)
    rank = (counts.cumsum(0) - (counts.double() - 1) / 2)[inverse]
    return float((rank[inside].sum() - p * (p + 1) / 2) / (p * q))
