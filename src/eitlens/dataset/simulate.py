"""From sample numbers to samples: phantoms, boundary differences and masks, on one device."""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Int64
from torch import Tensor

from eitlens import checks
from eitlens.dataset.config import DataConfig
from eitlens.dataset.samples import Samples, pack
from eitlens.domain import Domain
from eitlens.forward import Solver
from eitlens.forward.base import Currents
from eitlens.phantom import Sampler, indicator


@dataclass(frozen=True)
class Simulator:
    """The samples of a configuration: number k ↦ (phantom, f - f0, mask), a pure function."""

    domain: Domain
    sampler: Sampler
    solver: Solver
    currents: Currents

    @staticmethod
    def build(config: DataConfig, device: torch.device, seed: int | None = None) -> "Simulator":
        """The simulator of a configuration, with another seed if given."""
        sampler = config.sampler if seed is None else replace(config.sampler, seed=seed)
        domain = config.domain
        return Simulator(
            domain, sampler.build(), config.solver.build(domain), config.currents.build(domain, device)
        )

    @torch.no_grad()
    def __call__(self, index: Int64[Tensor, "samples"]) -> Samples:
        """The samples with these numbers, computed as one batch on the device of the currents."""
        index = index.to(self.currents.device)
        phantoms = self.sampler.sample(index)
        difference = checks.finite(self.solver.difference(phantoms, self.currents), "simulated boundary data")
        mask = pack(indicator(self.domain, phantoms))
        return Samples(index, difference, mask, self.domain.shape[0], phantoms)
