"""The paper's Table 1, from the one file that holds its numbers."""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

LEVELS = (0.0, 0.05, 0.2)
"""The noise levels τ of its columns."""
METRICS = ("paper_l2", "cross_entropy", "soft_dice")
_FILE = Path(__file__).with_name("published.json")


@dataclass(frozen=True)
class PublishedRow:
    """A row as printed: its name, its number of parameters, and each metric at the three noise levels."""

    title: str
    parameters: str
    values: dict[str, tuple[float, ...]]

    def value(self, metric: str, tau: float) -> float | None:
        """The printed number, or None for a metric or a noise level that the paper does not have."""
        found = self.values.get(metric)
        return None if found is None or tau not in LEVELS else found[LEVELS.index(tau)]


@cache
def published() -> dict[str, PublishedRow]:
    """The rows by the name of their network here, in the paper's order."""
    rows = json.loads(_FILE.read_text(encoding="utf-8"))["rows"]
    return {name: _row(row) for name, row in rows.items()}


def _row(row: dict[str, object]) -> PublishedRow:
    values = {metric: tuple(map(float, row[metric])) for metric in METRICS}  # type: ignore[call-overload]
    return PublishedRow(str(row["title"]), str(row["parameters"]), values)
