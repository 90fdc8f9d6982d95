"""Where the results are kept, and how they are read and written."""

import json
from pathlib import Path
from typing import Any

from torch import Tensor

RESULTS = Path(__file__).parents[2] / "results" / "information_limit"


def path(name: str) -> Path:
    """That of a result file, its folder made."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    return RESULTS / name


def exists(name: str) -> bool:
    """Whether it has been computed."""
    return (RESULTS / name).exists()


def read(name: str) -> dict[str, Any] | None:
    """A result file, if it is there."""
    return json.loads((RESULTS / name).read_text()) if exists(name) else None


def write(name: str, values: dict[str, Any]) -> None:
    """A result file, whole or not at all."""
    whole = path(name)
    partial = whole.with_name(f".{name}.partial")
    partial.write_text(json.dumps(_rounded(values)) + "\n")
    partial.replace(whole)


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, list):
        return [_rounded(v) for v in value]
    if isinstance(value, dict):
        return {key: _rounded(v) for key, v in value.items()}
    return value.tolist() if isinstance(value, Tensor) else value
