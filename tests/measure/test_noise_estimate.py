import pytest
import torch

from eitlens.domain import Square
from eitlens.forward import BoundaryIntegralSolver, add_noise, currents
from eitlens.measure import noise_estimate as noise

SQUARE = Square(200)


@pytest.fixture(scope="module")
def clean(phantom):
    return BoundaryIntegralSolver(SQUARE).difference(phantom, currents.cosine(SQUARE, 1))


@pytest.mark.parametrize("tau", [0.01, 0.05, 0.2, 0.5])
def test_the_noise_level_is_found_to_a_tenth(clean, tau):
    s = SQUARE.arclength()
    found = [noise.estimate(add_noise(clean, tau, seed)[0], s, SQUARE) for seed in range(4)]
    assert sum(found) / 4 == pytest.approx(tau, rel=0.1)


def test_smooth_data_have_next_to_no_noise_and_zero_data_none(clean):
    s = SQUARE.arclength()
    assert noise.estimate(clean[0], s, SQUARE) < 1e-5
    assert noise.estimate(torch.zeros_like(s), s, SQUARE) == 0.0


def test_few_electrodes_do_not_tell():
    s = torch.arange(32, dtype=torch.float64) / 4
    assert noise.estimate(torch.cos(s), s, SQUARE) is None
