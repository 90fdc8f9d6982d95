"""The prior of maps: its symmetry, its completeness, and the posterior against a direct solution."""

import math

import pytest
import torch

import eitlens as eit
from eitlens.feature.maps import MapPrior, mirrored, packed, turned

WAVES = 6
SOLVER = eit.BoundaryIntegralSolver(eit.Disk(4))


def body(angle: float = 0.0, mirror: int = 1) -> eit.Phantom:
    """An ellipse mirrored at the x axis and then turned."""
    x, y = 0.3, 0.2 * mirror
    c, s = math.cos(angle), math.sin(angle)
    place = (c * x - s * y, s * x + c * y)
    return eit.Phantom([eit.Ellipse(place, (0.25, 0.1), 0.3 * mirror + angle)], [5.0])


@pytest.fixture(scope="module")
def maps() -> torch.Tensor:
    return SOLVER.modes(eit.EllipseSampler(seed=1, count=1, extent=0.6).batch(0, 40), WAVES)


def test_turned_and_mirrored_bodies_have_these_maps():
    plain, angle = SOLVER.modes(body(), WAVES), 0.7
    found = turned(plain, torch.tensor(angle, dtype=torch.float64))
    assert torch.allclose(found, SOLVER.modes(body(angle), WAVES), atol=1e-12)
    assert torch.allclose(mirrored(plain), SOLVER.modes(body(0.0, -1), WAVES), atol=1e-12)


def test_all_modes_give_back_every_map(maps):
    prior = MapPrior.fit(maps, 4 * WAVES**2)
    again = prior.maps(prior.coordinates(maps))
    assert torch.allclose(again, maps, atol=1e-8 * float(maps.abs().max()))
    assert torch.allclose(prior.modes, prior.modes.mT)


def test_coordinates_of_turned_and_mirrored_bodies_are_uncorrelated_and_of_unit_variance(maps):
    prior = MapPrior.fit(maps, 30)
    angles = torch.arange(32, dtype=torch.float64) * (2 * math.pi / 32)
    copies = torch.cat([turned(part, a) for a in angles for part in (maps, mirrored(maps))])
    z = prior.coordinates(copies)
    assert float(z.mean(0).abs().max()) < 1e-8
    assert torch.allclose(z.T @ z / len(z), torch.eye(prior.size, dtype=z.dtype), atol=1e-6)


def test_a_prior_survives_its_tensors(maps):
    prior = MapPrior.fit(maps, 20)
    again = MapPrior.from_tensors(prior.tensors())
    assert torch.equal(prior.modes, again.modes)
    assert torch.equal(prior.mean, again.mean)
    with pytest.raises(eit.InputError, match="profiles"):
        MapPrior.from_tensors(prior.tensors() | {"order": torch.zeros(3)})


def test_the_code_is_the_posterior_of_a_linear_model(maps):
    prior = MapPrior.fit(maps, 20)
    draw = torch.Generator().manual_seed(0)

    def normal(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=draw, dtype=torch.float64)

    none = torch.zeros(2 * WAVES, 2 * WAVES, dtype=torch.float64)
    reading = prior.read(normal(3, 2 * WAVES), normal(1, 4, 2 * WAVES), none)
    y, variance, nuisance = normal(2, 12), normal(2, 12).square() + 0.1, normal(1, 12)
    y[1, 3] = math.nan
    code = reading.code(y, variance, nuisance)
    for k, keep in enumerate(y.isfinite()):
        rows = reading.rows[:, keep]
        noise = torch.diag(variance[k, keep]) + nuisance[:, keep].T @ nuisance[:, keep]
        gain = torch.linalg.solve(rows.T @ rows + noise, rows.T).T
        mean = (gain @ (y[k] - reading.mean)[keep, None])[:, 0]
        covariance = torch.eye(prior.size, dtype=y.dtype) - gain @ rows.T
        assert torch.allclose(code.mean[k], mean, atol=1e-9)
        assert torch.allclose(code.deviation[k], covariance.diagonal().sqrt(), atol=1e-9)
    assert packed(code).shape == (2, 3 * prior.size + 1)


def test_what_is_not_linear_is_taken_off(maps):
    prior = MapPrior.fit(maps, 4 * WAVES**2)
    angles = torch.arange(16, dtype=torch.float64) * (math.pi / 8)
    width, contact = torch.full_like(angles, 0.1), torch.full_like(angles, 1e-4)
    tank = eit.empty_tank(angles, width, contact, WAVES)
    eye = torch.eye(16, dtype=torch.float64)
    drive = (eye - eye.roll(1, 0))[:15]
    reading = prior.read(drive @ tank.density.mT, drive[None] @ tank.density.mT, tank.drawn)
    z = prior.coordinates(maps[:3])
    exact = torch.einsum("le,bef,cf->blc", drive, tank.change(maps[:3]), drive).flatten(1)
    linear = reading.mean + z @ reading.rows
    assert torch.allclose(linear - reading.curved(z), exact, atol=1e-10)
    assert float((linear - exact).norm() / exact.norm()) > 1e-3
