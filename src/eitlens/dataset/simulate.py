"""From sample numbers to samples: phantoms, what is measured of them, and masks, on one device."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import torch
from jaxtyping import Float64, Int64
from torch import Tensor

from eitlens import checks
from eitlens.dataset.config import DataConfig
from eitlens.dataset.samples import Samples, pack
from eitlens.domain import Domain
from eitlens.electrodes.base import readings
from eitlens.phantom import PhantomBatch, Sampler, indicator

Measure = Callable[[PhantomBatch], Float64[Tensor, "samples *measured"]]


@dataclass(frozen=True)
class Simulator:
    """The samples of a configuration: number k ↦ (phantom, what is measured, mask), a pure function.

    What is measured is f - f0 of the currents, or the change of the readings of a tank.
    """

    domain: Domain
    sampler: Sampler
    measure: Measure
    device: torch.device

    @staticmethod
    def build(config: DataConfig, device: torch.device, seed: int | None = None) -> "Simulator":
        """The simulator of a configuration, with another seed if given."""
        sampler = config.sampler if seed is None else replace(config.sampler, seed=seed)
        domain = config.domain
        return Simulator(domain, sampler.build(domain), _measure(config, device), device)

    @torch.no_grad()
    def __call__(self, index: Int64[Tensor, "samples"]) -> Samples:
        """The samples with these numbers, computed as one batch."""
        index = index.to(self.device)
        phantoms = self.sampler.sample(index)
        difference = checks.finite(self.measure(phantoms), "simulated data")
        mask = pack(indicator(self.domain, phantoms))
        return Samples(index, difference, mask, self.domain.shape[0], phantoms)


def _measure(config: DataConfig, device: torch.device) -> Measure:
    """What is measured of phantoms."""
    domain = config.domain
    if config.tank is None:
        currents = config.currents.build(domain, device)
        return partial(config.solver.build(domain).difference, currents=currents)
    electrodes, pattern = config.tank.build(domain)
    solver, height = config.solver.with_electrodes(electrodes), config.tank.height

    def change(phantoms: PhantomBatch) -> Float64[Tensor, "samples readings"]:
        return readings(
            electrodes, pattern, lambda totals: solver.difference(phantoms, totals.to(device)), height
        )

    return change
