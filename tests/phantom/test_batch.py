"""Phantoms, and batches of them."""

import math

import pytest
import torch

from eitlens.errors import InputError
from eitlens.phantom import Ellipse, EllipseSampler, Phantom, PhantomBatch, Polygon, as_batch, circle, stack

TRIANGLE = Polygon([(-0.5, -0.5), (0.1, -0.5), (-0.5, 0.1)])
MIXED = [
    Phantom([circle((0.0, 0.0), 0.3), TRIANGLE], inside=[2.0, 5.0], outside=0.5),
    Phantom([]),
    Phantom(
        [TRIANGLE, circle((0.0, 0.0), 0.3), Ellipse((0.5, 0.5), (0.1, 0.3), 1.0)], inside=[5.0, 2.0, 0.1]
    ),
]
ORIGIN, CORNER, OVERLAP = (0.2, 0.0), (-0.45, -0.45), (-0.2, -0.21)
POINTS = torch.tensor([[ORIGIN, CORNER, OVERLAP, (0.9, -0.9)]], dtype=torch.float64)


def same(first: PhantomBatch, second: PhantomBatch) -> bool:
    return list(first) == list(second)


def test_one_conductivity_serves_all_shapes() -> None:
    shapes = [circle((0, 0), 0.1), circle((0.5, 0), 0.1)]
    assert Phantom(shapes, inside=3) == Phantom(shapes, inside=[3.0, 3.0])


def test_stacking_and_taking_apart_are_inverse() -> None:
    assert list(stack(MIXED)) == MIXED
    batch = EllipseSampler(seed=1).batch(0, 5)
    assert same(stack(list(batch)), batch)


def test_slices_and_index_tensors_select_samples() -> None:
    batch = stack(MIXED)
    assert list(batch[1:]) == MIXED[1:]
    assert list(batch[torch.tensor([2, 0])]) == [MIXED[2], MIXED[0]]
    assert len(batch) == 3


def test_as_batch_takes_one_phantom_a_list_or_a_batch() -> None:
    batch = stack(MIXED)
    assert as_batch(batch) is batch
    assert same(as_batch(MIXED), batch)
    assert list(as_batch(MIXED[0])) == MIXED[:1]


def test_the_last_shape_in_the_list_wins_across_kinds() -> None:
    sigma = stack(MIXED).conductivity(POINTS)
    expected = torch.tensor([[2.0, 5.0, 5.0, 0.5], [1.0] * 4, [2.0, 5.0, 2.0, 1.0]], dtype=torch.float64)
    torch.testing.assert_close(sigma, expected, rtol=0, atol=0)


def test_the_level_set_of_the_union_is_negative_where_some_shape_is() -> None:
    level = stack(MIXED).level_set(POINTS)
    assert (level < 0).tolist() == [[True, True, True, False], [False] * 4, [True, True, True, False]]
    assert bool(torch.isinf(level[1]).all())


def test_every_sample_may_have_points_of_its_own() -> None:
    batch, points = stack(MIXED), torch.cat([POINTS, POINTS + 0.1, POINTS - 0.1])
    apart = torch.cat([batch[k : k + 1].conductivity(points[k : k + 1]) for k in range(3)])
    torch.testing.assert_close(batch.conductivity(points), apart, rtol=0, atol=0)


def test_absent_slots_are_nowhere() -> None:
    """A sample is the same whatever company it keeps."""
    alone, together = stack(MIXED[:1]), stack(MIXED)
    torch.testing.assert_close(alone.level_set(POINTS)[0], together.level_set(POINTS)[0], rtol=0, atol=0)


def test_other_conductivities_keep_the_shapes() -> None:
    batch = stack(MIXED).with_conductivity(7.0, 3.0)
    assert [p.shapes for p in batch] == [p.shapes for p in MIXED]
    assert [p.inside for p in batch] == [(7.0,) * len(p.shapes) for p in MIXED]
    assert [p.outside for p in batch] == [3.0] * 3


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf])
def test_conductivities_are_positive_numbers(value: float) -> None:
    disk = circle((0, 0), 0.1)
    if value in (0.0, math.inf):  # an insulator, a perfect conductor
        assert Phantom([disk], inside=value).inside == (value,)
    else:
        with pytest.raises(InputError, match=r"^Phantom: conductivity.*$"):
            Phantom([disk], inside=value)
    with pytest.raises(InputError, match=r"^Phantom: conductivity.*$"):
        Phantom([disk], outside=value)
    with pytest.raises(InputError, match=r"^inside conductivity.*$"):
        stack(MIXED).with_conductivity(value, 1.0)
    with pytest.raises(InputError, match=r"^outside conductivity.*$"):
        EllipseSampler(seed=0, outside=value)


def test_a_list_of_conductivities_has_one_for_each_shape() -> None:
    with pytest.raises(InputError, match=r"^Phantom: 1 shapes .*2 conductivities"):
        Phantom([circle((0, 0), 0.1)], inside=[1.0, 2.0])


def test_an_empty_list_is_no_batch() -> None:
    with pytest.raises(InputError, match=r"at least one phantom"):
        stack([])
