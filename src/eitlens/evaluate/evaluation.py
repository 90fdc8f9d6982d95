"""evaluation.json: what a network scored, a row for each kind of data, number of currents and noise level."""

from pathlib import Path
from typing import Any

from eitlens.evaluate.score import Score
from eitlens.files import write_json

Row = dict[str, Any]


def row(found: Score, data: str, currents: int, tau: float) -> Row:
    """A score with what it was measured on: the first `found.samples` test samples of the data of that name."""
    return {"data": data, "currents": currents, "tau": tau} | found.to_dict()


def write(path: Path, run: str, rows: list[Row], weights: str = "best") -> None:
    """Write the file; `weights` says which of the run's."""
    write_json(path, {"run": run, "weights": weights, "scores": rows})
