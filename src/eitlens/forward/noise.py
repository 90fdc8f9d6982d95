"""Measurement noise: a pure function of (seed, sample, current, boundary node), re-projected to zero mean."""

import math

import torch
from jaxtyping import Float64, Int64
from torch import Tensor

from eitlens import checks, random
from eitlens.errors import InputError
from eitlens.forward.base import Data
from eitlens.forward.currents import project


def add_noise(
    difference: Data,
    tau: float | Float64[Tensor, "batch"],
    seed: int,
    index: Int64[Tensor, "batch"] | None = None,
) -> Data:
    """The paper's noise: (1 + τ G)(f - f0) with G standard normal at each node, then its zero-mean part.

    It multiplies the difference, not f: as |f - f0| is a fifth or so of |f|, τ = 0.2 is about 4 % of f.
    Without the projection the Neumann problem for φ would have no solution. `index` numbers the samples of a
    batch (0, 1, … by default), so that a sample keeps its noise whatever batch it comes in; `tau` may differ
    from sample to sample.

    >>> round(float(eit.add_noise(torch.ones(1, 800), tau=0.05, seed=0).std()), 3)
    0.051
    """
    given = checks.physics(difference, "boundary data")
    data, numbers = _prepare(given, index)
    level = torch.as_tensor(tau, dtype=torch.float64, device=data.device)
    if bool((level < 0).any()) or not bool(torch.isfinite(level).all()):
        raise InputError(f"tau must be a finite number >= 0, got {tau}")
    if level.numel() not in (1, len(data)):
        raise InputError(f"tau: expected one number for each of {len(data)} samples, got {level.numel()}")
    noise = _normal(data, numbers, seed)
    return project(data * (1 + level.reshape(-1, *[1] * (data.ndim - 1)) * noise)).reshape(given.shape)


def add_white_noise(
    difference: Data,
    snr_db: float | Float64[Tensor, "batch"],
    seed: int,
    index: Int64[Tensor, "batch"] | None = None,
) -> Data:
    """White noise of one size at all nodes and currents of a sample, at a signal-to-noise ratio in decibels.

    The size makes 20 log₁₀(|f - f0| / |noise|) = `snr_db` in the mean square over the sample; `snr_db` may differ from
    sample to sample, and is ∞ for no noise.

    >>> clean = torch.ones(1, 800)
    >>> round(float((eit.add_white_noise(clean, snr_db=20.0, seed=0) - clean).std()), 2)
    0.1
    """
    given = checks.physics(difference, "boundary data")
    data, numbers = _prepare(given, index)
    ratio = torch.as_tensor(snr_db, dtype=torch.float64, device=data.device)
    if bool((ratio.isnan() | (ratio == -math.inf)).any()) or ratio.numel() not in (1, len(data)):
        raise InputError(f"snr_db must be a number of decibels, or one for each sample, got {snr_db}")
    level = (10 ** (-ratio / 20)).reshape(-1, *[1] * (data.ndim - 1))
    scale = data.square().mean(tuple(range(1, data.ndim)), keepdim=True).sqrt() * level
    return project(data + scale * _normal(data, numbers, seed)).reshape(given.shape)


def _prepare(
    given: Float64[Tensor, "*any"], index: Int64[Tensor, "batch"] | None
) -> tuple[Float64[Tensor, "batch *rest"], Int64[Tensor, "batch"]]:
    data = checks.finite(given, "boundary data")
    data = data[None] if data.ndim < 3 else data
    index = torch.as_tensor(torch.arange(len(data)) if index is None else index, device=data.device)
    if len(index) != len(data):
        raise InputError(f"index: expected one number for each of {len(data)} samples, got {len(index)}")
    return data, index


def _normal(data: Data, index: Int64[Tensor, "batch"], seed: int) -> Data:
    return random.normal(seed, index, data.shape[1:].numel()).reshape(data.shape)
