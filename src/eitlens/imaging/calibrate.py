"""Fitting a calibration on validation data, and measuring on test data what it brought."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor

from eitlens.dataset import DataConfig, Samples, Split
from eitlens.evaluate.calibration import Reliability, reliability
from eitlens.evaluate.metrics import cross_entropy
from eitlens.feed import Noise, simulate_range
from eitlens.forward.base import Data
from eitlens.forward.currents import CurrentsConfig
from eitlens.imaging.calibration import Calibration, fit_temperature
from eitlens.imaging.misfit import Simulation, relative_misfit
from eitlens.models.tank import CLASSES
from eitlens.models.trained import Trained

LEVELS = (0.0, 0.02, 0.05, 0.1, 0.2)  # of noise: the temperature is nearly linear between them
_SEED, _BATCH = 20230502, 16  # of the noise, not that of scores; samples at once, for a CPU's memory
_FIRST, _LAST, _SLACK = 0.01, 0.99, 1.1  # quantiles of what is usual, and a tenth more to either side
Progress = Callable[[str], None]


@dataclass(frozen=True)
class Effect:
    """The effect of a calibration at one noise level, on data it was not fitted on."""

    tau: float
    before: Reliability
    after: Reliability
    entropy_before: float
    entropy_after: float


def fit(reader: Trained, recipe: DataConfig, samples: int, misfits: int, progress: Progress) -> Calibration:
    """A calibration from the first validation samples of a recipe; `misfits` of them go through the solver."""
    data = first_samples(reader, recipe, "validation", samples)
    most = reader.currents.count
    counts = range(reader.fewest, most + 1)
    parts = {count: _fit(reader, recipe, data, count, misfits, progress) for count in counts}
    return replace(parts[most], fewer={count: part for count, part in parts.items() if count != most})


def measure(
    reader: Trained, calibration: Calibration, data: Samples, levels: tuple[float, ...]
) -> list[Effect]:
    """The reliability and the cross entropy before and after, at each level, with all currents."""
    target = data.mask.float()
    effects = []
    for tau in levels:
        logits = _logits(reader, _noisy(data, tau, reader.currents.count))
        cool = logits / calibration.temperature(tau)
        before, after = (reliability(z, target) for z in (logits, cool))
        entropies = (float(cross_entropy(z, target).mean()) for z in (logits, cool))
        effects.append(Effect(tau, before, after, *entropies))
    return effects


def first_samples(reader: Trained, recipe: DataConfig, split: Split, samples: int) -> Samples:
    """The first samples of a split, as many as there are, for the currents and the grid of the reader."""
    own = replace(recipe, n=reader.n, currents=reader.currents)
    start, stop = recipe.ranges[split]
    # Beyond its end begins the next split: what is fitted must not see what it is measured on.
    return simulate_range(own, start, min(start + samples, stop), torch.device("cpu"))


def _fit(
    reader: Trained, recipe: DataConfig, data: Samples, count: int, misfits: int, progress: Progress
) -> Calibration:
    target = data.mask.float()
    contrast = recipe.sampler.inside / recipe.sampler.outside
    temperatures, limits = [], []
    for tau in LEVELS:
        progress(f"{count} currents, τ = {tau:g}")
        noisy = _noisy(data, tau, count)
        logits = _logits(reader, noisy)
        temperatures.append(fit_temperature(logits, target))
        found = torch.tensor(_misfits(reader, noisy[:misfits], logits, contrast), dtype=torch.float64)
        limits.append(float(found.quantile(_LAST)) if misfits else 0.0)
    size = data.difference[:, :count].square().mean(-1).sqrt()
    low, high = size.quantile(_FIRST, 0) / _SLACK, size.quantile(_LAST, 0) * _SLACK
    amplitudes = tuple(zip(low.tolist(), high.tolist(), strict=True))
    return Calibration(
        LEVELS, tuple(temperatures), amplitudes, tuple(limits) if misfits else (), contrast, len(data)
    )


def _misfits(reader: Trained, noisy: Data, logits: Tensor, contrast: float) -> list[float]:
    simulate = Simulation(CurrentsConfig(reader.currents.family, noisy.shape[1]), reader.domain)
    seen = torch.ones(noisy.shape[1:], dtype=torch.bool)
    if reader.network.phased:
        means = reader.outputs(noisy)[:, CLASSES].cpu()
        return [
            relative_misfit(simulate.conductivity(m), data, seen)
            for data, m in zip(noisy, means, strict=True)
        ]
    pairs = zip(noisy, logits, strict=False)
    return [relative_misfit(simulate.image(z, contrast), data, seen) for data, z in pairs]


def _noisy(data: Samples, tau: float, count: int) -> Data:
    return Noise((tau,)).apply(data.difference[:, :count], _SEED, 0, data.index)


def _logits(reader: Trained, difference: Data) -> Float[Tensor, "samples nx ny"]:
    return torch.cat([reader(part).cpu() for part in torch.split(difference, _BATCH)])
