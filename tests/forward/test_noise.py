"""Measurement noise."""

import math

import pytest
import torch

from eitlens.domain import Square
from eitlens.errors import InputError
from eitlens.forward import BoundaryIntegralSolver, add_noise, add_white_noise, currents
from eitlens.phantom import EllipseSampler

SQUARE = Square(200)
DATA = BoundaryIntegralSolver(SQUARE, tolerance=1e-6).difference(
    EllipseSampler(seed=4, disjoint=True).batch(0, 4), currents.cosine(SQUARE, 3)
)


def test_noise_keeps_the_mean_at_zero_and_the_shape() -> None:
    for noisy in (add_noise(DATA, 0.2, seed=1), add_white_noise(DATA, 20.0, seed=1)):
        assert noisy.shape == DATA.shape
        assert float(noisy.mean(-1).abs().amax()) < 1e-15


def test_no_noise_gives_the_data_back() -> None:
    torch.testing.assert_close(add_noise(DATA, 0.0, seed=1), DATA, rtol=0, atol=1e-15)
    torch.testing.assert_close(add_white_noise(DATA, math.inf, seed=1), DATA, rtol=0, atol=1e-15)


def test_noise_is_multiplicative_and_of_size_tau() -> None:
    ratio = (add_noise(DATA, 0.2, seed=1) - DATA)[DATA.abs() > 0.05] / DATA[DATA.abs() > 0.05]
    assert float(ratio.std()) == pytest.approx(0.2, rel=0.05)
    assert float(ratio.mean()) == pytest.approx(0.0, abs=0.01)


def test_noise_is_linear_in_tau() -> None:
    weak, strong = (add_noise(DATA, tau, seed=1) - DATA for tau in (0.05, 0.2))
    torch.testing.assert_close(4 * weak, strong, rtol=0, atol=1e-14)


def test_twenty_percent_noise_changes_the_extension_by_half_a_percent_to_six() -> None:
    """The paper's example shows 2 %: noise of each node by itself is smoothed by the extension."""
    phi, noisy = SQUARE.extend(DATA), SQUARE.extend(add_noise(DATA, 0.2, seed=1))
    change = (noisy - phi).flatten(-2).norm(dim=-1) / phi.flatten(-2).norm(dim=-1)
    assert float(change.amin()) > 0.003
    assert float(change.amax()) < 0.06


def test_a_sample_keeps_its_noise_whatever_its_batch() -> None:
    whole = add_noise(DATA, 0.2, seed=1)
    index = torch.tensor([3, 1])
    torch.testing.assert_close(add_noise(DATA[index], 0.2, 1, index), whole[index], rtol=0, atol=0)
    torch.testing.assert_close(add_noise(DATA[0], 0.2, 1), whole[0], rtol=0, atol=0)
    torch.testing.assert_close(add_noise(DATA[2], 0.2, 1, index=torch.tensor([2])), whole[2], rtol=0, atol=0)


def test_a_current_keeps_its_noise_when_others_join() -> None:
    few, many = (add_noise(DATA[:, :count], 0.2, seed=1) for count in (1, 3))
    torch.testing.assert_close(few, many[:, :1], rtol=0, atol=0)


def test_seeds_and_samples_differ() -> None:
    same = DATA[:1].expand(2, -1, -1)
    first, second = add_noise(same, 0.2, seed=1)
    assert not torch.allclose(first, second)
    assert not torch.allclose(first, add_noise(same, 0.2, seed=2)[0])


def test_tau_may_differ_from_sample_to_sample() -> None:
    tau = torch.tensor([0.0, 0.05, 0.1, 0.2], dtype=torch.float64)
    found = add_noise(DATA, tau, seed=1)
    for k, level in enumerate(tau.tolist()):
        torch.testing.assert_close(found[k], add_noise(DATA, level, seed=1)[k], rtol=0, atol=0)


@pytest.mark.parametrize("snr", [10.0, 40.0])
def test_white_noise_has_its_signal_to_noise_ratio(snr: float) -> None:
    noise = add_white_noise(DATA, snr, seed=1) - DATA
    for signal, error in zip(DATA, noise, strict=True):
        assert 20 * math.log10(float(signal.norm() / error.norm())) == pytest.approx(snr, abs=0.3)


def test_noise_is_differentiable_in_the_data() -> None:
    data = DATA[:1, :1, ::40].clone().requires_grad_()
    assert torch.autograd.gradcheck(lambda d: add_noise(d, 0.2, seed=1), data)


@pytest.mark.parametrize("tau", [-0.1, math.nan, math.inf])
def test_tau_is_a_finite_number_not_below_zero(tau: float) -> None:
    with pytest.raises(InputError, match=r"^tau .*>= 0"):
        add_noise(DATA, tau, seed=1)


def test_numbers_of_samples_and_levels_must_fit() -> None:
    with pytest.raises(InputError, match=r"^index: .*4 samples, got 2$"):
        add_noise(DATA, 0.1, 1, index=torch.tensor([0, 1]))
    with pytest.raises(InputError, match=r"^tau: .*4 samples, got 3$"):
        add_noise(DATA, torch.ones(3, dtype=torch.float64), seed=1)


def test_data_must_be_finite() -> None:
    with pytest.raises(InputError, match=r"^boundary data: 2400 of 9600 "):
        add_noise(DATA * torch.tensor([1, 1, math.nan, 1], dtype=torch.float64)[:, None, None], 0.1, seed=1)


def test_no_samples_have_no_noise() -> None:
    assert add_noise(DATA[:0], 0.1, seed=1).shape == DATA[:0].shape


@pytest.mark.parametrize("snr", [math.nan, -math.inf])
def test_the_signal_to_noise_ratio_is_a_number(snr: float) -> None:
    with pytest.raises(InputError, match=r"^snr_db must be a number.*$"):
        add_white_noise(DATA, snr, seed=1)
