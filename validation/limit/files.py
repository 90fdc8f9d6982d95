"""Result files and pages of the documentation: where they are, and how they are read and written."""

import json
from pathlib import Path
from typing import Any

from PIL import Image
from torch import Tensor

RESULTS = Path(__file__).parents[2] / "results" / "information_limit"
_COLOURS = 64  # as many as the pictures of docs/images have: a third of the bytes, no difference to be seen


def path(name: str) -> Path:
    """Name a result file and make its folder."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    return RESULTS / name


def exists(name: str) -> bool:
    """Tell whether a result file has been computed."""
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


def between(page: Path, name: str, text: str) -> None:
    """Put the text between <!-- name --> and <!-- end of name -->."""
    first, last = f"<!-- {name} -->", f"<!-- end of {name} -->"
    head, rest = page.read_text().split(first)
    _, tail = rest.split(last)
    page.write_text(f"{head}{first}\n\n{text}\n\n{last}{tail}")


def shrunk(picture: Path) -> None:
    """Save a picture again with a palette, as the others of docs/images are."""
    Image.open(picture).convert("RGB").quantize(_COLOURS).save(picture, optimize=True)


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, list):
        return [_rounded(v) for v in value]
    if isinstance(value, dict):
        return {key: _rounded(v) for key, v in value.items()}
    return value.tolist() if isinstance(value, Tensor) else value
