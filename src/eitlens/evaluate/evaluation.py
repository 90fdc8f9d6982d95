"""evaluation.json: the scores of a network, a row for each kind of data, number of currents and noise level."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from eitlens.evaluate.score import Score
from eitlens.files import read_json, write_json

Row = dict[str, Any]
Subject = Mapping[str, str]
"""Digests of the `weights` and the `data` that a row is of. Their names do not tell: the best weights of a run that
goes on are others later, and two data sets may be called the same. Rows from before there were digests have none."""


@dataclass(frozen=True)
class Earlier:
    """The rows of a file that new ones may join; or none, and what `other` scores it holds instead.

    `outdated`: these are of weights the run no longer has, or of fewer samples, so that new ones may take their place.
    """

    rows: list[Row] = field(default_factory=list)
    other: str = ""
    outdated: bool = False


def row(found: Score, data: str, currents: int, tau: float, subject: Subject | None = None) -> Row:
    """A score with what it was measured on: the first `found.samples` test samples of the data of that name."""
    return {"data": data, "currents": currents, "tau": tau, "of": dict(subject or {})} | asdict(found)


def write(path: Path, run: str, rows: list[Row], weights: str = "best") -> None:
    """Write the file; `weights` says which weights of the run are scored."""
    write_json(path, {"run": run, "weights": weights, "scores": rows})


def earlier(path: Path, weights: str, data: str, currents: int, samples: int, subject: Subject) -> Earlier:
    """Read the rows that are in the file already; new ones may join them where only the noise differs."""
    if not path.exists():
        return Earlier()

    def compare(values: Any) -> Earlier:
        rows: list[Row] = values["scores"]
        wanted = {"data": data, "currents": currents, "samples": samples}
        for one in rows:
            one["tau"], Score.from_dict(one)  # what is wrong with the file is said before the work
            differs = {name for name, ours in subject.items() if one.get("of", {}).get(name, ours) != ours}
            if "weights" in differs or values.get("weights", weights) != weights:
                return Earlier(other="other weights", outdated=True)
            for name, ours in wanted.items():
                if one[name] != ours:
                    fewer = name == "samples" and one[name] < ours
                    return Earlier(other=f"other {name} ({one[name]}, not {ours})", outdated=fewer)
            if differs:
                return Earlier(other=f"other data that are called {data}, too")
        return Earlier(rows)

    return read_json(path, compare, "delete it, or give the scores another name with --out")


def joined(old: list[Row], new: list[Row]) -> list[Row]:
    """A row for each noise level, the new one where there are two."""
    rows = {one["tau"]: one for one in (*old, *new)}
    return [rows[tau] for tau in sorted(rows)]
