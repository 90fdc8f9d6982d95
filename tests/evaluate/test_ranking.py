"""Area under the ROC curve."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from eitlens.errors import InputError
from eitlens.evaluate.ranking import area_under_curve


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=2, max_size=30))
@settings(max_examples=200, deadline=None)
def test_it_is_the_chance_that_inside_scores_higher_with_ties_counted_half(
    pixels: list[tuple[int, bool]],
) -> None:
    inside, outside = ([s for s, t in pixels if t is side] for side in (True, False))
    score, truth = torch.tensor([float(s) for s, _ in pixels]), torch.tensor([t for _, t in pixels])
    if not inside or not outside:
        with pytest.raises(InputError, match="needs pixels inside and outside"):
            area_under_curve(score, truth)
        return
    wins = sum((i > o) + 0.5 * (i == o) for i in inside for o in outside)
    assert area_under_curve(score, truth) == pytest.approx(wins / (len(inside) * len(outside)), abs=1e-12)


def test_it_is_exact_for_many_pixels() -> None:
    """Single precision would lose the last digits of sums of ranks."""
    score = torch.arange(1_000_000, dtype=torch.float64)
    assert area_under_curve(score, score % 2 == 1) == pytest.approx(0.5 + 1e-6, abs=1e-12)


def test_only_the_order_matters() -> None:
    score = torch.randn(8, 9, generator=torch.Generator().manual_seed(0))
    truth = torch.rand(8, 9, generator=torch.Generator().manual_seed(1)) < 0.3
    assert area_under_curve(score, truth) == area_under_curve(torch.exp(3 * score), truth)
    assert area_under_curve(-score, truth) == pytest.approx(1 - area_under_curve(score, truth))
