"""The tables of measured speed say what the result files say, and what is promised holds in them."""

import json
import re
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"


def test_the_networks_table_has_the_measured_figures():
    table = (BENCHMARKS / "models.md").read_text()
    rows = [json.loads(line) for line in (BENCHMARKS / "results/models_h200.jsonl").read_text().splitlines()]
    assert len(rows) == 6
    for row in rows:
        assert f"{row['images_per_second']:,.0f}" in table, row


def rate(file: str, row: str) -> float:
    """The largest figure in tanks a second of the rows that begin so."""
    lines = [
        line for line in (BENCHMARKS / "results" / file).read_text().splitlines() if line.startswith(row)
    ]
    found = [re.findall(r"([\d,]+)(?: tanks/s)?\s*$", line)[0] for line in lines]
    return max(float(number.replace(",", "")) for number in found)


def test_tanks_a_second_on_a_gpu():
    """32 electrodes: four curves of 64 nodes; finite elements of 2,665 nodes, rank 15, contrast up to 200 : 1."""
    assert rate("integrals_h200.txt", "all ") >= 8000
    assert rate("elements_h200.txt", "  phantoms to U - U0") >= 3000
    text = (BENCHMARKS / "results/integrals_h200.txt").read_text()
    cross, smooth = map(float, re.findall(r"with a cross (\S+), without (\S+)", text)[0])
    assert cross <= 0.01
    assert smooth <= 1e-4
    elements = (BENCHMARKS / "results/elements_h200.txt").read_text()
    assert int(re.findall(r"(\d+) nodes", elements)[0]) >= 1800
    assert float(re.findall(r"residuals: (\S+),", elements)[0]) <= 1e-4


@pytest.mark.parametrize("row", json.loads((BENCHMARKS / "results/pyeit_cpu.json").read_text())["rows"])
def test_beside_pyeit(row):
    assert row["eitlens"]["nodes"] == pytest.approx(row["pyeit"]["nodes"], rel=0.06)
    assert row["times"]["one"] >= 5
    assert row["times"]["batch"] >= 15
    assert row["times"]["jacobian"] >= 50
