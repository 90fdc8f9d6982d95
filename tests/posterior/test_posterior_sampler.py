"""The sampler against quadrature and weighted draws."""

from contextlib import nullcontext
from dataclasses import replace

import pytest
import torch
from posterior_case import CURRENTS, PRIOR, SQUARE, log_likelihood_of_disks, measure, solver, wrong_guide

from eitlens import posterior
from eitlens.domain import Disk
from eitlens.errors import InputError
from eitlens.forward import BoundaryIntegralSolver, currents
from eitlens.phantom import EllipseSampler, Phantom, circle
from eitlens.posterior import Settings
from eitlens.posterior.guide.network import Guide
from eitlens.posterior.model.likelihood import Likelihood
from eitlens.posterior.sampler.diagnostics import functions


def test_one_disk_against_quadrature() -> None:
    """A disk of known size somewhere: its posterior in the plane, summed over a fine grid of centres."""
    prior = EllipseSampler(seed=2, count=1, short=(0.2, 0.2), long=(0.2, 0.2))
    measured = measure(prior, 4, 0.5)
    result = posterior.sample(
        measured, SQUARE, CURRENTS, 0.5, prior, Settings(20, 4, warmup=8, least=20, most=20, floor=0.3)
    )
    assert float(result.diagnostics.rhat) < 1.2
    likelihood = Likelihood(measured, torch.tensor([0.5], dtype=torch.float64), 0.3)
    truth = prior.batch(4, 5).groups[0].parameters[0, 0, :2]
    log, centers = log_likelihood_of_disks(likelihood, torch.zeros(2).double(), 0.74, 40)
    # All of the posterior is in the box of the fine grid.
    assert float(log[(centers - truth).abs().amax(1) > 0.18].max()) < float(log.max()) - 10
    log, centers = log_likelihood_of_disks(likelihood, truth, 0.2, 60)
    weight = torch.softmax(log, 0)
    for axis in (0, 1):
        exact = float(weight @ centers[:, axis])
        spread = float((weight @ (centers[:, axis] - exact).square()).sqrt())
        drawn = result.rows[0, :, 0, axis]
        mean = float(result.weight[0] @ drawn)
        assert mean == pytest.approx(exact, abs=0.25 * spread)
        width = float((result.weight[0] @ (drawn - mean).square()).sqrt())
        assert width == pytest.approx(spread, rel=0.15)


GUIDE = wrong_guide(currents=2, boundary=64, flattest=30.0)


@pytest.mark.parametrize(
    ("guide", "ensembles", "ladders"), [(None, 32, 1), (GUIDE, 16, 2)], ids=["alone", "guided"]
)
def test_two_ellipses_against_weighted_draws_of_the_prior(
    guide: Guide | None, ensembles: int, ladders: int
) -> None:
    """With much noise the prior's own draws, weighted by the likelihood, are a sample to compare with."""
    prior, tau = EllipseSampler(seed=4, count=2, disjoint=True), 0.5
    measured = measure(prior, 1, tau)
    settings = Settings(
        ensembles, 3, warmup=4, least=12, most=12, floor=6.0, tries=2, top=30.0, ladders=ladders
    )
    result = posterior.sample(measured, SQUARE, CURRENTS, tau, prior, settings, guide=guide)
    place = replace(prior, seed=77).batch(0, 2000).groups[0].parameters
    data = solver(48).data(place)
    likelihood = Likelihood(measured, torch.tensor([tau], dtype=torch.float64), 6.0)
    log = likelihood.value(data[None], likelihood.last)[0]
    weight = torch.softmax(log, 0)
    assert 1 / float(weight.square().sum()) > 120
    exact = functions(place, log)
    found = functions(result.rows[0], torch.zeros_like(result.misfit[0]))
    mean, other = weight @ exact, result.weight[0] @ found
    spread = (weight @ (exact - mean).square()).sqrt()
    assert float(((other - mean) / spread)[:-1].abs().max()) < 0.35


def test_a_guide_must_know_the_levels() -> None:
    prior = EllipseSampler(seed=4, count=2, disjoint=True)
    loud = Settings(floor=70.0)
    with pytest.raises(InputError, match="levels of noise begin"):
        posterior.sample(measure(prior, 1, 0.5), SQUARE, CURRENTS, 0.5, prior, loud, guide=GUIDE)


def test_a_run_is_a_function_of_its_seed_not_of_the_threads_and_obeys_its_time() -> None:
    prior = EllipseSampler(seed=2, count=1)
    measured = measure(prior, 0, 0.2)[0]
    few = Settings(ensembles=2, levels=3, warmup=2, least=1, most=3)
    said: list[float] = []
    before, runs = torch.get_num_threads(), []
    for threads in (1, 2):
        torch.set_num_threads(threads)
        runs.append(
            posterior.sample(measured, SQUARE, CURRENTS, 0.2, prior, few, lambda part, _: said.append(part))
        )
        assert torch.get_num_threads() == threads
    torch.set_num_threads(before)
    first, second = runs
    assert torch.equal(first.rows, second.rows)
    assert said[-1] == pytest.approx(1.0)
    # More workers than ensembles: one each.
    apart = posterior.sample(measured, SQUARE, CURRENTS, 0.2, prior, few, workers=3)
    assert apart.rows.shape == first.rows.shape
    left, right = apart.rows[0].unflatten(0, (2, -1))
    assert not torch.equal(left, right)
    hurried = posterior.sample(measured, SQUARE, CURRENTS, 0.2, prior, few, seconds=0.0)
    assert not bool(hurried.diagnostics.converged.any())
    assert hurried.picked(0, 3).shape == (3, 1, 5)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tau": 0.0}, "noise level"),
        ({"tau": torch.tensor([0.1, 0.2])}, r"one tau for all or 1, one a measurement, got \(2,\)"),
        ({"prior": EllipseSampler(seed=1)}, "disjoint=True"),
        (
            {"prior": EllipseSampler(seed=1, count=1, extent=1.0)},
            "beyond the body: give it a smaller extent than 1",
        ),
        ({"difference": torch.zeros(2, 64)}, "zero everywhere"),
        ({"difference": torch.ones(3, 64)}, "like the currents"),
        ({"difference": torch.ones(2, 60)}, "corners dropped"),
    ],
)
def test_what_it_refuses(change: dict[str, object], message: str) -> None:
    given = {"difference": torch.rand(2, 64), "tau": 0.1, "prior": PRIOR} | change
    with pytest.raises(InputError, match=message):
        posterior.sample(given["difference"], SQUARE, CURRENTS, given["tau"], given["prior"])


def test_a_prior_that_leaves_the_body() -> None:
    """On a disk the corners of the box of centres and widths are the first to stick out."""
    disk = Disk(16, 64)
    g = currents.trigonometric(disk, 2)
    data = BoundaryIntegralSolver(disk).difference(Phantom([circle((0.2, 0.1), 0.3)]), g)
    for extent, refused in ((0.72, True), (0.7, False)):
        prior = EllipseSampler(seed=1, count=1, extent=extent)
        few = Settings(ensembles=2, levels=3, warmup=2, least=1, most=1)
        with pytest.raises(InputError, match="beyond the body") if refused else nullcontext():
            posterior.sample(data, disk, g, 0.05, prior, few)
