"""The notebooks run, and say what their text says; they are pages of the site and .ipynb files too."""

import importlib
import json
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture
def notebook(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    return importlib.import_module("notebook")


def run(notebook, name: str) -> tuple[dict[str, Any], str, int]:
    """What is known in the end, what was printed, and how many pictures were drawn."""
    names: dict[str, Any] = {}
    found = notebook.run(notebook.read(ROOT / "notebooks" / f"{name}.py"), names)
    return names, "".join(one.text for one in found), sum(len(one.pictures) for one in found)


def test_tank(notebook):
    names, _, pictures = run(notebook, "tank")
    assert not names["report"].findings
    assert names["dice"]["network"] > 0.85
    assert names["dice"]["gauss-newton"] > 0.7
    assert pictures == 2


def test_paper(notebook):
    names, printed, pictures = run(notebook, "paper")
    assert names["result"].dice(names["body"]) > 0.9
    assert names["result"].noise == pytest.approx(0.05, abs=0.01)
    assert "warnings: []" in printed
    assert pictures == 2


def test_tour(notebook):
    names, _, pictures = run(notebook, "tour")
    assert names["largest_error"] < 1e-4
    assert names["apart"] < 0.02
    assert float((names["peak"] - names["peak"].new_tensor([0.3, 0.0])).norm()) < 0.1
    assert pictures == 1


def test_cells_become_a_page_and_a_file_of_jupyter(notebook, tmp_path):
    path = tmp_path / "a.py"
    path.write_text("# %% [markdown]\n# # Title\n\n# %%\nx = 2\nprint('told')\nx + 1\n\n# %%\n_ = x\n")
    cells = notebook.read(path)
    assert [cell.code for cell in cells] == [False, True, True]
    found = notebook.run(cells)
    assert [one.text for one in found] == ["", "told\n3\n", ""]
    text, pictures = notebook.to_page("a", cells, found)
    assert text.startswith("# Title\n\n```python\nx = 2")
    assert pictures == {}
    written = json.loads(notebook.to_ipynb(cells))
    assert [cell["cell_type"] for cell in written["cells"]] == ["markdown", "code", "code"]
