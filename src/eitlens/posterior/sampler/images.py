"""Pictures of the samples of the posterior: each loss has a best image of its own.

With t the indicator of the inclusion, T its nodes, and E the mean over the posterior:

- mean: m = E t, the probability that a node lies inside. Best for the squared error and the cross entropy.
- dice: the set P that maximises E 2|P ∩ T| / (|P| + |T|). For a given size n = |P| it consists of the n nodes
  with the largest E [t / (n + |T|)]; the order and the best n for it are found in turn, starting with the mean
  of |T|. The soft Dice score is, at a given sum of p, linear in p, so its best image is a set too, and up to
  one node in thousands the same.
- l2: the image p that minimises E |p - t| / |σ_t|, the relative error of σ (not squared): a geometric median
  with weights, by Weiszfeld's iteration from m.
- spread: √(m (1 - m)), the standard deviation of t at each node.
"""

import math
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float64
from scipy.ndimage import gaussian_filter
from torch import Tensor

from eitlens.domain import Domain
from eitlens.phantom import Ellipse, indicator
from eitlens.phantom.batch import of_rows

_ITERATIONS = 8  # of Weiszfeld's, from the mean, which is near
_PASSES = 3  # of order and size in turn: each depends but weakly on the other
# For memory: 2000 samples as float64 then take 64 MB, 64 at all nodes 20.
_NODES_AT_ONCE, _SAMPLES_AT_ONCE = 4096, 64
_BLUR = 0.02  # width of the blur, of the side: another draw differs near the outlines, not anywhere
_ANYWHERE = 0.002  # draws that may be anywhere: so few, but no probability is then 0 or 1 (`smoothed`)

Samples = Float64[Tensor, "samples ellipses 5"]
Weight = Float64[Tensor, "samples"]
Inclusion = Bool[Tensor, "samples nodes"]


class Images(NamedTuple):
    """The best images of one measurement, and the Dice score that the posterior itself expects of the set."""

    mean: Float64[Tensor, "nx ny"]
    spread: Float64[Tensor, "nx ny"]
    dice: Bool[Tensor, "nx ny"]
    l2: Float64[Tensor, "nx ny"]
    expected_dice: float


def images(domain: Domain, rows: Samples, weight: Weight, inside: float, outside: float) -> Images:
    """Make the images of weighted samples; the weights sum to one."""
    inclusion = _inclusion(domain, rows)
    probability = _probability(inclusion, weight)
    chosen, expected = _best_set(inclusion, weight)
    l2 = _geometric_median(inclusion, weight, probability, inside, outside)
    spread = (probability * (1 - probability)).clamp(min=0).sqrt()
    fields = [torch.unflatten(f, 0, domain.shape) for f in (probability, spread, chosen, l2)]
    return Images(fields[0], fields[1], fields[2], fields[3], expected)


def mean(domain: Domain, rows: Samples, weight: Weight) -> Float64[Tensor, "nx ny"]:
    """Make the mean image alone."""
    return torch.unflatten(_probability(_inclusion(domain, rows), weight), 0, domain.shape)


def _inclusion(domain: Domain, rows: Samples) -> Inclusion:
    # Where a node is does not depend on how anything conducts.
    return indicator(domain, of_rows(Ellipse, rows, 2.0, 1.0)).flatten(1)


def _probability(inclusion: Inclusion, weight: Weight) -> Float64[Tensor, "nodes"]:
    return torch.cat([weight @ part.double() for part in torch.split(inclusion, _NODES_AT_ONCE, dim=1)])


def smoothed(mean: Float64[Tensor, "nx ny"], effective: float) -> Float64[Tensor, "nx ny"]:
    """The mean of so many independent draws, with one more draw that is the mean blurred.

    A node that no sample or every sample covers is not certain: it was seen `effective` times. But another draw
    would differ near the outlines, not anywhere. Next to nothing is added for anywhere: two thousandths of a draw that
    covers each node with a chance of one half.
    """
    width = _BLUR * max(mean.shape)
    blurred = gaussian_filter(mean.cpu().numpy(), width, mode="nearest", radius=math.ceil(3 * width))
    across = torch.as_tensor(blurred).to(mean)
    return (effective * mean + across + _ANYWHERE / 2) / (effective + 1 + _ANYWHERE)


def _best_set(inclusion: Inclusion, weight: Weight) -> tuple[Bool[Tensor, "nodes"], float]:
    size = inclusion.sum(1, dtype=torch.float64)
    best, score, order = float(weight @ size), size, size.long()
    for _ in range(_PASSES):
        share = (weight / (size + best)).to(torch.float32)
        order = torch.argsort(share @ inclusion.to(torch.float32), descending=True, stable=True)
        score = _expected_dice(inclusion, weight, size, order)
        best = 1.0 + int(score.argmax())
    chosen = torch.zeros(len(order), dtype=torch.bool, device=weight.device)
    chosen[order[: int(best)]] = True
    return chosen, float(score.max())


def _expected_dice(inclusion: Inclusion, weight: Weight, size: Tensor, order: Tensor) -> Tensor:
    """E 2|P ∩ T| / (|P| + |T|) of the first 1, 2, … nodes in the order."""
    n = torch.arange(1, len(order) + 1, dtype=torch.float64, device=weight.device)
    score = torch.zeros_like(n)
    parts = (torch.split(values, _SAMPLES_AT_ONCE) for values in (inclusion, weight, size))
    for part, w, t in zip(*parts, strict=True):
        both = part[:, order].cumsum(1, dtype=torch.float64)
        score += w @ (2 * both / (n + t[:, None]))
    return score


def _geometric_median(
    inclusion: Inclusion, weight: Weight, mean: Tensor, inside: float, outside: float
) -> Float64[Tensor, "nodes"]:
    """Weiszfeld: p ← Σ w t / Σ w with w = weight / (|p - t| |σ_t|); |p - t|² = |p|² - 2 p·t + |t|²."""
    t = inclusion.to(torch.float32)
    size = inclusion.sum(1, dtype=torch.float64)
    norm = (outside**2 * (inclusion.shape[1] - size) + inside**2 * size).sqrt()
    image = mean
    for _ in range(_ITERATIONS):
        overlap = (t @ image.to(torch.float32)).double()
        distance = (image.square().sum() - 2 * overlap + size).clamp(min=1.0).sqrt()
        pull = weight / (distance * norm)
        image = ((pull / pull.sum()).to(torch.float32) @ t).double()
    return image
