"""The tables of docs/classical.md, from the result files of the study and of the benchmark against pyEIT."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from eitlens.paper.markdown import NONE, number, table

_BEGIN, _END = "<!-- {} -->\n", "<!-- end of {} -->"
_SCORES = {"position": "position error", "dice": "Dice", "error": "error of σ"}


def refresh_classical(text: str, root: Path) -> str:
    """The page with its tables as the result files have them."""
    made = {
        "study": (root / "results" / "classical.json", study),
        "pyeit": (root / "benchmarks" / "results" / "classical.json", against_pyeit),
    }
    for name, (file, compose) in made.items():
        begin, end = _BEGIN.format(name), _END.format(name)
        if file.exists() and begin in text:
            before, _, rest = text.partition(begin)
            inside = compose(json.loads(file.read_text(encoding="utf-8")))
            text = f"{before}{begin}\n{inside}\n{end}{rest.partition(end)[2]}"
    return text


def study(record: dict[str, Any]) -> str:
    """A row for each number of electrodes and method: the scores at each level of noise."""
    layouts = record["scores"]
    levels = list(next(iter(layouts.values())))
    heads = ["electrodes", "method", *(f"{head}, {tau}" for head in _SCORES.values() for tau in levels)]
    return table(heads, _rows(layouts, levels), left=2)


def _rows(layouts: dict[str, Any], levels: list[str]) -> Iterator[list[str]]:
    for count, scores in layouts.items():
        for method in dict.fromkeys(name for level in scores.values() for name in level):
            found = [scores[tau].get(method, {}) for tau in levels]
            yield [count, f"`{method}`", *(number(one.get(key)) for key in _SCORES for one in found)]


def against_pyeit(record: dict[str, Any]) -> str:
    """A row for each set of frames and method: how many times as fast in three ways, and position errors."""
    heads = ["frames", "method", "times as fast", "one by one", "all at once", "five steps"]
    heads += ["frames a second", "position error", "pyEIT's", "difference"]
    rows = [_beside(name, method, one) for name, methods in record.items() for method, one in methods.items()]
    return table(heads, rows, left=2)


def _beside(name: str, method: str, one: dict[str, Any]) -> list[str]:
    times = ("times_as_fast", "frame_by_frame", "batch", "five_steps")
    more, spread = one["more"]
    return [
        f"{one['frames']} {name}",
        method,
        *(number(one.get(key), NONE, ".1f") for key in times),
        f"{one['frames_a_second']:,.0f}",
        number(one["error"], NONE, ".3f"),
        number(one["error_pyeit"], NONE, ".3f"),
        f"{more:+.4f} ± {spread:.4f}",
    ]
