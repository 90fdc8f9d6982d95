"""The material that all figures of `eitlens figures` share: one sample, the result files, the networks."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import torch
from torch import Tensor

from eitlens.dataset import DataConfig, Samples
from eitlens.dataset import preset as data_preset
from eitlens.dataset.simulate import Simulator
from eitlens.domain import Square
from eitlens.domain.base import CPU
from eitlens.evaluate.examples import Examples
from eitlens.evaluate.score import SEED
from eitlens.feed import Noise
from eitlens.models.trained import Trained
from eitlens.paper.cells import TABLE1, Cell, Record, Scores, read_shipped, read_table
from eitlens.phantom import Phantom, level_set
from eitlens.weights import SHIPPED, networks


@dataclass(frozen=True)
class Studio:
    """The place where figures find what they show.

    Attributes:
        results: the folder `results` of the repository.
        weights: the networks of the package.
        recipe: the data whose first test samples are shown: the paper's.
        samples: samples a point of a sweep that has to be computed.
        phantoms: phantoms of a study of Theorem 1.
        tell: told what is being computed.
    """

    results: Path
    weights: Path = SHIPPED
    recipe: DataConfig = field(default_factory=lambda: data_preset("paper"))
    samples: int = 8
    phantoms: int = 4
    tell: Callable[[str], None] = lambda text: None

    @property
    def square(self) -> Square:
        """The body."""
        return Square(self.recipe.n)

    @cached_property
    def scene(self) -> Samples:
        """Four test samples of the paper's data, with their phantoms: those that cells keep images of."""
        start = self.recipe.ranges["test"][0]
        return Simulator.build(self.recipe, CPU)(torch.arange(start, start + 4))

    @property
    def phantom(self) -> Phantom:
        """The first phantom of the scene."""
        assert self.scene.phantoms is not None
        return self.scene.phantoms.phantom(0)

    @cached_property
    def level_set(self) -> Tensor:
        """The level set of the first phantom at the nodes, negative inside."""
        return level_set(self.square, self.phantom)

    def data(self, tau: float) -> Tensor:
        """The boundary differences of the four samples with the noise of the scores, (4, 3, 4n)."""
        return Noise((tau,)).apply(self.scene.difference, SEED, 0, self.scene.index)

    @cached_property
    def cells(self) -> dict[Cell, Record]:
        """The cells of Table 1 there are."""
        return read_table(self.results / TABLE1)

    @cached_property
    def shipped(self) -> dict[str, Scores]:
        """Scores of the networks of the package."""
        return read_shipped(self.weights)

    def examples(self, cell: Cell) -> Examples | None:
        """The images that a cell kept, if they are there."""
        path = cell.folder(self.results / TABLE1) / "examples.npz"
        return Examples.read(path) if path.exists() else None

    def log(self, cell: Cell) -> Path:
        """The log of a cell."""
        return cell.folder(self.results / TABLE1) / "log.csv"

    @cached_property
    def readers(self) -> dict[str, Trained]:
        """The networks of the package that read data on the grid of the scene."""
        found = {name: Trained.open(self.weights / name, CPU) for name in networks(self.weights)}
        return {name: reader for name, reader in found.items() if reader.n == self.square.n}

    def image(self, name: str, tau: float) -> Tensor:
        """The probability of inclusion of the first sample, by a network of the package."""
        reader = self.readers[name]
        return torch.sigmoid(reader(self.data(tau)[:1, : reader.currents.count]))[0].cpu()
