"""The distance between the outline of an image and the true one."""

import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
from jaxtyping import Float, Float64
from scipy import ndimage
from torch import Tensor

from eitlens.device import available_cores

SIDE = 2.0  # of the square (-1, 1)²


def hausdorff(
    logits: Float[Tensor, "samples nx ny"], target: Float[Tensor, "samples nx ny"]
) -> Float64[Tensor, "samples"]:
    """The Hausdorff distance of the node sets P = {p > ½} and T = {t = 1}, in the units of the body.

    max( max_{x ∈ P} d(x, T), max_{x ∈ T} d(x, P) ): how far the worst node of one set is from the other set.
    One forgotten inclusion, or one invented speck, counts in full. Where one of the sets is empty it is the
    diameter 2√2 of the body, where both are it is 0. By exact Euclidean distance transforms, on the CPU, one
    sample a thread: they take longer than a network on a GPU.
    """
    guessed, true = (logits > 0).cpu().numpy(), (target > 0.5).cpu().numpy()
    with ThreadPoolExecutor(available_cores()) as pool:
        return torch.tensor([*pool.map(_distance, guessed, true)], dtype=torch.float64)


def _distance(p: np.ndarray, t: np.ndarray) -> float:
    if not (p.any() and t.any()):
        return SIDE * math.sqrt(2) if p.any() or t.any() else 0.0
    spacing = SIDE / (p.shape[-1] - 1)
    to_t, to_p = (ndimage.distance_transform_edt(~part) for part in (t, p))
    return float(spacing * max(to_t[p].max(), to_p[t].max()))
