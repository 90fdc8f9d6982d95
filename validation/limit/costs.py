"""Costs of the sampler, and how good the guide is: the tables of `docs/posterior_notebook.md` that come from files."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from eitlens import weights
from eitlens.paper.markdown import table
from limit import report
from limit.files import between, read

_MACHINES = ("cpu", "cuda")
_COLUMNS = ("machine", "phantom", "seconds", "sweeps", "R-hat", "effective samples", "places from the top")
_TAU = 0.05


def write(page: Path) -> None:
    """Put both in the page."""
    between(page, "cost", cost())
    between(page, "judged", judged())


def cost() -> str:
    """Single measurements until their ensembles agree."""
    return table(_COLUMNS, [row for machine in _MACHINES for row in _rows(machine)]).strip()


def _rows(machine: str) -> Iterator[list[str]]:
    found: dict[str, Any] = read(f"cost_{machine}.json") or {"measurements": []}
    for k, one in enumerate(found["measurements"]):
        late = "" if report.converged(one).all() else ", not converged"
        numbers = (
            f"{one['sweeps']}",
            f"{one['rhat'][0]:.3f}",
            f"{one['ess'][0]:.0f}",
            f"{sum(one['trips'][0])}",
        )
        yield ["" if k else found["device"], f"{k + 1}", f"{one['seconds']:.0f}{late}", *numbers]


def judged() -> str:
    """The share of the shipped guide's independent proposals that would be accepted, by currents and level."""
    folder = weights.guide()
    assert folder is not None
    rows = [row for row in json.loads((folder / "judged.json").read_text()) if row["tau"] == _TAU]
    levels = sorted({row["level"] for row in rows}, reverse=True)
    share = {(row["currents"], row["level"]): f"{row['accepted']:.1%}" for row in rows}
    lines = [
        [f"L = {count}", *(share.get((count, level), "") for level in levels)]
        for count in sorted({row["currents"] for row in rows})
    ]
    return table(["s", *(f"{level:g}" for level in levels)], lines).strip()
