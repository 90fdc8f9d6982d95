"""The least strength that a linear model deserves: where its doubt is, and where weaker ones no longer pay."""

import pytest
import torch

from eitlens.classical import strength

SPECTRUM = torch.logspace(-9, 0, 200, dtype=torch.float64)


def _left(size: float, data: torch.Tensor) -> float:
    at = torch.tensor([size], dtype=torch.float64)
    return float((strength.residuals(SPECTRUM, data, at)[0] / data.square().mean(0).sum()).sqrt())


def _frame(rest: float) -> torch.Tensor:
    """A frame that the prior expects, but for a part in directions that only the weakest strengths explain."""
    found = SPECTRUM.sqrt()
    wrong = torch.where(SPECTRUM < 1e-7, 1.0, 0.0)
    return (found + rest * found.norm() / wrong.norm() * wrong)[None]


@pytest.mark.parametrize(
    ("change", "misfit", "expected"),
    [(0.04, 1e-3, 0.02), (0.02, 0.03, 0.03), (0.3, 0.0, 0.05), (1e-3, 1.0, 0.05)],
)
def test_the_doubt_is_of_second_order_and_no_less_than_the_misfit(change, misfit, expected):
    assert strength.doubt(change, misfit) == pytest.approx(expected)


@pytest.mark.parametrize("unexplained", [0.05, 0.02, 0.01])
def test_the_least_strength_leaves_the_doubt_where_weaker_ones_pay(unexplained):
    data = _frame(0.0)
    left = _left(strength.least(SPECTRUM, data, unexplained), data)
    assert 0.6 * unexplained < left <= unexplained


def test_what_no_image_explains_is_not_followed():
    data = _frame(0.03)  # a plateau of three percent, over a doubt of one
    found = strength.least(SPECTRUM, data, 0.01)
    assert 0.03 < _left(found, data) < 0.05
    assert found > 1e3 * 1e-7
