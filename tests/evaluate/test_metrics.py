import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from eitlens.errors import InputError
from eitlens.evaluate import metrics
from eitlens.evaluate.calibration import join, reliability
from eitlens.evaluate.distance import hausdorff
from eitlens.evaluate.metrics import area_under_curve
from eitlens.evaluate.statistics import interval, summarise

AREA = 0.13


def _truth(area: float = AREA, nodes: int = 100) -> Tensor:
    """One sample of nodes² nodes of which a fraction lies inside."""
    flat = torch.zeros(nodes * nodes)
    flat[: round(area * nodes * nodes)] = 1
    return flat.reshape(1, nodes, nodes)


def _constant(p: float) -> Tensor:
    return torch.full_like(_truth(), math.log(p / (1 - p)))


def _square(start: int, stop: int, nodes: int = 41) -> Tensor:
    field = torch.zeros(1, nodes, nodes)
    field[:, start:stop, start:stop] = 1
    return field


def _logits(field: Tensor, size: float = 50.0) -> Tensor:
    return size * (2 * field - 1)


def test_a_perfect_image():
    truth = _square(10, 20)
    found = metrics.per_sample(_logits(truth), truth)
    assert set(found) == set(metrics.METRICS)
    for name, value in found.items():
        assert float(value) == pytest.approx(1.0 if name in metrics.LARGER_IS_BETTER else 0.0, abs=1e-8)
    assert float(hausdorff(_logits(truth), truth)) == 0


def test_a_constant_image_scores_as_computed_by_hand():
    truth, z = _truth(), _constant(AREA)
    entropy = -(AREA * math.log(AREA) + (1 - AREA) * math.log(1 - AREA))
    assert float(metrics.cross_entropy(z, truth)) == pytest.approx(entropy, rel=1e-6)
    p = AREA
    error = AREA * (9 * (1 - p)) ** 2 + (1 - AREA) * (9 * p) ** 2
    size = AREA * 100 + (1 - AREA)
    assert float(metrics.relative_l2(z, truth)) == pytest.approx(math.sqrt(error / size), rel=1e-6)


def test_a_constant_image_over_the_papers_phantoms():
    # They cover 12.85 % in the mean; the figures were computed apart from this code.
    truth, z = _truth(0.1285), _constant(0.13)
    assert float(metrics.cross_entropy(z, truth)) == pytest.approx(0.3835, abs=1e-4)
    assert 2 * float(metrics.paper_l2(z, truth)) == pytest.approx(0.853, abs=1e-3)
    assert float(metrics.soft_dice(z, truth)) == pytest.approx(0.037, abs=1e-3)


def test_the_papers_error_is_half_the_true_one_of_doubled_logits():
    z, truth = torch.randn(3, 30, 30), _truth(nodes=30).expand(3, -1, -1)
    ratio = metrics.paper_l2(z, truth) / metrics.relative_l2(2 * z, truth)
    torch.testing.assert_close(ratio, torch.full((3,), 0.5, dtype=torch.float64), rtol=1e-6, atol=0)


def test_overlap_by_hand():
    # 10 × 10 and 10 × 10 nodes that share 5 × 5.
    truth, image = _square(10, 20), _logits(_square(15, 25))
    assert float(metrics.hard_dice(image, truth)) == 2 * 25 / 200
    assert float(metrics.intersection_over_union(image, truth)) == 25 / 175
    assert float(metrics.soft_dice(image, truth)) == pytest.approx((2 * 25 + 1) / 201)
    wrong, size = 150 * 81, 100 * 100 + (41**2 - 100)
    assert float(metrics.relative_l2(image, truth)) == pytest.approx(math.sqrt(wrong / size))


def test_contrast_enters_the_errors_of_the_conductivity():
    truth, image = _square(10, 20), _logits(_square(15, 25))
    expected = math.sqrt(150 / (100 * 4 + 41**2 - 100))
    assert float(metrics.relative_l2(image, truth, inside=2.0)) == pytest.approx(expected)


def test_empty_sets():
    none, some = torch.zeros(1, 41, 41), _square(10, 20)
    assert float(metrics.hard_dice(_logits(none), none)) == 1
    assert float(metrics.intersection_over_union(_logits(none), none)) == 1
    assert float(metrics.hard_dice(_logits(none), some)) == 0
    assert float(hausdorff(_logits(none), none)) == 0
    assert float(hausdorff(_logits(none), some)) == pytest.approx(2 * math.sqrt(2))


def test_hausdorff_distance_by_hand():
    # The far corners are five nodes off in both directions.
    truth, image = _square(10, 20), _square(15, 25)
    h = 2 / 40
    assert float(hausdorff(_logits(image), truth)) == pytest.approx(5 * math.sqrt(2) * h)
    speck = truth.clone()
    speck[0, 40, 10] = 1
    assert float(hausdorff(_logits(speck), truth)) == pytest.approx(21 * h)


def test_extreme_logits_stay_finite():
    truth = _square(10, 20)
    for value in metrics.per_sample(_logits(1 - truth, 1e4), truth).values():
        assert torch.isfinite(value).all()


def test_shapes_that_differ_are_refused():
    with pytest.raises(InputError, match="of one shape"):
        metrics._flat(torch.zeros(2, 3, 3), torch.zeros(2, 4, 4))


def test_calibration_by_hand():
    # Half of the nodes given 0.8 of which 60 % are inside, half 0.2 of which 20 % are: error 0.1.
    p = torch.tensor([0.8] * 10 + [0.2] * 10).reshape(1, 20)
    t = torch.tensor([1.0] * 6 + [0.0] * 4 + [1.0] * 2 + [0.0] * 8).reshape(1, 20)
    found = reliability(torch.logit(p), t)
    assert found.error() == pytest.approx(0.1, abs=1e-6)
    predicted, observed, share = found.curve()
    filled = share > 0
    assert predicted[filled].tolist() == pytest.approx([0.2, 0.8])
    assert observed[filled].tolist() == pytest.approx([0.2, 0.6])
    twice = join([found, found])
    assert twice.error() == pytest.approx(found.error())
    assert twice.errors(torch.tensor([[0, 1], [1, 1]])).tolist() == pytest.approx([0.1, 0.1])


def test_a_calibrated_image_has_no_calibration_error():
    p = torch.rand(1, 400_000)
    t = (torch.rand_like(p) < p).float()
    assert reliability(torch.logit(p), t).error() < 5e-3


def test_bootstrap_interval_of_a_mean():
    torch.manual_seed(0)
    values = torch.randn(1000, dtype=torch.float64)
    found = summarise(values)
    assert found.mean == pytest.approx(float(values.mean()))
    assert found.median == pytest.approx(float(values.median()))
    # ± 1.96 / √1000 for a standard normal.
    assert (found.high - found.low) / 2 == pytest.approx(1.96 * float(values.std()) / 1000**0.5, rel=0.1)
    assert summarise(values) == found


def test_bootstrap_of_nothing_is_refused():
    with pytest.raises(InputError, match="no samples"):
        interval(lambda rows: rows.double().mean(1), 0)


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=2, max_size=30))
@settings(max_examples=200, deadline=None)
def test_the_area_is_the_chance_that_inside_scores_higher_with_ties_counted_half(
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


def test_the_area_is_exact_for_many_pixels() -> None:
    """Single precision would lose the last digits of sums of ranks."""
    score = torch.arange(1_000_000, dtype=torch.float64)
    assert area_under_curve(score, score % 2 == 1) == pytest.approx(0.5 + 1e-6, abs=1e-12)


def test_only_the_order_matters() -> None:
    score = torch.randn(8, 9, generator=torch.Generator().manual_seed(0))
    truth = torch.rand(8, 9, generator=torch.Generator().manual_seed(1)) < 0.3
    assert area_under_curve(score, truth) == area_under_curve(torch.exp(3 * score), truth)
    assert area_under_curve(-score, truth) == pytest.approx(1 - area_under_curve(score, truth))
