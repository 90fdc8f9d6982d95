"""Frequency bootstrapping, by the numbers of the validation study."""

import pytest

from eitlens.classical.theorem2 import coefficient, error, spectra


@pytest.mark.parametrize(("a", "count", "expected"), [(3, 8, 5.4e-2), (3, 12, 4.1e-4), (5, 16, 4e-4)])
def test_rank_two(a, count, expected):
    assert error(a, count, 2000, "rank two") == pytest.approx(expected, rel=0.2)


def test_taylor_needs_more_channels():
    assert error(3, 16, 2000, "taylor") == pytest.approx(2.2e-2, rel=0.3)


def test_too_few_channels_see_nothing():
    assert error(3, 2, 2000, "rank two") > 0.9


def test_parity():
    assert coefficient(3, 5) < 1e-12
    assert coefficient(3, 6) == pytest.approx(0.222, rel=0.01)


def test_a_convolution_keeps_the_frequency_and_attention_does_not():
    _, convolved, attended = spectra(3)
    assert convolved[4] < 1e-12
    assert attended[4] > 0.1
