"""The tables of measured speed say what the result files say."""

import json
from pathlib import Path

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"


def test_the_networks_table_has_the_measured_figures():
    table = (BENCHMARKS / "models.md").read_text()
    rows = [json.loads(line) for line in (BENCHMARKS / "results/models_h200.jsonl").read_text().splitlines()]
    assert len(rows) == 6
    for row in rows:
        assert f"{row['images_per_second']:,.0f}" in table, row
