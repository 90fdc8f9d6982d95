"""Otsu's thresholds against a search over all, and the classes that they make."""

import torch

from eitlens.classical.classes import otsu, three_classes


def _values() -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    parts = [(-2.0, 100), (0.0, 1000), (3.0, 150)]
    return torch.cat([m + 0.2 * torch.randn(n, generator=generator).double() for m, n in parts])


def test_the_thresholds_leave_the_least_variance_within() -> None:
    values = _values()

    def within(low: float, high: float) -> float:
        group = (values >= low).long() + (values >= high).long()
        return sum(float((values[group == k] - values[group == k].mean()).square().sum()) for k in range(3))

    best = within(*otsu(values))
    tried = torch.linspace(float(values.min()) + 0.1, float(values.max()) - 0.1, 30).tolist()
    assert best <= 1.001 * min(within(a, b) for a in tried for b in tried if a < b)


def test_three_groups_are_three_classes() -> None:
    values = _values()
    assert torch.equal(three_classes(values), (values > 1.5).long() - (values < -1).long())


def test_a_class_that_is_not_there_stays_empty() -> None:
    conductive = _values().clamp(min=-0.5)
    assert set(three_classes(conductive).tolist()) == {0, 1}
    assert set(three_classes(-conductive).tolist()) == {0, -1}
    assert set(three_classes(torch.ones(10).double()).tolist()) == {0}
