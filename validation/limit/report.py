"""Tables and plot from the result files. Nothing here is computed anew but means."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from eitlens.figures.posterior import NoisePoint, dice_against_noise
from eitlens.posterior.sampler.diagnostics import AGREED
from limit.files import between, read, shrunk
from limit.measurements import CURRENTS, LEVELS, Cell

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
    (1, 0.05): ("0.817", "0.107"),
    (1, 0.2): ("0.70", "0.16"),
    (3, 0.05): ("0.977", "0.015"),
    (3, 0.2): ("0.933", "0.042"),
}
# Converged measurements of a cell, below which their means say little …
FEWEST = 8
# … and the part of all from which on the limit is drawn full in the plot.
_MOST = 0.9
_LIMIT = "limit (posterior)"
_PLOT = (
    "Hard Dice against the noise level, two standard errors: the limit (open where fewer than 90 % of the measurements "
    "converged), the shipped networks, direct sampling"
)


class Mean(NamedTuple):
    """Mean over the phantoms and its standard error."""

    value: float
    error: float


class Rival(NamedTuple):
    """Advantage of a method over the limit on its metric, paired by phantom; negative: worse."""

    cell: Cell
    method: str
    metric: str
    gain: Mean


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
    return {_LIMIT: limit["scores"]} | (read(f"{cell.name}_compared.json") or {})


def converged(limit: dict[str, Any]) -> Any:
    """Which measurements of a cell have been sampled to the end."""
    return (np.asarray(limit["rhat"]) < AGREED) & np.asarray(limit["arrived"])


def rivals() -> list[Rival]:
    """Compare every method with the limit on every metric.

    On all phantoms, converged or not: what is left of the sampler's error makes the limit look worse than it is, and
    so a method better.
    """
    found = []
    for cell, limit in cells():
        for method, scores in list(methods(cell, limit).items())[1:]:
            for metric in (name for name in METRICS if name in scores):
                sign = 1 if metric in LARGER else -1
                gains = np.asarray(scores[metric]) - np.asarray(limit["scores"][metric])
                found.append(Rival(cell, method, metric, mean(list(sign * gains))))
    return found


def surprise(limit: dict[str, Any]) -> Mean:
    """Dice that the converged measurements reached above what their posteriors expected: zero on average."""
    scores = limit["scores"]
    return mean(list((np.asarray(scores["hard_dice"]) - scores["expected_dice"])[converged(limit)]))


def uniform(ranks: list[float], bins: int = 10) -> float:
    """The p value of χ² for ranks in equal bins; samples tie at 0 and 1 and belong to the outer bins."""
    counts = np.histogram(np.clip(ranks, 0, 1 - 1e-9), bins, (0, 1))[0]
    return float(stats.chisquare(counts).pvalue)


def table() -> str:
    """Write the table of all phantoms, in Markdown: mean ± standard error, best possible and reached."""
    lines = _head([*METRICS.values(), "converged"])
    for cell, limit in cells():
        agreed = f"{converged(limit).sum()} of {limit['phantoms']}"
        for method, scores in methods(cell, limit).items():
            texts = [_text(mean(scores[m])) if m in scores else "" for m in METRICS]
            lines.append(_row(cell, method, [*texts, agreed if method == _LIMIT else ""]))
            if method == _LIMIT:
                lines += _estimates(cell, scores)
    return "\n".join(lines)


def _estimates(cell: Cell, scores: dict[str, list[float]]) -> list[str]:
    """Estimate what the limit should be without asking the truth: as the posterior expects, and to first order."""
    dice, entropy = (_text(mean(scores[f"expected_{name}"])) for name in ("dice", "cross_entropy"))
    rows = [_row(cell, "the same, as the posterior expects", [dice, "", entropy, "", ""])]
    if (cell.currents, cell.tau) in LINEARISED:
        dice, entropy = LINEARISED[cell.currents, cell.tau]
        rows.append(_row(cell, "the same, linearised estimate", [dice, "", entropy, "", ""]))
    return rows


def distances() -> str:
    """Write how far each method is from the limit, paired by phantom, in Markdown."""
    rows: dict[tuple[Cell, str], dict[str, str]] = {}
    for rival in rivals():
        texts = rows.setdefault((rival.cell, rival.method), {})
        texts[rival.metric] = _text(rival.gain, "+")
    lines = _head([*METRICS.values()])
    for (cell, method), texts in rows.items():
        lines.append(_row(cell, method, [texts.get(m, "") for m in METRICS]))
    return "\n".join(lines)


def tables() -> str:
    """Write both tables, as they stand in the page."""
    text = "Gain on the limit, paired by phantom; negative is worse than the limit, whatever the metric:"
    return f"{table()}\n\n{text}\n\n{distances()}" if rivals() else table()


def write(page: Path, plot: Path) -> None:
    """Put the tables and the plot in the page."""
    dice_against_noise({f"L = {count}": _curves(count) for count in CURRENTS if _curves(count)}, plot)
    shrunk(plot)
    between(page, "table", f"{tables()}\n\n![{_PLOT}](images/{plot.name})")


def _curves(count: int) -> dict[str, list[NoisePoint]]:
    points: dict[str, list[NoisePoint]] = {}
    for cell, limit in cells():
        if cell.currents == count:
            for method, scores in methods(cell, limit).items():
                reached = method != _LIMIT or bool(converged(limit).mean() >= _MOST)
                points.setdefault(method, []).append(
                    NoisePoint(cell.tau, *mean(scores["hard_dice"]), reached)
                )
    return points


def _head(columns: list[str]) -> list[str]:
    names = ["L", "τ", "method", *columns]
    return ["| " + " | ".join(names) + " |", "|" + "---|" * len(names)]


def _row(cell: Cell, method: str, texts: list[str]) -> str:
    return "| " + " | ".join([f"{cell.currents}", f"{cell.tau:g}", method, *texts]) + " |"


def _text(found: Mean, sign: str = "") -> str:
    return f"{found.value:{sign}.3f} ± {found.error:.3f}"
