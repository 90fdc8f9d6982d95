"""Scores made again: from the weights of a cell, where they are kept, on test samples that are simulated again.

The networks of the package have theirs, as `flagship/3/0.05`: name, number of currents, noise. The cells of Table 1
were trained before weights were kept; one that is trained with `--keep`, or whose run is still there, can be checked.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from eitlens.dataset import DataConfig
from eitlens.dataset import preset as data_preset
from eitlens.domain.base import CPU
from eitlens.errors import InputError
from eitlens.evaluate.score import score
from eitlens.evaluate.statistics import MetricSummary
from eitlens.feed import simulate_range
from eitlens.models.shards import exists
from eitlens.models.trained import Trained
from eitlens.paper.cells import PAPER, TABLE1, Cell, Scores, read_record, read_shipped
from eitlens.paper.variants import PLAIN
from eitlens.weights import SHIPPED

ALIKE = 1e-3
"""Scores that differ by less are the same: weights are kept in 8 bits, which moves a score by as much."""


@dataclass(frozen=True)
class Subject:
    """A network with the scores that were recorded of it at one noise level, and the data they are of."""

    folder: Path
    currents: int
    tau: float
    data: DataConfig
    recorded: dict[str, MetricSummary]


@dataclass(frozen=True)
class Again:
    """A metric as it was recorded and as it is found again."""

    metric: str
    recorded: float
    found: float

    @property
    def holds(self) -> bool:
        """Whether the two are alike."""
        return abs(self.recorded - self.found) <= ALIKE


def subject(text: str, results: Path, places: Sequence[Path] = (), shipped: Path = SHIPPED) -> Subject:
    """What text such as `uit/0` or `flagship/3/0.05` names; `places` are folders that may keep weights of cells."""
    name, _, tau = text.rpartition("/")
    networks = read_shipped(shipped)
    if name in networks:
        return _shipped(text, shipped / name.split("/")[0], int(name.split("/")[1]), tau, networks[name])
    if text in {known.split("/")[0] for known in networks} | set(networks):
        raise InputError(f"{text}: give the currents and the noise, too, as {text.split('/')[0]}/1/0.05")
    cell = Cell.parse(text)
    if not (cell.folder(results / TABLE1) / "result.json").exists():
        raise InputError(f"{text}: has no recorded scores: train it first with --train")
    record = read_record(cell.folder(results / TABLE1))
    for place in places:
        folder = cell.folder(place / PLAIN)
        if exists(folder / "best.safetensors"):
            data = DataConfig.read(cell.folder(results / TABLE1) / "data.json")
            count = int(record.config["data"]["currents"]) or data.currents.count
            return Subject(folder, count, cell.tau, data, record.scores[cell.tau])
    kept = ", ".join(sorted({known.split("/")[0] for known in networks}))
    raise InputError(
        f"{text}: its weights are not kept: check a network of the package ({kept}), or train it with --keep"
    )


def _shipped(text: str, folder: Path, currents: int, tau: str, scores: Scores) -> Subject:
    levels = {f"{level:g}": level for level in scores}
    if tau not in levels:
        raise InputError(f"{text}: no scores at this noise: choose one of {', '.join(levels)}")
    return Subject(folder, currents, levels[tau], data_preset(PAPER), scores[levels[tau]])


def check(one: Subject, device: torch.device = CPU) -> list[Again]:
    """The recorded scores beside those found again on the whole test split."""
    trained = Trained.open(one.folder, device).reading(one.currents)
    samples = simulate_range(one.data, *one.data.ranges["test"], device)
    found = score(trained, samples, one.tau).rows()
    return [Again(name, summary.mean, found[name].mean) for name, summary in one.recorded.items()]
