"""CSV of a tank: a row a frame, with the columns frame, perhaps time, and reading_1 …, in volts.

The column `frame` has a number, or the word reference for frames of the empty tank. Above them stand the electrodes and
the pattern, and what else is known, as JSON in comments: `# electrodes: {"body": …}`, `# pattern: {"stimulation": …}`,
`# height: 0.07`. An empty cell was not measured.
"""

import csv
from typing import Any

import numpy as np

from eitlens.errors import InputError
from eitlens.measure.guard import lines_of

_TOLD = ("electrodes", "pattern", "conductivity", "height", "notes")
_NEEDED = ("electrodes", "pattern")
_NUMBERS = ("conductivity", "height")
_EMPTY = "reference"
_HEAD = 1 << 16  # bytes in which the comments begin


def recognises(content: bytes) -> bool:
    """Whether it is text with the electrodes in a comment."""
    return content.lstrip(b"\xef\xbb\xbf").startswith(b"#") and b"# electrodes:" in content[:_HEAD]


def read(content: bytes, limit: int) -> dict[str, Any]:
    """The arrays by name."""
    lines = lines_of(content, limit)
    told = _told([line for line in lines if line.startswith("#")])
    rows = csv.reader(line for line in lines if not line.startswith("#"))
    head = next(rows, [])
    first = 2 if head[1:2] == ["time"] else 1
    count = len(head) - first
    if head[:1] != ["frame"] or head[first:] != [f"reading_{k + 1}" for k in range(count)]:
        raise InputError("expected the columns frame, time if wanted, and reading_1 …")
    empty: list[np.ndarray] = []
    frames: list[np.ndarray] = []
    for row in rows:
        if len(row) != len(head):
            raise InputError(f"expected {len(head)} values in each line, as many as columns, got {len(row)}")
        (empty if row[0] == _EMPTY else frames).append(_numbers(row[1:]))
    if not frames:
        raise InputError("there is no frame but of the empty tank: give others a number in the column frame")
    voltages = np.stack(frames)
    found = told | {"voltages": voltages[:, first - 1 :]}
    found |= {"times": voltages[:, 0]} if first == 2 else {}
    return found | ({"reference": np.stack(empty)[:, first - 1 :]} if empty else {})


def write(values: dict[str, Any]) -> bytes:
    """The measurement as lines; every number can be read back to the bit."""
    told = [f"# {name}: {values[name]}" for name in _TOLD if name in values]
    voltages = np.asarray(values["voltages"])
    times, reference = values.get("times"), np.asarray(values.get("reference", voltages[:0]))
    head = [
        "frame",
        *(["time"] if times is not None else []),
        *(f"reading_{k + 1}" for k in range(voltages.shape[1])),
    ]
    lines = [_line(_EMPTY, row, None if times is None else np.nan) for row in reference]
    for k, row in enumerate(voltages):
        lines.append(_line(str(k + 1), row, None if times is None else float(times[k])))
    return "\n".join([*told, ",".join(head), *lines, ""]).encode()


def _line(name: str, row: np.ndarray, time: float | None) -> str:
    numbers = [*([] if time is None else [time]), *row.tolist()]
    return ",".join([name, *("" if number != number else repr(number) for number in numbers)])


def _numbers(cells: list[str]) -> np.ndarray:
    try:
        return np.array([float(cell) if cell.strip() else np.nan for cell in cells])
    except ValueError as error:
        raise InputError(f"expected numbers behind the first column: {error}") from None


def _told(comments: list[str]) -> dict[str, Any]:
    """What the comments say; the first of its kind counts."""
    pairs = (line.lstrip("# ").partition(":") for line in reversed(comments))
    said: dict[str, Any] = {key.strip(): value.strip() for key, _, value in pairs}
    found = {name: said[name] for name in _TOLD if name in said}
    for name in _NEEDED:
        if name not in found:
            raise InputError(f"expected a line `# {name}: …`")
    try:
        return found | {name: float(found[name]) for name in _NUMBERS if name in found}
    except ValueError:
        raise InputError(f"{' and '.join(_NUMBERS)}: expected numbers in the comments") from None
