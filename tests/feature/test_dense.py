"""Data at few points: the noise is found, and the image is that of the posterior."""

import pytest
import torch
from torch import Tensor

from eitlens import BoundaryIntegralSolver, EllipseSampler, Imager, Square, currents
from eitlens.feature.codes import has_few_points
from eitlens.feature.dense import dense_code
from eitlens.feature.gaussian import GaussianPrior
from eitlens.measure.points import measured

NODES, MODES, EVERY = 240, 60, 6


@pytest.fixture(scope="module")
def prior() -> GaussianPrior:
    """More smooth modes of falling size than there are points."""
    s = torch.linspace(0, 2 * torch.pi, NODES + 1, dtype=torch.float64)[:-1]
    order = torch.arange(MODES, dtype=torch.float64)[:, None]
    waves = torch.cos((order // 2 + 1) * s + order * torch.pi / 2)
    modes = (0.8**order * waves)[:, None]
    return GaussianPrior(2 + torch.cos(s)[None], modes, torch.zeros(MODES, dtype=torch.int64), floor=1e-4)


def noisy(prior: GaussianPrior, tau: float, every: int) -> Tensor:
    draw = torch.Generator().manual_seed(1)
    data = prior.data(torch.randn(80, MODES, generator=draw, dtype=torch.float64))
    data = data * (1 + tau * torch.randn(data.shape, generator=draw, dtype=torch.float64))
    gaps = torch.full_like(data, torch.nan)
    gaps[..., ::every] = data[..., ::every]
    return gaps


def test_when_points_are_few():
    data = torch.zeros(1, 3, 800, dtype=torch.float64)
    assert not has_few_points(data)
    data[:, 1:] = torch.nan
    assert not has_few_points(data)  # currents that are missing altogether are the network's daily bread
    data[:, 0, ::2] = torch.nan
    assert has_few_points(data)
    whole = torch.zeros(1, 3, 800, dtype=torch.float64)
    whole[0, 1, 7] = torch.nan
    assert not has_few_points(whole)


@pytest.mark.parametrize("tau", [0.01, 0.05, 0.2])
def test_the_noise_level_is_found(prior, tau):
    found = dense_code(prior, noisy(prior, tau, EVERY)).tau
    assert abs(float(found.median()) / tau - 1) < 0.2
    assert float(found.max()) < 3 * tau


def test_the_code_is_that_of_all_nodes_where_they_are_all_there(prior):
    data = noisy(prior, 0.05, 1)
    dense, quick = dense_code(prior, data), prior.code(data)
    assert float((dense.tau / quick.tau - 1).abs().max()) < 0.05
    assert float((prior.data(dense.mean) - prior.data(quick.mean)).norm() / data.norm()) < 0.005
    # Where data cross zero the two take different spreads for their size: a few samples differ there.
    assert float((dense.deviation / quick.deviation - 1).abs().median()) < 0.02


def test_an_image_from_32_electrodes():
    square, g = Square(200), currents.cosine(Square(200), 3)
    bodies = list(EllipseSampler(seed=77, disjoint=True).batch(0, 2))
    clean = BoundaryIntegralSolver(square).difference(bodies, g)
    imager = Imager.load()
    for body, one in zip(bodies, clean, strict=True):
        found = imager(measured(square, g, one, 1.0, tau=0.05, seed=3, points=32), misfit=False)
        assert found.noise == pytest.approx(0.045, abs=0.015)
        assert found.dice(body) > 0.75
