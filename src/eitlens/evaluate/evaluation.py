"""evaluation.json: what a network scored, a row for each kind of data, number of currents and noise level."""

from pathlib import Path
from typing import Any

from eitlens.evaluate.score import Score
from eitlens.files import read_json, write_json

Row = dict[str, Any]


def row(found: Score, data: str, currents: int, tau: float) -> Row:
    """A score with what it was measured on: the first `found.samples` test samples of the data of that name."""
    return {"data": data, "currents": currents, "tau": tau} | found.to_dict()


def write(path: Path, run: str, rows: list[Row], weights: str = "best", digest: str | None = None) -> None:
    """Write the file; `weights` says which of the run's, `digest` which exactly (`Trained.digest`)."""
    write_json(path, {"run": run, "weights": weights, "digest": digest, "scores": rows})


def earlier(
    path: Path, weights: str, digest: str, data: str, currents: int, samples: int
) -> tuple[list[Row], str]:
    """The rows of a file that others may join, and what stands against it where none may.

    They may where only the noise differs. A file from before there were digests is taken at its word.
    """
    if not path.exists():
        return [], ""
    measured = {"data": data, "currents": currents, "samples": samples}

    def compare(values: Any) -> tuple[list[Row], str]:
        rows: list[Row] = values["scores"]
        if values.get("weights", weights) != weights or (values.get("digest") or digest) != digest:
            return [], "other weights"
        for name, ours in measured.items():
            for theirs in (one[name] for one in rows):
                if theirs != ours:
                    return [], f"other {name} ({theirs}, not {ours})"
        return rows, ""

    return read_json(path, compare, "delete it, or give the scores another name with --out")


def joined(old: list[Row], new: list[Row]) -> list[Row]:
    """A row for each noise level, the new one where there are two."""
    rows = {one["tau"]: one for one in (*old, *new)}
    return [rows[tau] for tau in sorted(rows)]
