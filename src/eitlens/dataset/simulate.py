"""From sample numbers to samples: phantoms, what is measured of them, and masks, on one device."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import torch
from jaxtyping import Bool, Float16, Float64, Int64
from torch import Tensor

from eitlens import checks
from eitlens.dataset.config import DataConfig
from eitlens.dataset.samples import Samples, pack
from eitlens.domain import Domain
from eitlens.electrodes.base import readings
from eitlens.errors import InputError
from eitlens.phantom import PhantomBatch, Sampler, indicator
from eitlens.phantom.raster import classes, conductivity

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
    sigma: bool = False
    """Whether log σ at the nodes belongs to a sample."""

    @staticmethod
    def build(config: DataConfig, device: torch.device, seed: int | None = None) -> "Simulator":
        """The simulator of a configuration, with another seed if given."""
        sampler = config.sampler if seed is None else replace(config.sampler, seed=seed)
        domain = config.domain
        return Simulator(domain, sampler.build(domain), _measure(config, device), device, config.sigma)

    @torch.no_grad()
    def __call__(self, index: Int64[Tensor, "samples"]) -> Samples:
        """The samples with these numbers, computed as one batch."""
        index = index.to(self.device)
        phantoms = self.sampler.sample(index)
        difference = checks.finite(_even_first(self.measure, phantoms), "simulated data")
        mask, log_sigma = targets(self.domain, phantoms, self.sigma)
        return Samples(index, difference, pack(mask), self.domain.shape[0], phantoms, log_sigma)


def targets(
    domain: Domain, phantoms: PhantomBatch, sigma: bool
) -> tuple[Bool[Tensor, "samples nx ny"], Float16[Tensor, "samples nx ny"] | None]:
    """What is to be seen of phantoms: the mask, and log σ/σ0 where it is asked for."""
    if not sigma:
        if bool(phantoms.uneven.any()):
            raise InputError("these bodies are no lists of shapes, a mask does not show them: set sigma=true")
        return indicator(domain, phantoms), None

    def log_sigma(batch: PhantomBatch) -> Float16[Tensor, "samples nx ny"]:
        return (conductivity(domain, batch) / batch.outside[:, None, None]).log().half()

    values = _even_first(log_sigma, phantoms)
    return classes(values) > 0, values


def _even_first(function: Callable[[PhantomBatch], Tensor], phantoms: PhantomBatch) -> Tensor:
    """A function of a batch, of its samples in a uniform medium apart from the others: these take more work."""
    groups = [rows for rows in (~phantoms.uneven, phantoms.uneven) if bool(rows.any())]
    if len(groups) == 1 and phantoms.medium is None:
        return function(phantoms)
    rows = torch.cat([group.nonzero().flatten() for group in groups])
    parts = [function(phantoms[group].trimmed()) for group in groups]
    return torch.cat(parts)[rows.argsort()]


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
