"""Where a number of a page comes from, and how it is written: one line for each kind of source.

table1/NETWORK/TAU METRIC [AT]          the mean of a metric of evaluation.json at noise AT, TAU when left out
variants/NAME/NETWORK/TAU METRIC [AT]   the same of a variant
table1/NETWORK/TAU result.KEY[.KEY]     an entry of result.json, as result.best.cross_entropy
table1/NETWORK/TAU log.METRIC EPOCH     validation after an epoch, from log.csv
shipped/NAME/L METRIC AT                a network of the package, given L currents
sweep/NAME/KIND METRIC VALUE            the same, from the sweep.json beside its weights
limit/CELL METRIC [METHOD]              the information limit (docs/posterior.md), or a method on the same phantoms;
                                        `standard error` for METHOD: that of the limit's mean
runs/NETWORK/TAU METRIC STATISTIC       mean, least, most, range or runs of a metric over seeds (`eitlens.paper.seeds`)
runs/widest METRIC                      the widest range over the seeds of one cell
study/NAME KEY/KEY/… [% | FORM]         an entry of results/NAME.json, which a study wrote; in percent, or as .1f
paper/NETWORK METRIC AT                 what the paper prints in Table 1
paper/NETWORK gflops                    and in its table of costs
SOURCE minus SOURCE                     the difference of two numbers as they are written
"""

import csv
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from eitlens.errors import InputError
from eitlens.evaluate.sweep import read
from eitlens.models.registry import NETWORKS
from eitlens.paper import seeds
from eitlens.paper.cells import Cell, mean, read_record, read_shipped
from eitlens.paper.markdown import NONE, number
from eitlens.paper.page import Places
from eitlens.paper.published import published

_TINY = 5e-4  # four decimals would leave one digit of it


def lookup(source: str, places: Places) -> str:
    """The number of a source as it is written."""
    if " minus " in source:
        one, other = (lookup(part, places) for part in source.split(" minus "))
        return NONE if NONE in (one, other) else f"{float(one) - float(other):.3f}"
    try:
        place, key, *rest = source.split()
        kind, _, name = place.partition("/")
        if kind == "limit":
            return number(_limit(places.results / "information_limit", name, key, " ".join(rest)))
        if kind == "sweep":
            return number(_swept(places.shipped, name, key, " ".join(rest)))
        if kind == "study":
            return _study(places.results / f"{name}.json", key.split("/"), "".join(rest))
        if kind == "runs":
            value = _over_seeds(places.results, name, key, " ".join(rest))
            return str(value) if rest == ["runs"] else number(value)
        if key == "gflops":
            return number(NETWORKS[name].published.gflops, form="g")
        at = float(rest[0]) if rest else None
        if kind == "paper":
            return number(published()[name].value(key, at or 0.0))
        if kind == "shipped":
            return number(mean(read_shipped(places.shipped).get(name, {}), at or 0.0, key))
        folder = places.results / place
        if not (folder / "evaluation.json").exists():
            return NONE
        record = read_record(folder)
        if key.startswith("result."):
            return number(_entry(record.result, key.split(".")[1:]))
        if key.startswith("log."):
            return number(_logged(folder / "log.csv", key.removeprefix("log."), rest[0]))
        return number(mean(record.scores, float(folder.name) if at is None else at, key))
    except (KeyError, ValueError, TypeError, OSError, StopIteration) as error:
        raise InputError(
            f"a number of {source!r}: no such source ({error}): see eitlens.paper.sources"
        ) from None


def _over_seeds(results: Path, cell: str, metric: str, statistic: str) -> float | None:
    runs = seeds.read_runs(results)
    if not runs:
        return None
    if not statistic:
        return seeds.widest(runs, metric)
    found = asdict(spread := seeds.spread(runs, Cell.parse(cell), metric)) | {"range": spread.range}
    value: float = found[statistic]
    return value


def _limit(folder: Path, cell: str, metric: str, method: str) -> float | None:
    error = method == "standard error"
    method = "" if error else method
    path = folder / f"{cell}{'_compared' if method else ''}.json"
    if not path.exists():
        return None
    found = json.loads(path.read_text(encoding="utf-8"))
    values = found[method or "scores"][metric]
    mean = sum(values) / len(values)
    if not error:
        return float(mean)
    return float((sum((value - mean) ** 2 for value in values) / (len(values) - 1) / len(values)) ** 0.5)


def _swept(weights: Path, name: str, metric: str, value: str) -> float | None:
    network, kind = name.split("/")
    path = weights / network / "sweep.json"
    if not path.exists():
        return None
    point = next(point for point in read(path) if point.kind == kind and str(point.value) == value)
    return point.score.metrics[metric].mean


def _study(path: Path, keys: list[str], form: str) -> str:
    if not path.exists():
        return NONE
    value = _entry(json.loads(path.read_text(encoding="utf-8")), keys)
    if form == "%":
        return f"{100 * value:.0f}" if value >= 0.1 or not value else f"{100 * value:.2g}"
    if form:
        return format(value, form)
    if 0 < abs(value) < _TINY:
        return f"{value:.0e}"
    return f"{value:g}" if value == int(value) else number(value)


def _entry(values: Any, keys: list[str]) -> float:
    for key in keys:
        values = values[int(key) if isinstance(values, list) else key]
    return float(values)


def _logged(log: Path, metric: str, epoch: str) -> float:
    with log.open(encoding="utf-8", newline="") as stream:
        return next(float(row[metric]) for row in csv.DictReader(stream) if row["epoch"] == epoch)
