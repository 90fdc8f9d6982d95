"""CSV: a row a point, with the columns x, y, current_1 …, voltage_1 …, and optionally reference_1 …, mask.

Lines that begin with # are comments, but for `# conductivity: 1.5` and `# domain: disk`. Where semicolons or tabs
separate the columns, a number may have a decimal comma, as spreadsheets write it in much of Europe.
"""

import csv
import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from eitlens.errors import InputError
from eitlens.measure.guard import lines_of

_NUMBERED = re.compile(r"(current|voltage|reference|mask)_(\d{1,3})$")
_PLURAL = {"current": "currents", "voltage": "voltages", "reference": "reference", "mask": "mask"}
_COLUMNS = {many: one for one, many in _PLURAL.items()}
_LONGEST_HEAD = 1 << 16  # letters: thousands of columns


def recognises(content: bytes) -> bool:
    """Whether it is text; the last format to be tried."""
    return b"\x00" not in content[:4096]


def read(content: bytes, limit: int) -> dict[str, Any]:
    """The arrays by name."""
    lines = lines_of(content, limit)
    comments = [line for line in lines if line.startswith("#")]
    told = [line for line in lines if not line.startswith("#")]
    if told and len(told[0]) > _LONGEST_HEAD:
        raise InputError(f"the first line has {len(told[0])} letters: expected the names of columns")
    separator = next((mark for mark in ",;\t" if told and mark in told[0]), ",")
    rows = csv.reader(told, delimiter=separator)
    if len(told) < 2:
        raise InputError("expected a line of column names and a line for each point")
    names = [name.strip() for name in next(rows)]
    if len(set(names)) != len(names):
        raise InputError("two columns have the same name")
    table = _table(rows, names, "." if separator == "," else ",")
    return _arrays({name: table[:, k] for k, name in enumerate(names)}) | _told(comments)


def write(values: dict[str, Any]) -> bytes:
    """The measurement as lines; every number can be read back to the bit."""
    columns = dict(zip("xy", np.asarray(values["points"]).T, strict=True))
    for name, one in _COLUMNS.items():
        rows = np.asarray(values.get(name, np.zeros((0, 0))))
        columns |= {one: rows} if rows.ndim == 1 else {f"{one}_{k + 1}": row for k, row in enumerate(rows)}
    told = [f"# {name}: {values[name]}" for name in ("domain", "conductivity") if name in values]
    cells = zip(*(map(repr, column.astype(float).tolist()) for column in columns.values()), strict=True)
    return "\n".join([*told, ",".join(columns), *map(",".join, cells), ""]).encode()


def _table(rows: Iterable[list[str]], names: list[str], comma: str) -> np.ndarray:
    found = []
    for k, row in enumerate(rows):
        if len(row) != len(names):
            raise InputError(f"row {k + 1} has {len(row)} values, the first line names {len(names)} columns")
        found.append(np.array([_number(*cell, k, comma) for cell in zip(row, names, strict=True)]))
    return np.stack(found)


def _number(value: str, name: str, row: int, comma: str) -> float:
    """A cell; an empty one is nan."""
    try:
        return float(value.replace(comma, ".")) if value.strip() else np.nan
    except ValueError:
        raise InputError(f"row {row + 1}, column {name!r}: expected a number, got {value[:40]!r}") from None


def _arrays(columns: dict[str, np.ndarray]) -> dict[str, Any]:
    missing = [name for name in ("x", "y") if name not in columns]
    if missing:
        raise InputError(f"no column {missing[0]!r}: expected x, y, current_1, voltage_1, …")
    arrays: dict[str, Any] = {"points": np.stack([columns["x"], columns["y"]], 1)}
    numbered: dict[str, dict[int, np.ndarray]] = {}
    for name, values in columns.items():
        match = _NUMBERED.match(name)
        if match:
            numbered.setdefault(_PLURAL[match[1]], {})[int(match[2])] = values
        elif name == "mask":
            arrays["mask"] = values
        elif name not in ("x", "y"):
            raise InputError(
                f"unknown column {name!r}: expected x, y, current_1, voltage_1, reference_1, mask"
            )
    rows = {name: _rows(name, found) for name, found in numbered.items()}
    return arrays | rows


def _rows(name: str, found: dict[int, np.ndarray]) -> np.ndarray:
    if sorted(found) != list(range(1, len(found) + 1)):
        raise InputError(f"{name}: expected columns numbered 1 to {len(found)}, got {sorted(found)[:8]}")
    return np.stack([found[k] for k in sorted(found)])


def _told(comments: list[str]) -> dict[str, Any]:
    """The values in the comments; the first of its kind counts."""
    pairs = (line.lstrip("# ").partition(":") for line in reversed(comments))
    said = {key.strip(): value.strip() for key, _, value in pairs}
    found: dict[str, Any] = {"domain": said["domain"]} if "domain" in said else {}
    if "conductivity" in said:
        try:
            found["conductivity"] = float(said["conductivity"])
        except ValueError:
            raise InputError(f"conductivity: expected a number, got {said['conductivity'][:40]!r}") from None
    return found
