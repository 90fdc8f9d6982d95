"""Table 2: the sizes of the networks and their costs, here, on a GPU, and in the paper."""

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from eitlens.evaluate.costs import Cost
from eitlens.files import read_json
from eitlens.models import names
from eitlens.models.registry import NETWORKS
from eitlens.paper.markdown import NONE, number, table
from eitlens.paper.published import published

_AGAIN = "run `eitlens benchmark table2` again"


@dataclass(frozen=True)
class Measured:
    """The costs of the networks as one machine has them: `images_per_second` by network, and how."""

    machine: str
    how: str
    speeds: dict[str, float]


def to_json(machine: str, batch: int, costs: list[Cost]) -> dict[str, Any]:
    """The contents of the file that `eitlens benchmark table2` writes."""
    how = f"float32, batch {batch}"
    return {"machine": machine, "how": how, "rows": [asdict(cost) for cost in costs]}


def with_speeds(costs: list[Cost], file: Path) -> list[Cost]:
    """Costs that were counted and not timed, with the speeds that a file has from an earlier time."""
    if not file.exists():
        return costs
    known = _measured(read_json(file, dict[str, Any], _AGAIN)).speeds
    return [replace(cost, images_per_second=known.get(cost.preset)) for cost in costs]


def read_costs(folder: Path) -> list[dict[str, Any]]:
    """Read the files of `eitlens benchmark table2`, one object a machine."""
    return [read_json(file, dict[str, Any], _AGAIN) for file in sorted(folder.glob("*.json"))]


def table2(found: list[dict[str, Any]], recorded: Path) -> str:
    """The table; speeds of `recorded` are those of benchmarks/models.py on a GPU."""
    machines = [one for one in map(_measured, found) if one.speeds] + _recorded(recorded)
    rows = {row["preset"]: row for one in reversed(found) for row in one["rows"]}
    heads = ["network", "layers", "width", "modes", "norm", "parameters", "paper"]
    heads += ["GFLOP", "transforms, GFLOP", "GFLOP, 8 images, as the paper counts", "paper"]
    heads += [f"images/s, {one.machine}, {one.how}" for one in machines] + ["images/s, paper"]
    return table(heads, [_row(name, rows.get(name, {}), machines) for name in names()])


def _row(name: str, row: dict[str, Any], machines: list[Measured]) -> list[str]:
    chosen, printed = NETWORKS[name], published().get(name)
    paper = chosen.published
    return [
        name,
        str(paper.layers),
        str(paper.width),
        number(paper.modes, form="d"),
        paper.norm,
        f"{chosen.parameters:,}",
        paper.parameters or (NONE if printed is None else printed.parameters),
        number(row.get("gflops"), form=".2f"),
        number(row.get("transform_gflops") or None, form=".2f"),
        number(row.get("printed_gflops"), form=".1f"),
        number(paper.gflops, form="g"),
        *(_speed(one.speeds.get(name)) for one in machines),
        number(paper.speed, form="g"),
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


def _speed(value: float | None) -> str:
    """Images a second: three digits, or all before the point."""
    return number(value, form=",.3g" if (value or 0) < 100 else ",.0f")
