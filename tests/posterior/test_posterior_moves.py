"""The moves of the sampler leave alone what they must."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch
from posterior_case import COORDINATES, CPU, CURRENTS, PRIOR, SQUARE, log_likelihood_of_disks, measure, rows
from scipy import stats
from torch import Tensor

from eitlens.phantom import EllipseSampler
from eitlens.posterior.model.likelihood import Likelihood
from eitlens.posterior.model.target import Target
from eitlens.posterior.moves.chains import Chains
from eitlens.posterior.moves.jumps import jump, perturbations
from eitlens.posterior.moves.manifold import manifold_step
from eitlens.posterior.moves.surface import TOLERANCE, Frame, components_to, project
from eitlens.posterior.sampler.diagnostics import functions


def test_a_slide_returns_to_the_surface_and_back() -> None:
    """From z with v to z', from there with v' to z."""
    likelihood = Likelihood(measure(PRIOR, 0, 0.1), torch.tensor([0.1], dtype=torch.float64))
    target = Target.build(SQUARE, CURRENTS, PRIOR, likelihood, 1e-3)
    level, everyone = torch.tensor([0.05], dtype=torch.float64), torch.ones(1, 20, dtype=torch.bool)
    here = target.particles(COORDINATES.from_rows(rows(20))[None])
    reach = torch.full((1, 20, 1), 0.2, dtype=torch.float64)
    frame = Frame.build(target, target.local(here, level), reach)
    velocity = torch.randn(here.z.shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    place, landed = project(target, here, frame, velocity, level, everyone)
    assert float(landed.double().mean()) > 0.6
    there = target.particles(torch.where(landed[..., None], place, here.z))
    found = components_to(target, here, frame, there, level)
    torch.testing.assert_close(found[landed], velocity[landed], rtol=0, atol=2 * TOLERANCE)
    turned = Frame.build(target, target.local(there, level), reach)
    way = components_to(target, there, turned, here, level)
    back, returned = project(target, there, turned, way, level, landed)
    assert int(returned.sum()) >= 0.9 * int(landed.sum())
    assert float((place - here.z)[returned].norm(dim=-1).min()) > 0.05
    assert float(frame.into(back - here.z).norm(dim=-1)[returned].max()) < 10 * TOLERANCE


def test_slides_leave_the_posterior_of_a_disk_alone() -> None:
    """Exact draws of its centre, by quadrature, slid with long steps: still such draws.

    There is so much noise that the posterior fills a good part of the square, over which the metric varies much: its
    determinant with the wrong sign in the rule of acceptance is found out (p = 2e-4).
    """
    prior, count, cells = EllipseSampler(seed=2, count=1, short=(0.2, 0.2), long=(0.2, 0.2)), 1000, 60
    likelihood = Likelihood(measure(prior, 4, 0.5), torch.tensor([0.5], dtype=torch.float64), 4.0)
    target, half = Target.build(SQUARE, CURRENTS, prior, likelihood, 1e-2), prior.extent - 0.2
    log, centers = log_likelihood_of_disks(likelihood, torch.zeros(2).double(), half * (1 - 1 / cells), cells)
    weight, generator = torch.softmax(log, 0), torch.Generator().manual_seed(3)
    assert 1 / float(weight.square().sum()) > 0.05 * cells**2
    place = centers[torch.multinomial(weight, count, True, generator=generator)]
    place = place + 2 * half / cells * (torch.rand(count, 2, generator=generator, dtype=torch.float64) - 0.5)
    drawn = torch.cat([place, torch.tensor([0.2, 0.2, 0.0]).double().expand(count, 3)], 1)
    z = target.coordinates.from_rows(drawn[:, None])
    z[:, 2:] = torch.logit(torch.rand(count, 3, generator=generator, dtype=torch.float64))
    chains = Chains.start(target, z[None], likelihood.last)
    chains = replace(chains, step=torch.tensor([0.7], dtype=torch.float64))
    for _ in range(8):
        chains = manifold_step(target, chains, likelihood.last, generator, 0.0)
    moved = target.coordinates.rows(chains.particles.z[0])[:, 0]
    assert float((moved - drawn)[:, :2].norm(dim=1).mean()) > 0.7 * float(drawn[:, :2].std(0).norm())
    edge = np.linspace(-half, half, cells + 1)
    for axis, mass in enumerate((weight.reshape(cells, cells).sum(1), weight.reshape(cells, cells).sum(0))):
        total = np.concatenate([[0.0], mass.cumsum(0).numpy()])
        found = stats.kstest(moved[:, axis].numpy(), lambda v, t=total: np.interp(v, edge, t))
        assert found.pvalue > 1e-3
    for k in (2, 3):
        assert stats.kstest(torch.sigmoid(chains.particles.z[0, :, k]), "uniform").pvalue > 1e-3


def perturbed(target: Target, chains: Chains, level: Tensor, generator: torch.Generator) -> Chains:
    return jump(target, chains, level, generator, perturbations(level))


@pytest.mark.parametrize(
    "move", [perturbed, partial(manifold_step, learning=0.4)], ids=["perturbed", "manifold step"]
)
def test_without_data_a_move_leaves_the_prior_alone(move: Callable[..., Chains]) -> None:
    """Draws of two ellipses apart, moved 6 times under noise that drowns the data: still such draws."""
    prior, count = EllipseSampler(seed=4, count=2, disjoint=True), 200
    likelihood = Likelihood(measure(prior, 1, 0.5), torch.tensor([0.5], dtype=torch.float64))
    target = Target.build(SQUARE, CURRENTS, prior, likelihood, 0.05)
    level, generator = torch.tensor([1e4], dtype=torch.float64), torch.Generator().manual_seed(1)
    before = target.coordinates.draw(count, 5, CPU)
    chains = Chains.start(target, before[None], level)
    for _ in range(6):
        chains = move(target, chains, level, generator)
    assert bool(target.coordinates.allowed(chains.particles.z).all())
    drawn = target.coordinates.rows(torch.stack([before, chains.particles.z[0]]))
    first, second = functions(drawn, torch.zeros(2, count, dtype=torch.float64))[..., :-1]
    assert float((first != second).any(1).double().mean()) > 0.9
    assert min(float(stats.ks_2samp(a, b).pvalue) for a, b in zip(first.T, second.T, strict=True)) > 1e-3
