"""The measurements everybody is judged on: the first test phantoms of `paper-disjoint`, the evaluation's noise."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float64
from torch import Tensor

from eitlens.dataset import DataConfig
from eitlens.dataset.presets import preset
from eitlens.dataset.simulate import Simulator
from eitlens.evaluate.score import SEED
from eitlens.feed import Noise
from eitlens.phantom import EllipseSampler, PhantomBatch

PHANTOMS = 48
CURRENTS = (1, 3)
LEVELS = (0.01, 0.05, 0.2)


@dataclass(frozen=True)
class Cell:
    """A cell of the table: the number of currents and the noise level."""

    currents: int
    tau: float

    @property
    def name(self) -> str:
        """Name of the cell in file names."""
        return f"L{self.currents}_tau{self.tau:g}"


CELLS = tuple(Cell(count, tau) for tau in (0.05, 0.2, 0.01) for count in CURRENTS)


class Measured(NamedTuple):
    """Truth and noisy data."""

    phantoms: PhantomBatch
    truth: Bool[Tensor, "samples nx ny"]
    noisy: Float64[Tensor, "samples currents boundary"]


def recipe(cell: Cell) -> DataConfig:
    """The disjoint data set of the paper with the cell's currents."""
    config = preset("paper-disjoint")
    return replace(config, currents=replace(config.currents, count=cell.currents))


def prior() -> EllipseSampler:
    """The distribution the phantoms come from."""
    sampler = preset("paper-disjoint").sampler.build()
    assert isinstance(sampler, EllipseSampler)
    return sampler


def measured(cell: Cell, start: int, stop: int, device: torch.device) -> Measured:
    """Test samples start … stop - 1 (negative: of the training range, for tuning) with their noise."""
    config = recipe(cell)
    first = config.ranges["test"][0] + start
    samples = Simulator.build(config, device)(torch.arange(first, first + stop - start))
    noisy = Noise((cell.tau,)).apply(samples.difference, SEED, 0, samples.index)
    assert samples.phantoms is not None
    return Measured(samples.phantoms, samples.mask, noisy)


def fingerprint(samples: Measured) -> list[list[float]]:
    """A few values of each measurement, to tell whether two files speak of the same ones."""
    return samples.noisy[:, 0, ::100].tolist()


def same(samples: Measured, known: list[list[float]]) -> bool:
    """Tell whether these are they, up to what another device computes differently."""
    found, given = torch.tensor(fingerprint(samples)), torch.tensor(known)
    return found.shape == given.shape and bool(
        ((found - given).abs() < 1e-3 * given.abs().amax(1, True)).all()
    )
