"""The code of boundary data: an exact posterior where there is one, and the noise level."""

import pytest
import torch
from torch import Tensor

from eitlens.domain import Square
from eitlens.errors import InputError
from eitlens.feature import gaussian
from eitlens.feature.gaussian import Code, GaussianPrior
from eitlens.feature.storage import read_input
from eitlens.forward import BoundaryIntegralSolver, add_noise
from eitlens.forward.currents import cosine
from eitlens.phantom import EllipseSampler
from eitlens.weights import SHIPPED

CURRENTS, NODES, MODES = 2, 120, 8


def normal(seed: int, *shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.fixture(scope="module")
def prior() -> GaussianPrior:
    """Orthogonal smooth modes of falling size around a mean with changes of sign."""
    s = torch.linspace(0, 2 * torch.pi, NODES + 1, dtype=torch.float64)[:-1]
    waves = [
        torch.stack([torch.cos((k // 2 + 1) * s + k), torch.sin((k // 2 + 1) * s - k)]) for k in range(MODES)
    ]
    basis = torch.linalg.qr(torch.stack(waves).flatten(1).T).Q.T.reshape(MODES, CURRENTS, NODES)
    sizes = 8 * 0.6 ** torch.arange(MODES, dtype=torch.float64)
    mean = torch.stack([2 * torch.cos(s), 2 * torch.cos(2 * s)])
    return GaussianPrior(
        mean, sizes[:, None, None] * basis, torch.zeros(MODES, dtype=torch.int64), floor=1e-4
    )


def noisy(prior: GaussianPrior, tau: float, samples: int = 40) -> tuple[Tensor, Tensor]:
    z = normal(1, samples, MODES)
    data = prior.data(z)
    return z, data * (1 + tau * normal(2, *data.shape))


def test_clean_data_give_the_code_back(prior):
    z, data = noisy(prior, 0.0)
    code = prior.code(data)
    assert (code.mean - z).abs().max() < 2e-3
    assert code.tau.max() < 3e-4
    assert code.deviation.max() < 0.02


@pytest.mark.parametrize("tau", [0.01, 0.05, 0.2])
def test_the_noise_level_is_found(prior, tau):
    code = prior.code(noisy(prior, tau)[1])
    assert abs(float(code.tau.mean()) / tau - 1) < 0.1
    assert float((code.tau / tau).std()) < 0.15


def exact(prior: GaussianPrior, data: Tensor, code: Code, k: int) -> tuple[Tensor, Tensor]:
    """Mean and deviation of the posterior by a dense solve, for the weights the code ends with."""
    ones = torch.diag_embed(0.02 * prior.rms)[..., None].expand(-1, -1, NODES)
    a = torch.cat([prior.modes, ones]).flatten(1)
    floor = (prior.floor * prior.rms[:, None]).square().expand(CURRENTS, NODES).flatten()
    spread = code.deviation[k].square() @ prior.modes.flatten(1).square()
    signal = prior.data(code.mean[k : k + 1]).flatten().square() + spread
    weight = 1 / (code.tau[k] ** 2 * signal + floor)
    inverse = torch.linalg.inv(torch.eye(len(a), dtype=torch.float64) + (a * weight) @ a.T)
    z = inverse @ (a * weight) @ (data[k] - prior.mean).flatten()
    return z[:MODES], inverse.diag()[:MODES].sqrt()


def test_the_code_is_the_posterior_mean_and_its_deviation_a_lower_bound(prior):
    z, data = noisy(prior, 0.05, 60)
    code = prior.code(data)
    scaled = []
    for k in range(60):
        mean, deviation = exact(prior, data, code, k)
        # The alternation is stopped after three rounds: what is left is small beside the uncertainty.
        assert (mean - code.mean[k]).norm() < 0.2 * deviation.norm()
        assert (code.deviation[k] <= 1.05 * deviation).all()
        scaled.append((code.mean[k] - z[k]) / deviation)
    assert 0.7 < float(torch.stack(scaled).square().mean().sqrt()) < 1.5


def test_noise_is_taken_out(prior):
    z, data = noisy(prior, 0.1)
    true = prior.data(z)
    assert (prior.data(prior.code(data).mean) - true).norm() < 0.45 * (data - true).norm()


def test_what_was_not_measured_is_uncertain_and_does_not_matter(prior):
    _, data = noisy(prior, 0.01)
    gaps = data.clone()
    gaps[:, 1] = torch.nan
    fewer = prior.code(gaps)
    whole = prior.code(data)
    assert torch.isfinite(fewer.mean).all()
    assert (fewer.deviation.mean(0) > whole.deviation.mean(0)).all()
    nothing = prior.code(torch.full_like(data, torch.nan))
    assert nothing.mean.abs().max() == 0
    assert nothing.deviation.min() == 1


def test_principal_components_with_symmetries():
    """Mirror images: orthogonal modes, each even or odd, that explain the data."""
    weights = 0.6 ** torch.arange(6, dtype=torch.float64)
    shapes = torch.linalg.qr(normal(3, NODES, 6)).Q.T
    data = (normal(4, 500, 6) * weights) @ shapes
    data = data.reshape(500, 1, NODES)
    mirrored = data.flip(-1)
    signs = torch.tensor([[1.0, 1.0], [1.0, -1.0]], dtype=torch.float64)
    prior = GaussianPrior.fit(torch.stack([data, mirrored]), signs, 12)
    flat = prior.modes.flatten(1)
    gram = flat @ flat.T
    assert (gram - gram.diag().diag()).abs().max() < 1e-12
    assert (gram.diag().diff() <= 1e-12).all()
    sign = 1.0 - 2.0 * prior.parity
    torch.testing.assert_close(flat.flip(-1), sign[:, None] * flat, atol=1e-9, rtol=0)
    assert abs(float(gram.diag().sum()) / float(data.square().sum() / 500) - 1) < 0.05


def test_other_numbers_of_nodes(prior):
    fine = prior.at(240)
    assert fine.mean.shape == (CURRENTS, 240)
    torch.testing.assert_close(fine.modes[..., ::2], prior.modes)
    assert prior.at(NODES) is prior


@pytest.mark.parametrize(("tau", "missing"), [(0.05, 0.2), (0.01, 0.6), (0.0, 1.6)])
def test_how_far_the_shipped_code_is_from_the_exact_solution(tau, missing):
    """What the module says: steps that stop early leave an error that is small beside that of noisy data alone."""
    prior = read_input(SHIPPED / "flagship").prior
    square = Square(200)
    bodies = EllipseSampler(seed=99, disjoint=True).batch(0, 6)
    data = add_noise(BoundaryIntegralSolver(square).difference(bodies, cosine(square, 3)), tau, 3)
    code = prior.code(data)
    found = [converged(prior, one) for one in data]
    mean, deviation = (torch.stack(parts) for parts in zip(*found, strict=True))
    error = (code.mean - mean) / deviation
    assert missing / 2 < float(error.square().mean().sqrt()) < missing
    assert float((code.mean - mean)[:, :10].square().mean().sqrt()) < 4e-3


def converged(prior: GaussianPrior, one: Tensor) -> tuple[Tensor, Tensor]:
    """The code by the same alternation with dense solves, and the deviations of the posterior."""
    a, mean = gaussian._with_offsets(prior), prior.mean.flatten()
    rms = prior.rms[:, None].expand_as(prior.mean).flatten()
    y, floor, signal, tau = one.flatten() - mean, (prior.floor * rms).square(), rms.square(), 0.05**2
    measured, eye = torch.ones_like(y)[None], torch.eye(len(a), dtype=torch.float64)
    for _ in range(3):
        weight = 1 / (tau * signal + floor)
        inverse = torch.linalg.inv(eye + (a * weight) @ a.T)
        z, diagonal = inverse @ (a @ (weight * y)), 1 / (1 + a.square() @ weight)
        signal = (z @ a + mean).square() + diagonal @ a.square()
        freedom = (1 - (1 - diagonal).sum() / len(y))[None, None]
        start = torch.as_tensor(tau, dtype=torch.float64).reshape(1, 1)
        tau = gaussian._noise((y - z @ a)[None], signal[None], floor, measured, freedom, start)[0, 0]
    kept = len(prior.modes)
    return z[:kept], inverse.diag()[:kept].sqrt()


def test_the_wrong_shape(prior):
    with pytest.raises(InputError, match="expected boundary differences of shape"):
        prior.code(torch.zeros(3, CURRENTS, NODES - 1, dtype=torch.float64))
