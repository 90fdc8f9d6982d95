"""The best images for each metric, and diagnostics that can fail."""

import numpy as np
import pytest
import torch
from posterior_case import rows
from torch import Tensor

from eitlens.domain import Square
from eitlens.phantom import Ellipse, indicator
from eitlens.phantom.batch import of_rows
from eitlens.posterior.sampler.diagnostics import agreement, functions
from eitlens.posterior.sampler.images import images, mean, smoothed


def test_the_best_set_beats_every_threshold_of_the_mean() -> None:
    place, weight = rows(40), torch.full((40,), 1 / 40, dtype=torch.float64)
    square = Square(48)
    best = images(square, place, weight, 10.0, 1.0)
    inside = indicator(square, of_rows(Ellipse, place, 10.0, 1.0)).double()
    torch.testing.assert_close(best.mean, inside.mean(0))
    assert torch.equal(mean(square, place, weight), best.mean)

    def expected(chosen: Tensor) -> float:
        both = (inside * chosen).sum((1, 2))
        return float((2 * both / (chosen.sum() + inside.sum((1, 2)))).mean())

    assert expected(best.dice.double()) == pytest.approx(best.expected_dice, abs=1e-12)
    assert all(best.expected_dice >= expected((best.mean > c).double()) - 1e-3 for c in np.linspace(0, 1, 50))


def test_the_l2_image_is_best_for_the_relative_error() -> None:
    place, weight = rows(40), torch.full((40,), 1 / 40, dtype=torch.float64)
    square = Square(32)
    best = images(square, place, weight, 10.0, 1.0)
    inside = indicator(square, of_rows(Ellipse, place, 10.0, 1.0)).double()

    def expected(image: Tensor) -> float:
        error = 9 * (image - inside).square().sum((1, 2)).sqrt()
        return float((error / (1 + 9 * inside).square().sum((1, 2)).sqrt()).mean())

    least = expected(best.l2)
    assert least <= expected(best.mean) + 1e-12
    noise = torch.randn(20, *square.shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    assert all(least < expected((best.l2 + 0.02 * n).clamp(0, 1)) for n in noise)


def test_smoothing_never_claims_certainty() -> None:
    """Of 99 draws all of which cover the left half: unsure by a draw's half at its edge, and hardly far from it."""
    half = torch.zeros(101, 81, dtype=torch.float64)
    half[:50] = 1.0
    found = smoothed(half, 99.0)
    assert 0 < float(found.min()) < 2e-5
    assert 0 < float(1 - found.max()) < 2e-5
    expected = torch.tensor([0.995, 0.005], dtype=torch.float64).expand(81, 2).T
    torch.testing.assert_close(found[49:51], expected, atol=2e-3, rtol=0)
    # A square is as good from every side.
    torch.testing.assert_close(smoothed(half.T, 99.0), found.T)


def test_ensembles_that_disagree_are_noticed() -> None:
    draws = torch.randn(2, 4, 400, 3, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    rhat, ess = agreement(draws)
    assert float(rhat.max()) < 1.01
    assert float(ess.min()) > 200
    draws[1, 0, :, 2] += 2.0
    rhat, _ = agreement(draws)
    assert float(rhat[0]) < 1.01
    assert float(rhat[1]) > 1.25


def test_many_short_ladders_agree_when_they_have_forgotten_their_common_start() -> None:
    """x_{k+1} = φ x_k + √(1 - φ²) ξ, 16 ladders of each of 4 ensembles from one place, after 0, 10 and 80 steps."""
    generator = torch.Generator().manual_seed(5)
    start = torch.randn(1, 4, 1, 3, generator=generator, dtype=torch.float64).repeat_interleave(16, 1)[
        :, :, 0
    ]
    noise = torch.randn(120, 1, 64, 3, generator=generator, dtype=torch.float64)
    draws = [start]
    for step in noise:
        draws.append(0.95 * draws[-1] + (1 - 0.95**2) ** 0.5 * step)
    values = torch.stack(draws, 2)
    early, later, late = (float(agreement(values[:, :, k : k + 40], 16)[0]) for k in (0, 10, 80))
    assert early > later > late
    assert early > 1.15
    assert late < 1.05
    assert float(agreement(values[:, :, 80:])[0]) > 1.2


def test_the_effective_sample_size_of_a_slow_chain() -> None:
    """x_{k+1} = φ x_k + ξ has n (1 - φ)/(1 + φ) effective draws of n."""
    noise = torch.randn(1, 4, 8000, 2, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    slow = noise.clone()
    for k in range(1, slow.shape[2]):
        slow[:, :, k] += 0.8 * slow[:, :, k - 1]
    assert float(agreement(slow)[1]) == pytest.approx(32000 / 9, rel=0.25)
    still = (
        torch.randn(1, 4, 1, 2, generator=torch.Generator().manual_seed(3)).double().expand(-1, -1, 50, -1)
    )
    assert float(agreement(still)[0]) > 10


def test_functions_do_not_see_the_numbering() -> None:
    place, log = rows(3), torch.zeros(3, dtype=torch.float64)
    torch.testing.assert_close(functions(place, log), functions(place.flip(1), log))
