"""The cells of Table 1: their names, the order in which they are wanted, and the results of each.

A cell is a network trained at one noise level; `results/table1/PRESET/TAU` holds its config.json (the recipe),
result.json (time, machine, best epoch), evaluation.json (scores on the test split), log.csv (learning curve).
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from eitlens.errors import InputError
from eitlens.evaluate.statistics import MetricSummary
from eitlens.files import read_json
from eitlens.paper.published import LEVELS, published
from eitlens.weights import SHIPPED

TABLE1, VARIANTS_FOLDER, SEEDS_FOLDER = "table1", "variants", "seeds"
SEED = 1127802
"""The seed of Table 1 and of the published code; results of another lie in a folder of their own."""
FIRST_NOISY = ("uit", "uit-l3", "unet", "fno")
_FIRST_CLEAN = ("uit", "unet", "fno", "uit-l3", "unet-big", "uit-softmax", "hybrid-ut", "cross-ut")

PAPER = "paper"
Scores = dict[float, dict[str, MetricSummary]]
T = TypeVar("T")


@dataclass(frozen=True)
class Cell:
    """A network by its preset, trained at noise level τ."""

    preset: str
    tau: float

    @staticmethod
    def parse(text: str) -> "Cell":
        """Read a cell from text such as `uit/0.05`."""
        preset, _, tau = text.partition("/")
        names = list(published())
        if preset not in names:
            raise InputError(f"{text}: Table 1 has no network {preset!r}: choose one of {', '.join(names)}")
        try:
            level = float(tau)
        except ValueError:
            raise InputError(f"{text}: expected NETWORK/TAU, as uit/0.05") from None
        if level not in LEVELS:
            raise InputError(f"{text}: Table 1 has no such noise: choose one of {LEVELS}")
        return Cell(preset, level)

    def folder(self, table: Path) -> Path:
        """The folder of its results."""
        return table / self.preset / f"{self.tau:g}"

    def __str__(self) -> str:
        return f"{self.preset}/{self.tau:g}"


@dataclass(frozen=True)
class Record:
    """The results of a cell: its recipe and training as JSON objects, and its scores by noise level."""

    config: dict[str, Any]
    result: dict[str, Any]
    scores: Scores


def wanted() -> list[Cell]:
    """The cells in the order in which they are trained: every network without noise, four with noise, the rest."""
    names = [*_FIRST_CLEAN, *(name for name in published() if name not in _FIRST_CLEAN)]
    noisy = [Cell(name, tau) for name in FIRST_NOISY for tau in LEVELS[1:]]
    rest = [Cell(name, tau) for tau in LEVELS[1:] for name in names if name not in FIRST_NOISY]
    return [*(Cell(name, 0.0) for name in names), *noisy, *rest]


def read_table(table: Path) -> dict[Cell, Record]:
    """The finished cells in a folder."""
    found = {}
    for file in sorted(table.glob("*/*/evaluation.json")):
        cell = Cell.parse(f"{file.parent.parent.name}/{file.parent.name}")
        if (file.parent / "result.json").exists():
            found[cell] = read_record(file.parent)
    return found


def read_record(folder: Path) -> Record:
    """The recipe, the result and the scores in a folder."""
    config, result = (_read(folder / f"{name}.json", dict[str, Any]) for name in ("config", "result"))
    return Record(config, result, _read(folder / "evaluation.json", lambda values: scores(values["scores"])))


def read_shipped(folder: Path = SHIPPED, data: str = PAPER) -> dict[str, Scores]:
    """The scores of the networks that come with the package on a kind of data, by name and currents: `flagship/3`."""
    found: dict[str, Scores] = {}
    for file in sorted(folder.glob("*/evaluation.json")):
        by_currents = _read(file, lambda values: _by_currents(values["scores"], data))
        found |= {f"{file.parent.name}/{count}": by_currents[count] for count in sorted(by_currents)}
    return found


def _by_currents(rows: list[dict[str, Any]], data: str) -> dict[int, Scores]:
    """The scores on a kind of data by the number of currents."""
    chosen = [row for row in rows if row["data"] == data]
    counts = {row["currents"] for row in chosen}
    return {count: scores([row for row in chosen if row["currents"] == count]) for count in counts}


def scores(rows: list[dict[str, Any]]) -> Scores:
    """Metrics by noise level, from the rows of evaluation.json."""
    return {
        float(row["tau"]): {
            name: MetricSummary(**found)
            for name, found in (row["metrics"] | {"calibration_error": row["calibration"]}).items()
        }
        for row in rows
    }


def mean(scores: Scores, tau: float, metric: str) -> float | None:
    """The mean of a metric at a noise level, or None where that level was not tested."""
    return scores[tau][metric].mean if tau in scores else None


def _read(path: Path, build: Callable[[Any], T]) -> T:
    """Build something from a result file, or say in one line what is wrong with the file."""
    return read_json(path, build, "copy it again, or remove its folder")
