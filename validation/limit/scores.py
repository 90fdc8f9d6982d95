"""Scores of the posterior's images, networks and direct sampling on the same measurements."""

import torch
from jaxtyping import Float64
from torch import Tensor

from eitlens.classical import direct_sampling
from eitlens.domain import Square
from eitlens.evaluate import metrics
from eitlens.posterior import Images, smoothed
from limit.measurements import Cell, Measured, measured

_CERTAIN = 20.0
_LEAST_EFFECTIVE = 20.0
_TUNING = 48


def best(found: Images, effective: float, truth: Tensor) -> dict[str, float]:
    """Compute each metric of the image that is best for it (see `eitlens.posterior.sampler.images`)."""
    chosen = torch.where(found.dice, _CERTAIN, -_CERTAIN)
    error = torch.logit(found.l2.clamp(1e-9, 1 - 1e-9))
    values = {
        "hard_dice": metrics.hard_dice(chosen[None], truth[None]),
        "soft_dice": metrics.soft_dice(chosen[None], truth[None]),
        "relative_l2": metrics.relative_l2(error[None], truth[None]),
        # This metric squashes the logits twice as hard.
        "paper_l2": metrics.paper_l2(error[None] / 2, truth[None]),
    }
    expected = {"expected_dice": found.expected_dice}
    return {name: float(v) for name, v in values.items()} | expected | of_mean(found.mean, effective, truth)


def of_mean(mean: Tensor, effective: float, truth: Tensor) -> dict[str, float]:
    """Compute what the mean image alone decides, and the cross entropy -Σ p log p + (1 - p) log(1 - p) it expects."""
    # Ensembles that disagree put their number of draws below any use: they are still some.
    p = smoothed(mean, max(effective, _LEAST_EFFECTIVE))
    logits = torch.logit(p)[None]
    return {
        "cross_entropy": float(metrics.cross_entropy(logits, truth[None])),
        "expected_cross_entropy": float(metrics.cross_entropy(logits, p[None])),
        "hard_dice_of_mean": float(metrics.hard_dice(logits, truth[None])),
    }


def of_logits(logits: Float64[Tensor, "samples nx ny"], truth: Tensor) -> dict[str, list[float]]:
    """Compute every metric of one image a sample, as a network gives it."""
    return {name: v.tolist() for name, v in metrics.per_sample(logits, truth.to(logits.device)).items()}


def of_direct_sampling(cell: Cell, samples: Measured) -> dict[str, list[float]]:
    """Hard Dice of the thresholded index; the threshold, a share of the maximum, is tuned on other phantoms.

    The index is no probability: the other metrics would depend on how one makes it one.
    """
    others = measured(cell, -_TUNING, 0, torch.device("cpu"))
    shares, index = [0.02 * k for k in range(5, 50)], _index(others)
    tuned = max(shares, key=lambda share: float(_dice(index, others.truth, share).mean()))
    return {"hard_dice": _dice(_index(samples), samples.truth, tuned).tolist()}


def _index(samples: Measured) -> Tensor:
    """Direct sampling, its largest value one."""
    index = direct_sampling(Square(samples.truth.shape[-1] - 1), samples.noisy.cpu())
    return index / index.amax((-2, -1), keepdim=True)


def _dice(index: Tensor, truth: Tensor, share: float) -> Tensor:
    return metrics.hard_dice(index - share, truth.cpu().to(index))
