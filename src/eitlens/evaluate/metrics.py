"""Metrics: how near an image is to the truth, one number for each sample of a batch, and how it ranks pixels.

Throughout z are the logits of the image, t ∈ {0, 1} the true indicator of the inclusion, both on the N nodes
of the grid; p = sigmoid(z) is the probability that a node lies inside, and p₂ = sigmoid(2z) = (1 + tanh z)/2
what the published code thresholds and measures in two of its three metrics. Sums run over the nodes.
"""

from collections.abc import Callable

import torch
from jaxtyping import Bool, Float, Float64
from torch import Tensor
from torch.nn import functional as fn

from eitlens.errors import InputError

Image = Float[Tensor, "samples *grid"]
PerSample = Float64[Tensor, "samples"]

INSIDE, OUTSIDE = 10.0, 1.0  # the paper's conductivities
_PAPER_FACTOR, _PAPER_GUARD = 0.5, 1e-3  # of the published code


def relative_l2(logits: Image, target: Image, inside: float = INSIDE) -> PerSample:
    """|σ̂ - σ| / |σ| with σ = 1 + (inside - 1) t and σ̂ the same of p: the true relative error."""
    z, t = _flat(logits, target)
    jump = inside - OUTSIDE
    error = (jump * (torch.sigmoid(z) - t)).square().sum(1)
    return (error / (OUTSIDE + jump * t).square().sum(1)).sqrt()


def paper_l2(logits: Image, target: Image, inside: float = INSIDE) -> PerSample:
    """The published code's error: half of the relative error of σ with p₂ in the place of p.

    sqrt(Σ (½ (σ̂ - σ))² / (Σ σ² + 10⁻³)). The figures printed for τ = 0 are on this scale; those for τ > 0
    most likely hold √½ instead of ½, so compare them with each other, not across τ.
    """
    z, t = _flat(logits, target)
    jump = inside - OUTSIDE
    error = (_PAPER_FACTOR * jump * (torch.sigmoid(2 * z) - t)).square().sum(1)
    return (error / ((OUTSIDE + jump * t).square().sum(1) + _PAPER_GUARD)).sqrt()


def cross_entropy(logits: Image, target: Image) -> PerSample:
    """The mean over nodes of -t log p - (1 - t) log(1 - p), in nats, from the logits without overflow."""
    z, t = _flat(logits, target)
    return fn.binary_cross_entropy_with_logits(z, t, reduction="none").mean(1)


def soft_dice(logits: Image, target: Image) -> PerSample:
    """The paper's Dice score (2 Σ p₂ t + 1) / (Σ p₂ + Σ t + 1); no threshold."""
    z, t = _flat(logits, target)
    p = torch.sigmoid(2 * z)
    return (2 * (p * t).sum(1) + 1) / (p.sum(1) + t.sum(1) + 1)


def hard_dice(logits: Image, target: Image) -> PerSample:
    """2 |P ∩ T| / (|P| + |T|) of the node sets P = {p > ½} and T = {t = 1}; 1 when both are empty."""
    both, guessed, true = _counts(logits, target)
    return torch.where(guessed + true > 0, 2 * both / (guessed + true).clamp(min=1), 1.0)


def intersection_over_union(logits: Image, target: Image) -> PerSample:
    """|P ∩ T| / |P ∪ T| of the same sets; 1 when both are empty."""
    both, guessed, true = _counts(logits, target)
    union = guessed + true - both
    return torch.where(union > 0, both / union.clamp(min=1), 1.0)


Metric = Callable[[Image, Image], PerSample]

# Cheap enough for every validation; the Hausdorff distance and the calibration are kept apart.
METRICS: dict[str, Metric] = {
    "relative_l2": relative_l2,
    "paper_l2": paper_l2,
    "cross_entropy": cross_entropy,
    "soft_dice": soft_dice,
    "hard_dice": hard_dice,
    "iou": intersection_over_union,
}
LARGER_IS_BETTER = {"soft_dice", "hard_dice", "iou"}


def per_sample(logits: Image, target: Image) -> dict[str, PerSample]:
    """Every metric of `METRICS`, on the device of the images."""
    return {name: metric(logits, target) for name, metric in METRICS.items()}


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


def _flat(logits: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Samples × nodes, in float64: a sum over 40,000 nodes costs three digits in float32."""
    if logits.shape != target.shape:
        got = f"{tuple(logits.shape)} and {tuple(target.shape)}"
        raise InputError(f"metrics: expected an image and a truth of one shape, got {got}")
    if logits.ndim < 3:
        raise InputError(
            f"metrics: expected images (samples, nx, ny), got {tuple(logits.shape)}: of a single image give image[None]"
        )
    return logits.flatten(1).double(), target.flatten(1).double()


def _counts(logits: Tensor, target: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    z, t = _flat(logits, target)
    guessed, true = z > 0, t > 0.5
    return (guessed & true).double().sum(1), guessed.double().sum(1), true.double().sum(1)
