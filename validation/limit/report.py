"""From result files to the table, the plot and the claims. Nothing here is computed anew but means."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from eitlens.classical.posterior.diagnostics import AGREED
from eitlens.figures.posterior import Curve, dice_against_noise
from limit.measurements import CURRENTS, LEVELS, Cell
from limit.runs import RESULTS

METRICS = {
    "hard_dice": "hard Dice",
    "soft_dice": "soft Dice",
    "cross_entropy": "cross entropy",
    "relative_l2": "relative L2",
}
LARGER = ("hard_dice", "soft_dice")
# Hard Dice and cross entropy from the Fisher information of the 20 parameters plus the prior, 16 phantoms: an
# estimate made before any sampling, beside which the samples are shown.
LINEARISED = {
    (1, 0.05): (0.817, 0.107),
    (1, 0.2): (0.70, 0.16),
    (3, 0.05): (0.977, 0.015),
    (3, 0.2): (0.933, 0.042),
}
_FEWEST = 8
_TABLE = ("<!-- table -->", "<!-- end of table -->")


class Mean(NamedTuple):
    """Mean over the phantoms and its standard error."""

    value: float
    error: float


class Rival(NamedTuple):
    """How much better than the limit a method is on its metric, paired by phantom; negative: worse."""

    cell: Cell
    method: str
    metric: str
    gain: Mean


def read(name: str) -> dict[str, Any] | None:
    """A result file, if it is there."""
    path = RESULTS / name
    return json.loads(path.read_text()) if path.exists() else None


def mean(values: list[float]) -> Mean:
    """Mean and standard error."""
    array = np.asarray(values)
    return Mean(float(array.mean()), float(array.std(ddof=1) / np.sqrt(len(array))))


def cells() -> Iterator[tuple[Cell, dict[str, Any]]]:
    """The cells that have been computed."""
    for count in CURRENTS:
        for tau in LEVELS:
            found = read(f"{Cell(count, tau).name}.json")
            if found is not None:
                yield Cell(count, tau), found


def methods(cell: Cell, limit: dict[str, Any]) -> dict[str, dict[str, list[float]]]:
    """Scores by method on the phantoms of the cell: the limit first, then what was compared with it."""
    return {"limit (posterior)": limit["scores"]} | (read(f"{cell.name}_compared.json") or {})


def converged(limit: dict[str, Any]) -> Any:
    """Which measurements of a cell have been sampled to the end."""
    return (np.asarray(limit["rhat"]) < AGREED) & np.asarray(limit["arrived"])


def rivals() -> list[Rival]:
    """Every method against the limit on every metric, where the sampler converged.

    That choice is fair: it depends on the measurement and not on the truth, and the best image is best for every
    measurement by itself.
    """
    found = []
    for cell, limit in cells():
        if converged(limit).sum() < _FEWEST:
            continue
        for method, scores in list(methods(cell, limit).items())[1:]:
            for metric in METRICS:
                if metric in scores:
                    sign = 1 if metric in LARGER else -1
                    gains = np.asarray(scores[metric]) - np.asarray(limit["scores"][metric])
                    gain = mean(list(sign * gains[converged(limit)]))
                    found.append(Rival(cell, method, metric, gain))
    return found


def uniform(ranks: list[float], bins: int = 10) -> float:
    """The p value of χ² for ranks in equal bins; samples tie at 0 and 1 and belong to the outer bins."""
    counts = np.histogram(np.clip(ranks, 0, 1 - 1e-9), bins, (0, 1))[0]
    return float(stats.chisquare(counts).pvalue)


def table() -> str:
    """The table in Markdown: mean ± standard error, best possible and reached."""
    lines = [
        "| L | τ | method | " + " | ".join(METRICS.values()) + " | converged |",
        "|" + "---|" * (4 + len(METRICS)),
    ]
    for cell, limit in cells():
        agreed = converged(limit).mean()
        for method, scores in methods(cell, limit).items():
            texts = [_text(scores, metric) for metric in METRICS]
            last = f"{agreed:.0%}" if method.startswith("limit") else ""
            lines.append(
                f"| {cell.currents} | {cell.tau:g} | {method} | " + " | ".join(texts) + f" | {last} |"
            )
        if (cell.currents, cell.tau) in LINEARISED:
            dice, entropy = LINEARISED[cell.currents, cell.tau]
            lines.append(
                f"| {cell.currents} | {cell.tau:g} | linearised estimate | {dice} | | {entropy} | | |"
            )
    return "\n".join(lines)


def write(page: Path, plot: Path) -> None:
    """Put the table in the page and draw the plot."""
    text = page.read_text()
    head, rest = text.split(_TABLE[0])
    _, tail = rest.split(_TABLE[1])
    page.write_text(f"{head}{_TABLE[0]}\n\n{table()}\n\n{_TABLE[1]}{tail}")
    dice_against_noise({f"L = {count}": _curves(count) for count in CURRENTS}, plot)


def _curves(count: int) -> dict[str, Curve]:
    points: dict[str, list[tuple[float, Mean]]] = {}
    for cell, limit in cells():
        if cell.currents == count:
            for method, scores in methods(cell, limit).items():
                points.setdefault(method, []).append((cell.tau, mean(scores["hard_dice"])))
    return {
        name: Curve([t for t, _ in row], [m.value for _, m in row], [m.error for _, m in row])
        for name, row in points.items()
    }


def _text(scores: dict[str, list[float]], metric: str) -> str:
    if metric not in scores:
        return ""
    found = mean(scores[metric])
    return f"{found.value:.3f} ± {found.error:.3f}"
