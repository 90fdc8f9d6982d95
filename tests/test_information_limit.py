"""What the result files of the information limit say; they are written by its study."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "validation"))

from limit import report

needs_files = pytest.mark.skipif(not list(report.cells()), reason="no result files of the information limit")


@needs_files
def test_nobody_beats_the_limit() -> None:
    """Paired by phantom: no gain on the limit beyond two standard errors."""
    better = [r for r in report.rivals() if r.gain.value > 2 * r.gain.error]
    assert not better


@needs_files
def test_the_table_is_what_the_files_say() -> None:
    page = (Path(__file__).parents[1] / "docs" / "posterior.md").read_text()
    assert report.table() in page


def test_only_what_converged_is_compared() -> None:
    limit = {"rhat": [1.01, 1.2, 1.0], "arrived": [True, True, False]}
    assert report.converged(limit).tolist() == [True, False, False]


@pytest.mark.parametrize(("ranks", "uniform"), [([k / 200 for k in range(200)], True), ([0.5] * 200, False)])
def test_ranks_are_told_from_uniform_ones(ranks: list[float], uniform: bool) -> None:
    assert (report.uniform(ranks) > 0.01) is uniform
