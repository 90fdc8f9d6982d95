"""Notebooks as Python scripts whose cells begin with `# %%`: run them, show them as a page, write them as .ipynb.

A cell that begins with `# %% [markdown]` is text, each line behind a `#`. The script runs as it is, too, and editors
know the form. Nothing of Jupyter is needed here.
"""

import ast
import contextlib
import io
import json
import re
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl

mpl.use("agg")
from matplotlib import pyplot as plt

_DOTS = 90  # an inch: pictures of a page, not for print
_TEXT = "# %% [markdown]\n"


class Cell(NamedTuple):
    """Text or code."""

    source: str
    code: bool


class Outcome(NamedTuple):
    """What a cell printed, with the value of its last line, and the PNGs that it drew."""

    text: str
    pictures: list[bytes]


def read(path: Path) -> list[Cell]:
    """The cells of a script."""
    parts = re.split(r"^(?=# %%)", path.read_text(encoding="utf-8"), flags=re.M)
    return [_cell(part) for part in parts if part.startswith("# %%")]


def _cell(part: str) -> Cell:
    head, _, body = part.partition("\n")
    if f"{head}\n" != _TEXT:
        return Cell(body.strip(), True)
    return Cell(
        "\n".join(line.removeprefix("#").removeprefix(" ") for line in body.strip().splitlines()), False
    )


def run(cells: list[Cell], names: dict[str, Any] | None = None) -> list[Outcome]:
    """What each cell leads to, one after the other; `names` are theirs and hold what they made."""
    known = {} if names is None else names
    return [_run(cell.source, known) if cell.code else Outcome("", []) for cell in cells]


def _run(source: str, names: dict[str, Any]) -> Outcome:
    tree, printed = ast.parse(source), io.StringIO()
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "cell", "exec"), names)
        value = None if last is None else eval(compile(ast.Expression(last.value), "cell", "eval"), names)
        if value is not None:
            print(repr(value))  # noqa: T201
    return Outcome(printed.getvalue(), _drawn())


def _drawn() -> list[bytes]:
    """The open figures, which are closed."""
    pictures = []
    for number in plt.get_fignums():
        drawn = io.BytesIO()
        plt.figure(number).savefig(drawn, dpi=_DOTS, bbox_inches="tight")
        pictures.append(drawn.getvalue())
    plt.close("all")
    return pictures


def to_page(name: str, cells: list[Cell], found: list[Outcome]) -> tuple[str, dict[str, bytes]]:
    """The text of a page in Markdown, and its pictures by their names."""
    lines, pictures = [], {}
    for cell, outcome in zip(cells, found, strict=True):
        lines.append(f"```python\n{cell.source}\n```" if cell.code else cell.source)
        if outcome.text:
            lines.append(f"```text\n{outcome.text.rstrip()}\n```")
        for picture in outcome.pictures:
            file = f"{name}-{len(pictures) + 1}.png"
            pictures[file] = picture
            lines.append(f"![What the code above draws]({file})")
    return "\n\n".join(lines) + "\n", pictures


def to_ipynb(cells: list[Cell]) -> str:
    """The notebook as Jupyter reads it, without results."""
    kinds = [{"cell_type": "code", "execution_count": None, "outputs": []}, {"cell_type": "markdown"}]
    written = [
        {**kinds[not cell.code], "metadata": {}, "id": f"cell-{k}", "source": cell.source}
        for k, cell in enumerate(cells)
    ]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    return json.dumps({"cells": written, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}, indent=1)
