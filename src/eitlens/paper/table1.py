"""Table 1 and what belongs to it: every metric beside the paper's, clean networks under noise, the runs."""

from collections.abc import Iterable, Mapping
from typing import Any

from eitlens.evaluate.statistics import MetricSummary
from eitlens.paper.cells import Cell, Record, Scores, mean
from eitlens.paper.markdown import HEADS, MISSING, NONE, number, table, with_interval
from eitlens.paper.published import LEVELS, published
from eitlens.paper.seeds import Runs

Cells = Mapping[Cell, Record]
Shipped = Mapping[str, Scores]


def comparison(cells: Cells, shipped: Shipped, metric: str) -> str:
    """One metric at the three noise levels, ours and the paper's; the networks of the package below."""
    heads = ["network", *(f"{who}τ = {tau:g}" for tau in LEVELS for who in ("", "paper, "))]
    rows = []
    for name, row in published().items():
        pairs = ((own(cells, Cell(name, tau), metric), row.value(metric, tau)) for tau in LEVELS)
        rows.append([row.title, *(text for mine, theirs in pairs for text in (mine, number(theirs)))])
    for name, scores in shipped.items():
        found = (number(mean(scores, tau, metric), MISSING) for tau in LEVELS)
        rows.append([_shipped_title(name), *(text for mine in found for text in (f"**{mine}**", NONE))])
    return table(heads, rows)


def _shipped_title(name: str) -> str:
    network, _, currents = name.partition("/")
    return f"**{network}, L = {currents}**"


def own(cells: Cells, cell: Cell, metric: str) -> str:
    """The mean of a metric of a cell, at the noise it was trained with."""
    scores = cells[cell].scores if cell in cells else {}
    return number(mean(scores, cell.tau, metric), MISSING)


def everything(cells: Cells, shipped: Shipped) -> str:
    """The table of all our metrics with half of their 95 % intervals, for each finished cell."""
    rows = [
        [_title(cell), f"{cell.tau:g}", *_values(cells[cell].scores.get(cell.tau, {}))]
        for cell in in_order(cells)
    ]
    for name, scores in shipped.items():
        rows += [[_shipped_title(name), f"{tau:g}", *_values(values)] for tau, values in scores.items()]
    return table(["network", "τ", *HEADS.values()], rows)


def clean_under_noise(cells: Cells, metric: str) -> str:
    """The table of networks trained without noise and tested with it, beside those trained at the level of the test."""
    heads = ["network", *(f"clean, tested at {tau:g}" for tau in LEVELS)]
    heads += [f"trained and tested at {tau:g}" for tau in LEVELS[1:]]
    rows = []
    for name, row in published().items():
        record = cells.get(Cell(name, 0.0))
        if record is not None:
            clean = [number(mean(record.scores, tau, metric), MISSING) for tau in LEVELS]
            rows.append([row.title, *clean, *(own(cells, Cell(name, tau), metric) for tau in LEVELS[1:])])
    return table(heads, rows)


def trainings(runs: Runs) -> str:
    """The trainings of each cell, and the distance between training and validation at its end."""
    heads = ["network", "τ", "epochs", "batch", "precision", "seed", "minutes", "machine", "epoch kept"]
    heads += ["loss at the end", "validation CE, kept", "validation CE, at the end", "commit"]
    each = ((cell, record) for cell in in_order(runs) for record in runs[cell])
    return table(heads, ([_title(cell), f"{cell.tau:g}", *_run(record)] for cell, record in each))


def in_order(cells: Iterable[Cell]) -> list[Cell]:
    """Sort cells by the paper's rows, then by noise."""
    names = list(published())
    return sorted(cells, key=lambda cell: (names.index(cell.preset), cell.tau))


def _run(record: Record) -> list[str]:
    config, result = record.config, record.result
    best, last = result["best"], result["last"]
    return [
        f"{config['epochs']:g}",
        str(config["batch"]),
        config["precision"],
        str(config["seed"]),
        f"{result['minutes']:.1f}",
        result["device"],
        f"{best['step'] / result['steps'] * config['epochs']:.0f}",
        number(result["loss"]),
        number(best["cross_entropy"]),
        number(last["cross_entropy"]),
        _commit(result.get("made_with", {})),
    ]


def _commit(made_with: Mapping[str, Any]) -> str:
    """The commit of a training, with a star where the source had changes that no commit names."""
    commit = made_with.get("commit")
    return NONE if commit is None else f"{commit[:7]}{'*' if made_with['changed'] else ''}"


def _title(cell: Cell) -> str:
    return published()[cell.preset].title


def _values(values: Mapping[str, MetricSummary]) -> list[str]:
    return [with_interval(values.get(metric)) for metric in HEADS]
