"""Three classes of an image: resistive, background and conductive, by Otsu's thresholds.

Two thresholds cut the values into three groups whose variances within are least, weighted by their sizes. The group
that most of the body is in is background. One below it is resistive and one above it conductive: two on the same side
are one class, and the other class stays empty. A group that differs little from the background, compared with the one
that differs most, is background too.

Reference: N. Otsu, "A threshold selection method from gray-level histograms", IEEE Trans. Syst. Man Cybern. 9 (1979).
"""

import torch
from jaxtyping import Float64, Int64
from torch import Tensor

_BINS = 128  # of the histogram: between neighbours no threshold is looked for
_FAINT = 0.25  # of the largest difference to the background: what is less is a ripple, not an object

Signs = Int64[Tensor, "*values"]


def otsu(values: Float64[Tensor, "values"]) -> tuple[float, float]:
    """The two thresholds of three groups."""
    low, high = float(values.min()), float(values.max())
    count = torch.histc(values, _BINS, low, high)
    edge = torch.linspace(low, high, _BINS + 1, dtype=torch.float64, device=values.device)
    centre = (edge[1:] + edge[:-1]) / 2
    size, sums = (torch.cat([x.new_zeros(1), x.cumsum(0)]) for x in (count, count * centre))
    # Groups are bins [0, i), [i, j) and [j, end): the variance between them is Σ (sum of values)² / size.
    weight = _squared(sums[:, None], size[:, None]) + _squared(sums[-1] - sums, size[-1] - size)
    middle = _squared(sums - sums[:, None], size - size[:, None])
    between = (weight + middle).triu(1)
    first, second = divmod(int(between.argmax()), _BINS + 1)
    return float(edge[first]), float(edge[second])


def three_classes(contrast: Float64[Tensor, "*values"], faint: float = _FAINT) -> Signs:
    """The class of each value, -1 resistive, 0 background and 1 conductive, from log σ/σ0 or a change of σ.

    >>> from eitlens.classical.classes import three_classes
    >>> values = torch.tensor([0.0, 0.1, -0.1, 0.0, 0.05, 2.0, 2.1], dtype=torch.float64)
    >>> three_classes(values).tolist()
    [0, 0, 0, 0, 0, 1, 1]
    """
    if not bool(contrast.max() > contrast.min()):
        return torch.zeros_like(contrast, dtype=torch.int64)
    low, high = otsu(contrast.flatten())
    group = (contrast >= low).long() + (contrast >= high).long()
    sizes = torch.bincount(group.flatten(), minlength=3)
    means = torch.stack(
        [contrast[group == k].mean() if sizes[k] else contrast.new_zeros(()) for k in range(3)]
    )
    apart = (means - means[sizes.argmax()]) * (sizes > 0)
    sign = torch.where(apart.abs() >= faint * apart.abs().max(), apart.sign(), 0.0)
    return sign.long()[group]


def _squared(sums: Tensor, sizes: Tensor) -> Tensor:
    return sums.square() / sizes.clamp(min=1)
