"""The score of the Kuopio Tomography Challenge 2023: how alike two segmentations of three classes are.

For the resistive class and for the conductive one, with masks t of the truth and r of the reconstruction,

    S = mean over all pixels of ((2 m_t m_r + C1) (2 c + C2)) / ((m_t² + m_r² + C1) (v_t + v_r + C2)),

the means m, variances v and covariance c of a Gaussian window around each pixel. Outside the image is nothing, and the
window is divided by its own mass inside. The score is the mean of the two: 1 for a perfect segmentation, and an empty
class that should be empty counts as perfect.

Reference: M. Räsänen et al., "Kuopio Tomography Challenge 2023", Applied Mathematics for Modern Challenges (2024).
"""

import torch
from jaxtyping import Float64, Int
from torch import Tensor

from eitlens.errors import InputError
from eitlens.memory import cached

RESISTIVE, CONDUCTIVE = 1, 2
"""The classes beside 0, the background."""
PIXELS = 256
_WIDTH, _CUT = 80.0, 160  # pixels: the window's standard deviation, and where it ends
_C1, _C2 = 1e-4, 9e-4  # keep the ratio finite where both masks are empty

Classes = Int[Tensor, "..."]


def ktc_score(truth: Classes, found: Classes) -> Float64[Tensor, "*batch"]:
    """The score of segmentations with the values 0, 1 (resistive) and 2 (conductive): 1 is perfect.

    >>> from eitlens.evaluate.ktc import ktc_score
    >>> water = torch.zeros(256, 256, dtype=torch.int64)
    >>> round(float(ktc_score(water, water)), 6)
    1.0
    """
    if truth.shape != found.shape or truth.ndim < 2:
        raise InputError(
            f"ktc_score: expected two segmentations of one size, got {tuple(truth.shape)} and {tuple(found.shape)}"
        )
    each = [
        similarity((truth == kind).double(), (found == kind).double()) for kind in (RESISTIVE, CONDUCTIVE)
    ]
    return (each[0] + each[1]) / 2


def similarity(
    truth: Float64[Tensor, "*batch rows columns"], found: Float64[Tensor, "*batch rows columns"]
) -> Float64[Tensor, "*batch"]:
    """The structural similarity S of two masks."""
    m_t, m_r = _windowed(truth), _windowed(found)
    v_t, v_r = _windowed(truth.square()) - m_t.square(), _windowed(found.square()) - m_r.square()
    c = _windowed(truth * found) - m_t * m_r
    above = (2 * m_t * m_r + _C1) * (2 * c + _C2)
    return (above / ((m_t.square() + m_r.square() + _C1) * (v_t + v_r + _C2))).mean((-2, -1))


def _windowed(values: Tensor) -> Tensor:
    """The mean in the window around each pixel: the Gaussian is a product of one along each direction."""
    down, across = (_window(size, values.device) for size in values.shape[-2:])
    return down @ values @ across.mT


@cached
def _window(size: int, device: torch.device) -> Float64[Tensor, "size size"]:
    """The weights along one direction; rows sum to 1."""
    pixel = torch.arange(size, dtype=torch.float64, device=device)
    far = pixel[:, None] - pixel
    weight = torch.exp(-far.square() / (2 * _WIDTH**2)) * (far.abs() <= _CUT)
    return weight / weight.sum(-1, keepdim=True)
