"""Tables in Markdown: their heads, and numbers in them."""

from collections.abc import Iterable, Sequence

from eitlens.evaluate.statistics import MetricSummary

MISSING = "missing"
NONE = "–"
HEADS = {
    "relative_l2": "L2 of σ",
    "paper_l2": "L2, paper's scale",
    "cross_entropy": "cross entropy",
    "soft_dice": "Dice, paper's",
    "hard_dice": "Dice, thresholded",
    "iou": "IoU",
    "hausdorff": "Hausdorff",
    "calibration_error": "calibration error",
}
"""The names of the metrics in tables."""


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> str:
    """A table whose first `left` columns are words and the others numbers."""
    rule = ["---"] * left + ["---:"] * (len(heads) - left)
    lines = [list(heads), rule, *map(list, rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def number(value: float | None, absent: str = NONE, form: str = "") -> str:
    """A number: by default three decimals, and four below 0.1, as the paper prints them; `absent` for None."""
    if value is None:
        return absent
    return format(value, form or (".4f" if abs(value) < 0.1 else ".3f"))


def with_interval(summary: MetricSummary | None) -> str:
    """A mean and half of its 95 % interval."""
    if summary is None:
        return NONE
    return f"{number(summary.mean)} ± {(summary.high - summary.low) / 2:.1g}"
