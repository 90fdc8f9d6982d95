"""Tables in Markdown, and numbers in them."""

from collections.abc import Iterable, Sequence

from eitlens.evaluate.statistics import Summary

MISSING = "missing"
NONE = "–"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> str:
    """A table whose first `left` columns are words and the others numbers."""
    rule = ["---"] * left + ["---:"] * (len(heads) - left)
    lines = [list(heads), rule, *map(list, rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def number(value: float | None, absent: str = NONE) -> str:
    """Three decimals, and four below 0.1, as the paper prints them; `absent` where there is no number."""
    if value is None:
        return absent
    digits = 4 if abs(value) < 0.1 else 3
    return f"{value:.{digits}f}"


def with_interval(summary: Summary | None) -> str:
    """A mean and half of its 95 % interval."""
    if summary is None:
        return NONE
    return f"{number(summary.mean)} ± {(summary.high - summary.low) / 2:.1g}"
