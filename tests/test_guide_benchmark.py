"""How the guide of the posterior is judged, on weights that are known."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest
import torch

SPEC = spec_from_file_location("guide", Path(__file__).parents[1] / "benchmarks" / "guide.py")
guide = module_from_spec(SPEC)
SPEC.loader.exec_module(guide)


def test_equal_weights_are_all_accepted_and_all_count():
    found = guide.summary(torch.zeros(3, 8, dtype=torch.float64))
    assert found == pytest.approx({"accepted": 1.0, "effective": 8.0, "possible": 1.0})


def test_one_possible_proposal_counts_once():
    ratio = torch.full((1, 8), -torch.inf, dtype=torch.float64)
    ratio[0, 3] = 2.0
    assert guide.summary(ratio) == pytest.approx({"accepted": 1 / 8, "effective": 1.0, "possible": 1 / 8})


def test_no_possible_proposal_counts_for_nothing():
    found = guide.summary(torch.full((1, 8), -torch.inf, dtype=torch.float64))
    assert found == {"accepted": 0.0, "effective": 0.0, "possible": 0.0}
