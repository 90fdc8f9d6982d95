"""Numbers quoted in prose and the tables of model cards, kept equal to the result files.

In a Markdown file `0.883<!--= table1/uit/0 soft_dice 0.05 -->` is a number with where it comes from, which is not
seen when the page is rendered. Sources:

table1/NETWORK/TAU METRIC [AT]          the mean of a metric of evaluation.json at noise AT, TAU when left out
variants/NAME/NETWORK/TAU METRIC [AT]   the same of a variant
table1/NETWORK/TAU result.KEY[.KEY]     an entry of result.json, as result.best.cross_entropy
table1/NETWORK/TAU log.METRIC EPOCH     validation after an epoch, from log.csv
shipped/NAME/L METRIC AT                a network of the package, given L currents
sweep/NAME/KIND METRIC VALUE            the same, from the sweep.json beside its weights
limit/CELL METRIC [METHOD]              the information limit (docs/posterior.md), or a method on the same phantoms
runs/NETWORK/TAU METRIC STATISTIC       mean, least, most, range or runs of a metric over seeds (`eitlens.paper.seeds`)
runs/widest METRIC                      the widest range over the seeds of one cell
study/NAME KEY/KEY/… [%]                an entry of results/NAME.json, which a study of `validation` wrote
paper/NETWORK METRIC AT                 what the paper prints
"""

import csv
import json
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

from eitlens.errors import InputError
from eitlens.evaluate.sweep import read
from eitlens.paper import seeds
from eitlens.paper.cells import Cell, mean, read_record, read_shipped
from eitlens.paper.markdown import HEADS, NONE, number, table, with_interval
from eitlens.paper.page import Places
from eitlens.paper.published import published

_QUOTE = re.compile(r"(?P<value>[^\s(>]+)<!--= (?P<source>[^>]+?) -->")
_BEGIN, _END = "<!-- scores -->\n", "<!-- end of scores -->"
_TINY = 5e-4  # four decimals would leave one digit of it
_ON_CARDS = ("hard_dice", "soft_dice", "cross_entropy", "relative_l2", "calibration_error")


def refresh(text: str, places: Places) -> str:
    """The text with every quoted number as the result files have it now; – where they have none."""
    return _QUOTE.sub(lambda m: f"{lookup(m['source'], places)}<!--= {m['source']} -->", text)


def sources(text: str) -> list[str]:
    """The sources that the text quotes."""
    return [match["source"] for match in _QUOTE.finditer(text)]


def lookup(source: str, places: Places) -> str:
    """The number of a source as it is written."""
    try:
        place, key, *rest = source.split()
        kind, _, name = place.partition("/")
        if kind == "limit":
            return number(_limit(places.results / "information_limit", name, key, " ".join(rest)))
        if kind == "sweep":
            return number(_swept(places.shipped, name, key, " ".join(rest)))
        if kind == "study":
            return _study(places.results / f"{name}.json", key.split("/"), percent=rest == ["%"])
        if kind == "runs":
            value = _over_seeds(places.results, name, key, " ".join(rest))
            return str(value) if rest == ["runs"] else number(value)
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
            f"quoted number {source!r}: no such source ({error}): see eitlens.paper.quotes"
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
    path = folder / f"{cell}{'_compared' if method else ''}.json"
    if not path.exists():
        return None
    found = json.loads(path.read_text(encoding="utf-8"))
    values = found[method or "scores"][metric]
    return float(sum(values) / len(values))


def _swept(weights: Path, name: str, metric: str, value: str) -> float | None:
    network, kind = name.split("/")
    path = weights / network / "sweep.json"
    if not path.exists():
        return None
    point = next(point for point in read(path) if point.kind == kind and str(point.value) == value)
    return point.score.metrics[metric].mean


def _study(path: Path, keys: list[str], percent: bool) -> str:
    if not path.exists():
        return NONE
    value = _entry(json.loads(path.read_text(encoding="utf-8")), keys)
    if not percent and 0 < abs(value) < _TINY:
        return f"{value:.0e}"
    if not percent:
        return f"{value:g}" if value == int(value) else number(value)
    return f"{100 * value:.0f}" if value >= 0.1 or not value else f"{100 * value:.2g}"


def _entry(values: Any, keys: list[str]) -> float:
    for key in keys:
        values = values[int(key) if isinstance(values, list) else key]
    return float(values)


def _logged(log: Path, metric: str, epoch: str) -> float:
    with log.open(encoding="utf-8", newline="") as stream:
        return next(float(row[metric]) for row in csv.DictReader(stream) if row["epoch"] == epoch)


def cards(weights: Path) -> list[Path]:
    """The model cards of the networks: in the folders that have an evaluation.json."""
    found = (file.with_name("card.md") for file in sorted(weights.glob("*/evaluation.json")))
    return [card for card in found if card.exists()]


def refresh_card(card: Path) -> str:
    """The text of a card with its tables as evaluation.json has them."""
    before, _, rest = card.read_text(encoding="utf-8").partition(_BEGIN)
    _, _, after = rest.partition(_END)
    tables = "\n".join(_card_table(card.parent, data) for data in ("paper", "paper-disjoint"))
    return f"{before}{_BEGIN}\n{tables}\n{_END}{after}"


def _card_table(folder: Path, data: str) -> str:
    rows = [
        [name.split("/")[1], f"{tau:g}", *(with_interval(values[key]) for key in _ON_CARDS)]
        for name, scores in read_shipped(folder.parent, data).items()
        if name.startswith(f"{folder.name}/")
        for tau, values in scores.items()
    ]
    return f"`{data}`:\n\n" + table(["currents", "τ", *(HEADS[key] for key in _ON_CARDS)], rows, left=0)
