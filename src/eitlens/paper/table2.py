"""Table 2: what the networks are made of and what they cost, here, on a GPU, and in the paper."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from eitlens.errors import InputError
from eitlens.evaluate.costs import Cost
from eitlens.models import names
from eitlens.models.registry import NETWORKS
from eitlens.paper.markdown import NONE, table
from eitlens.paper.published import published


@dataclass(frozen=True)
class Measured:
    """The costs of the networks as one machine has them: `images_per_second` by network, and how."""

    machine: str
    how: str
    speeds: dict[str, float]


def to_json(machine: str, batch: int, costs: list[Cost]) -> dict[str, Any]:
    """What `eitlens benchmark table2` writes."""
    how = f"float32, batch {batch}"
    return {"machine": machine, "how": how, "rows": [asdict(cost) for cost in costs]}


def read_costs(folder: Path) -> list[dict[str, Any]]:
    """What it has written, one object a machine."""
    try:
        return [json.loads(file.read_text(encoding="utf-8")) for file in sorted(folder.glob("*.json"))]
    except ValueError as error:
        raise InputError(f"{folder}: not JSON ({error}): run `eitlens benchmark table2` again") from None


def table2(found: list[dict[str, Any]], recorded: Path) -> str:
    """The table; speeds of `recorded` are those of benchmarks/models.py on a GPU."""
    machines = [one for one in map(_measured, found) if one.speeds] + _recorded(recorded)
    rows = {row["preset"]: row for one in reversed(found) for row in one["rows"]}
    heads = ["network", "layers", "width", "modes", "norm", "parameters", "paper"]
    heads += ["GFLOP", "transforms, GFLOP", "GFLOP, paper (8 images)"]
    heads += [f"images/s, {one.machine}, {one.how}" for one in machines] + ["images/s, paper"]
    return table(heads, [_row(name, rows.get(name, {}), machines) for name in names()])


def _row(name: str, row: dict[str, Any], machines: list[Measured]) -> list[str]:
    chosen, printed = NETWORKS[name], published().get(name)
    paper = chosen.published
    return [
        name,
        str(paper.layers),
        str(paper.width),
        _or_none(paper.modes, "d"),
        paper.norm,
        f"{chosen.parameters:,}",
        paper.parameters or (NONE if printed is None else printed.parameters),
        _or_none(row.get("gflops"), ".2f"),
        _or_none(row.get("transform_gflops") or None, ".2f"),
        _or_none(paper.gflops, "g"),
        *(
            _or_none(one.speeds.get(name), ",.3g" if one.speeds.get(name, 0) < 100 else ",.0f")
            for one in machines
        ),
        _or_none(paper.speed, "g"),
    ]


def _measured(one: dict[str, Any]) -> Measured:
    speeds = {row["preset"]: row["images_per_second"] for row in one["rows"] if row["images_per_second"]}
    return Measured(one["machine"], one["how"], speeds)


def _recorded(path: Path) -> list[Measured]:
    """The last state of each network on each machine, forward passes only."""
    if not path.exists():
        return []
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    speeds: dict[tuple[str, str], dict[str, float]] = {}
    for row in rows:
        if row["mode"] == "infer":
            key = (row["machine"], f"bfloat16, compiled, batch {row['batch']}")
            speeds.setdefault(key, {})[row["preset"]] = row["images_per_second"]
    return [Measured(machine, how, found) for (machine, how), found in speeds.items()]


def _or_none(value: float | None, form: str) -> str:
    return NONE if value is None else format(value, form)
