"""Cells trained from several seeds: how far a score moves when nothing but the seed changes.

The data set and its split stay the same; the seed is that of the weights' start, of the order of samples, of the
noise and of dropout. The scores of the runs of a cell lie in `results/table1` and `results/seeds/SEED/table1`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from eitlens.paper.cells import SEEDS_FOLDER, TABLE1, Cell, Record, read_table
from eitlens.paper.markdown import HEADS, number, table
from eitlens.paper.published import METRICS, published

Runs = Mapping[Cell, Sequence[Record]]
ENOUGH = 3
"""Runs whose extremes are taken for the reach of a cell; one with fewer is given the widest range of all cells."""


@dataclass(frozen=True)
class Spread:
    """The mean of the runs' scores, the least and the most of them, and the number of runs."""

    mean: float
    least: float
    most: float
    runs: int

    @staticmethod
    def of(values: Sequence[float]) -> "Spread":
        """Describe the scores of the runs of a cell."""
        return Spread(sum(values) / len(values), min(values), max(values), len(values))

    @property
    def range(self) -> float:
        """The distance from the least to the most."""
        return self.most - self.least


def read_runs(results: Path) -> dict[Cell, list[Record]]:
    """The runs of each cell: that of Table 1 first, then those of other seeds."""
    found: dict[Cell, list[Record]] = {}
    for folder in (results / TABLE1, *sorted((results / SEEDS_FOLDER).glob(f"*/{TABLE1}"))):
        for cell, record in read_table(folder).items():
            found.setdefault(cell, []).append(record)
    return found


def spread(runs: Runs, cell: Cell, metric: str) -> Spread:
    """The spread of a metric on the test set; of `last.METRIC`, in validation after the last epoch."""
    name = metric.removeprefix("last.")
    if name != metric:
        return Spread.of([float(record.result["last"][name]) for record in runs[cell]])
    return Spread.of([record.scores[cell.tau][name].mean for record in runs[cell]])


def widest(runs: Runs, metric: str) -> float:
    """The widest range of a metric over the runs of one cell; 0 where no cell has several."""
    return max(
        (spread(runs, cell, metric).range for cell, each in runs.items() if len(each) > 1), default=0.0
    )


def reach(runs: Runs, cell: Cell, metric: str) -> tuple[float, float]:
    """The range in which the metric of a cell may lie: the 95 % intervals of its runs together.

    With fewer than `ENOUGH` runs the widest range of all cells is added on both sides.
    """
    values = [record.scores[cell.tau][metric] for record in runs[cell]]
    more = 0.0 if len(values) >= ENOUGH else widest(runs, metric)
    return min(value.low for value in values) - more, max(value.high for value in values) + more


def seeds_table(runs: Runs) -> str:
    """The cells with several runs: the mean of each metric and its range, and Dice after the last epoch."""
    metrics = (*METRICS, "last.soft_dice")
    heads = ["network", "τ", "runs", *(HEADS[metric] for metric in METRICS), "Dice in validation at the end"]
    rows = [
        [published()[cell.preset].title, f"{cell.tau:g}", str(len(each)), *_row(runs, cell, metrics)]
        for cell, each in runs.items()
        if len(each) > 1
    ]
    return table(heads, rows)


def _row(runs: Runs, cell: Cell, metrics: Sequence[str]) -> list[str]:
    found = (spread(runs, cell, metric) for metric in metrics)
    return [f"{number(each.mean, form='.4f')} ({each.least:.4f} to {each.most:.4f})" for each in found]
