"""The pieces of the posterior sampler against autograd, dense linear algebra, quadrature and weighted draws."""

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import stats
from torch import Tensor

from eitlens.classical import posterior
from eitlens.classical.posterior import Settings
from eitlens.classical.posterior.coordinates import Coordinates
from eitlens.classical.posterior.diagnostics import agreement, functions
from eitlens.classical.posterior.electrodes import Electrodes
from eitlens.classical.posterior.images import images, smoothed
from eitlens.classical.posterior.likelihood import FLOOR, Likelihood
from eitlens.classical.posterior.linearised import LinearisedSolver
from eitlens.classical.posterior.moves import Chains, jump, shakes, slide
from eitlens.classical.posterior.resolution import node_counts
from eitlens.classical.posterior.surface import TOLERANCE, Frame, components_to, project
from eitlens.classical.posterior.target import Target, phantoms
from eitlens.domain import Square
from eitlens.errors import InputError
from eitlens.forward import BoundaryIntegralSolver, add_noise, currents
from eitlens.forward.outlines import needed_nodes
from eitlens.models.guide import Guide, GuideConfig
from eitlens.phantom import EllipseSampler, indicator

SQUARE = Square(16)
CURRENTS = currents.cosine(SQUARE, 2)
PRIOR = EllipseSampler(seed=1, disjoint=True)
COORDINATES = Coordinates(PRIOR)
CPU = torch.device("cpu")


MARGIN = 1 - PRIOR.extent


def solver(nodes: int, inside: float = 10.0) -> LinearisedSolver:
    return LinearisedSolver(SQUARE, Electrodes.build(SQUARE, CURRENTS, MARGIN, 1e-12), inside, 1.0, nodes)


def rows(count: int) -> Tensor:
    return PRIOR.batch(0, count).groups[0].parameters


def measure(prior: EllipseSampler, k: int, tau: float) -> Tensor:
    clean = BoundaryIntegralSolver(SQUARE).difference(prior.batch(k, k + 1), CURRENTS)
    return add_noise(clean, tau, seed=5, index=torch.tensor([k]))


# --- the linearised solver


def test_the_data_are_those_of_the_boundary_integral_solver() -> None:
    batch = PRIOR.batch(0, 5)
    exact = BoundaryIntegralSolver(SQUARE, nodes=40).difference(batch, CURRENTS)
    found = solver(40)(batch.groups[0].parameters)
    torch.testing.assert_close(found.data, exact, rtol=0, atol=1e-14)
    torch.testing.assert_close(solver(40).data(batch.groups[0].parameters), found.data)


@pytest.mark.parametrize("inside", [10.0, 0.2])
def test_the_jacobian_is_that_of_autograd(inside: float) -> None:
    place = rows(1)
    reference = BoundaryIntegralSolver(SQUARE, nodes=40)

    def data(values: Tensor) -> Tensor:
        return reference.difference(phantoms(values[None], inside, 1.0), CURRENTS)[0]

    exact = torch.autograd.functional.jacobian(data, place[0])
    found = solver(40, inside)(place).jacobian[0]
    torch.testing.assert_close(found, exact.permute(0, 2, 3, 1), rtol=0, atol=1e-7 * float(exact.abs().max()))


@pytest.mark.parametrize(("tolerance", "few"), [(5e-4, 200), (1e-4, 400)])
def test_few_electrodes_and_a_series_for_the_sources_do(tolerance: float, few: int) -> None:
    """At 800 boundary nodes: data and Jacobian against all electrodes and all sources."""
    square, place = Square(200), rows(24)
    given = currents.cosine(square, 3)
    cheap = Electrodes.build(square, given, MARGIN, tolerance)
    exact = replace(Electrodes.build(square, given, MARGIN, 1e-12), series=None)
    assert (len(cheap.place), len(exact.place)) == (few, 800)
    found, expected = (LinearisedSolver(square, e, 10.0, 1.0, 48)(place) for e in (cheap, exact))
    error, slope = (
        (one - other).abs().amax(-1) / other.square().mean(-1).sqrt()
        for one, other in zip(found, expected, strict=True)
    )
    assert float(error.max()) < 2 * tolerance
    assert float(error.median()) < 0.01 * tolerance
    # In units of the noise this tolerance is for, over all nodes.
    likelihood = Likelihood(expected.data, torch.full((24,), 100 * tolerance, dtype=torch.float64))
    noises = (likelihood.misfit(found.data[:, None])[:, 0] * 3 * 799).sqrt()
    assert float(noises.max()) < 0.5
    # The Jacobian only proposes steps: what it costs to err a little is acceptance.
    assert float(slope.max()) < 0.1
    assert float(slope.median()) < 0.01 * tolerance


def test_the_quick_count_of_nodes_is_that_of_the_solver() -> None:
    place = rows(300)
    quick = node_counts(SQUARE, place, 1e-3)
    careful = needed_nodes(SQUARE, phantoms(place, 10.0, 1.0), 1e-3)
    assert float((quick == careful).double().mean()) > 0.95
    assert float((quick < careful).double().mean()) < 0.02


def test_the_accuracy_asked_for_is_small_against_the_noise() -> None:
    """Error in units of the noise, over all nodes, for the hardest and the middle one of 48 phantoms."""
    square, batch, tau = Square(100), PRIOR.batch(100, 148), 0.01
    given = currents.cosine(square, 1)
    exact = BoundaryIntegralSolver(square).difference(batch, given)
    likelihood = Likelihood(exact, torch.full((48,), tau, dtype=torch.float64))
    target = Target.build(square, given, PRIOR, likelihood, 0.01 * tau)
    found = target.particles(COORDINATES.from_rows(batch.groups[0].parameters)[:, None]).data
    error = (likelihood.misfit(found)[:, 0] * (square.boundary_size - 1)).sqrt()
    assert float(error.max()) < 1.0
    assert float(error.median()) < 0.01


# --- coordinates


def test_coordinates_go_there_and_back() -> None:
    place = rows(50)
    z = COORDINATES.from_rows(place)
    torch.testing.assert_close(COORDINATES.rows(z), place, rtol=0, atol=1e-13)
    assert bool(COORDINATES.allowed(z).all())


def test_their_derivatives_are_those_of_autograd() -> None:
    z = COORDINATES.from_rows(rows(6))
    full = torch.func.vmap(torch.func.jacfwd(COORDINATES.rows))(z)
    blocks = torch.unflatten(full, -1, (4, 5)).diagonal(dim1=1, dim2=3).movedim(-1, 1)
    torch.testing.assert_close(COORDINATES.derivative(z), blocks, rtol=0, atol=1e-14)
    slope = torch.func.vmap(torch.func.grad(COORDINATES.log_density))(z)
    torch.testing.assert_close(COORDINATES.gradient(z), slope, rtol=0, atol=1e-14)


def test_the_prior_is_logistic() -> None:
    """The sampler's own draws, without the condition to be apart, have variance π²/3 in the logits."""
    free = EllipseSampler(seed=3, count=1)
    z = Coordinates(free).draw(20_000, 9, CPU)[:, :4]
    np.testing.assert_allclose(z.var(0), math.pi**2 / 3, rtol=0.04)


def test_draws_never_come_from_the_seed_of_the_prior() -> None:
    z = COORDINATES.draw(4, seed=PRIOR.seed + 1, device=CPU)
    assert float((COORDINATES.rows(z) - rows(4)).abs().min()) > 1e-6


# --- likelihood


def test_the_likelihood_is_the_normal_density_on_the_zero_mean_functions() -> None:
    """In an orthonormal basis U of the zero-mean functions the covariance Uᵀ D U is regular: compare there."""
    tau, level = 0.3, torch.tensor([0.1], dtype=torch.float64)
    clean = BoundaryIntegralSolver(SQUARE).difference(PRIOR.batch(0, 6), CURRENTS)
    measured = measure(PRIOR, 0, tau)
    basis = torch.linalg.svd(torch.eye(64, dtype=torch.float64) - 1 / 64)[0][:, :63]
    expected = []
    for d in clean:
        total = 0.0
        for part, y in zip(d, measured[0], strict=True):
            variance = (tau * part).square() + (level * y.square().mean().sqrt()).square()
            normal = torch.distributions.MultivariateNormal(
                torch.zeros(63, dtype=torch.float64), basis.mT @ torch.diag(variance) @ basis
            )
            total += float(normal.log_prob(basis.mT @ (y - part)))
        expected.append(total)
    likelihood = Likelihood(measured, torch.tensor([tau], dtype=torch.float64))
    found = likelihood.value(clean[None], level)[0].numpy()
    np.testing.assert_allclose(found - found[0], np.array(expected) - expected[0], rtol=1e-9, atol=1e-9)


def test_its_slope_is_that_of_autograd() -> None:
    likelihood = Likelihood(measure(PRIOR, 0, 0.1), torch.tensor([0.1], dtype=torch.float64))
    data = BoundaryIntegralSolver(SQUARE).difference(PRIOR.batch(0, 3), CURRENTS)[None].requires_grad_()
    level = torch.tensor([0.05], dtype=torch.float64)
    local = likelihood.local(data, level)
    (slope,) = torch.autograd.grad(local.value.sum(), data)
    torch.testing.assert_close(local.slope, slope, rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(local.value, likelihood.value(data, level))


def test_the_truth_explains_the_data_to_their_noise() -> None:
    clean = BoundaryIntegralSolver(SQUARE, 1e-4).difference(PRIOR.batch(0, 64), CURRENTS)
    tau = torch.full((64,), 0.05, dtype=torch.float64)
    misfit = Likelihood(add_noise(clean, tau, seed=3), tau).misfit(clean[:, None])
    assert float(misfit.mean()) == pytest.approx(1.0, abs=0.03)
    assert FLOOR < 0.01


def test_the_derivative_of_the_sketch_is_its_own() -> None:
    """However rough the sketch is: the surface must have the tangents that are used."""
    likelihood = Likelihood(measure(PRIOR, 0, 0.3), torch.tensor([0.3], dtype=torch.float64))
    target = Target.build(SQUARE, CURRENTS, PRIOR, likelihood, 1e-4)
    z, step = COORDINATES.from_rows(rows(12))[None], 1e-5
    particles = target.particles(z)
    for k in (0, 7, 14, 19):
        shift = step * torch.eye(20, dtype=torch.float64)[k]
        up, down = (target.sketch((z + s * shift)[0]) for s in (1, -1))
        change = (up - down) / (2 * step)
        torch.testing.assert_close(particles.jacobian[0, :, k], change, rtol=1e-5, atol=1e-8)
    error = (particles.sketch - particles.data).abs().amax(-1) / particles.data.square().mean(-1).sqrt()
    assert float(error.median()) < 0.04


def test_the_slope_is_that_of_autograd_where_the_sketch_is_good() -> None:
    """One disk far from the boundary, where 16 nodes are enough for eight digits."""
    prior = EllipseSampler(seed=2, count=1, short=(0.2, 0.2), long=(0.2, 0.2))
    likelihood = Likelihood(measure(prior, 4, 0.5), torch.tensor([0.5], dtype=torch.float64))
    target = Target.build(SQUARE, CURRENTS, prior, likelihood, 1e-6)
    target = replace(target, coarse=target.electrodes)
    z, level = torch.tensor([[[0.3, -0.2, 0.1, 0.2, 0.3]]]).double(), torch.tensor([0.2]).double()
    local, scale, step = target.local(target.particles(z), level), prior_scale(target), 1e-5
    for axis in (0, 3, 4):
        along = step * scale * local.axes[..., axis]
        up, down = (target.local(target.particles(z + s * along), level).density for s in (1, -1))
        torch.testing.assert_close((up - down) / (2 * step), local.slope[..., axis], rtol=1e-4, atol=1e-4)


def prior_scale(target: Target) -> Tensor:
    return target.coordinates.precision(CPU).rsqrt()


def test_the_metric_is_the_information_of_the_sketch() -> None:
    likelihood = Likelihood(measure(PRIOR, 0, 0.3), torch.tensor([0.3], dtype=torch.float64))
    target = Target.build(SQUARE, CURRENTS, PRIOR, likelihood, 1e-3)
    level, reach = torch.tensor([0.2], dtype=torch.float64), torch.full((1, 2, 1), 0.3, dtype=torch.float64)
    particles = target.particles(COORDINATES.from_rows(rows(2))[None])
    w = likelihood.weight(level)[0]
    expected = torch.diag(COORDINATES.precision(CPU) / 0.3**2).expand(2, 20, 20).clone()
    for current in range(2):
        known = torch.diag(w[current]) - torch.outer(w[current], w[current]) / w[current].sum()
        jacobian = particles.jacobian[0, :, :, current]
        expected += jacobian @ known @ jacobian.mT
    frame = Frame.build(target, target.local(particles, level), reach)
    force = torch.randn(1, 2, 20, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    found = frame.out(frame.pulled(force))[0]
    torch.testing.assert_close(found, torch.linalg.solve(expected, force[0]))
    # P, which Frame leaves out, is the same everywhere.
    stretch = torch.linalg.slogdet(expected).logabsdet / 2 - COORDINATES.precision(CPU).log().sum() / 2
    torch.testing.assert_close(frame.log_stretch()[0], stretch)


# --- slides


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
        chains = slide(target, chains, likelihood.last, generator, 0.0)
    moved = target.coordinates.rows(chains.particles.z[0])[:, 0]
    assert float((moved - drawn)[:, :2].norm(dim=1).mean()) > 0.7 * float(drawn[:, :2].std(0).norm())
    edge = np.linspace(-half, half, cells + 1)
    for axis, mass in enumerate((weight.reshape(cells, cells).sum(1), weight.reshape(cells, cells).sum(0))):
        total = np.concatenate([[0.0], mass.cumsum(0).numpy()])
        found = stats.kstest(moved[:, axis].numpy(), lambda v, t=total: np.interp(v, edge, t))
        assert found.pvalue > 1e-3
    for k in (2, 3):
        assert stats.kstest(torch.sigmoid(chains.particles.z[0, :, k]), "uniform").pvalue > 1e-3


# --- the sampler


def shaken(target: Target, chains: Chains, level: Tensor, generator: torch.Generator) -> Chains:
    return jump(target, chains, level, generator, shakes(level))


@pytest.mark.parametrize("move", [shaken, slide])
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


def log_likelihood_of_disks(
    likelihood: Likelihood, middle: Tensor, half: float, count: int
) -> tuple[Tensor, Tensor]:
    line = torch.linspace(-half, half, count, dtype=torch.float64)
    centers = middle + torch.cartesian_prod(line, line)
    grid = torch.cat([centers, torch.tensor([0.2, 0.2, 0.0]).double().expand(len(centers), 3)], 1)
    data = solver(32).data(grid[:, None])
    return likelihood.value(data[None], likelihood.last)[0], centers


def wrong_guide() -> Guide:
    torch.manual_seed(0)
    sizes = {"width": 32, "layers": 1, "heads": 2, "hidden": 32, "bins": 8, "tokens": 1, "modes": 8}
    guide = Guide(GuideConfig(ellipses=2, currents=2, boundary=64, flattest=30.0, **sizes))
    torch.nn.init.normal_(guide.heads, std=0.1)
    return guide.eval()


@pytest.mark.parametrize("guide", [None, wrong_guide()], ids=["alone", "guided"])
def test_two_ellipses_against_weighted_draws_of_the_prior(guide: Guide | None) -> None:
    """With much noise the prior's own draws, weighted by the likelihood, are a sample to compare with."""
    prior, tau = EllipseSampler(seed=4, count=2, disjoint=True), 0.5
    measured = measure(prior, 1, tau)
    settings = Settings(32, 3, warmup=4, least=12, most=12, floor=6.0)
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
    with pytest.raises(InputError, match="guide knows"):
        posterior.sample(measure(prior, 1, 0.5), SQUARE, CURRENTS, 0.5, prior, loud, guide=wrong_guide())


def test_a_run_is_a_function_of_its_seed_not_of_the_threads_and_obeys_its_time() -> None:
    prior = EllipseSampler(seed=2, count=1)
    measured = measure(prior, 0, 0.2)[0]
    few = Settings(islands=2, levels=3, warmup=2, least=1, most=3)
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
    hurried = posterior.sample(measured, SQUARE, CURRENTS, 0.2, prior, few, seconds=0.0)
    assert not bool(hurried.diagnostics.converged.any())
    assert hurried.picked(0, 3).shape == (3, 1, 5)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tau": 0.0}, "noise level"),
        ({"prior": EllipseSampler(seed=1)}, "disjoint=True"),
        ({"difference": torch.zeros(2, 64)}, "zero everywhere"),
        ({"difference": torch.ones(3, 64)}, "like the currents"),
        ({"difference": torch.ones(2, 60)}, "corners dropped"),
    ],
)
def test_what_it_refuses(change: dict[str, object], message: str) -> None:
    given = {"difference": torch.rand(2, 64), "tau": 0.1, "prior": PRIOR} | change
    with pytest.raises(InputError, match=message):
        posterior.sample(given["difference"], SQUARE, CURRENTS, given["tau"], given["prior"])


# --- images and diagnostics


def test_the_best_set_beats_every_threshold_of_the_mean() -> None:
    place, weight = rows(40), torch.full((40,), 1 / 40, dtype=torch.float64)
    square = Square(48)
    best = images(square, place, weight, 10.0, 1.0)
    inside = indicator(square, phantoms(place, 10.0, 1.0)).double()
    torch.testing.assert_close(best.mean, inside.mean(0))

    def expected(chosen: Tensor) -> float:
        both = (inside * chosen).sum((1, 2))
        return float((2 * both / (chosen.sum() + inside.sum((1, 2)))).mean())

    assert expected(best.dice.double()) == pytest.approx(best.expected_dice, abs=1e-12)
    assert all(best.expected_dice >= expected((best.mean > c).double()) - 1e-3 for c in np.linspace(0, 1, 50))


def test_the_l2_image_is_best_for_the_relative_error() -> None:
    place, weight = rows(40), torch.full((40,), 1 / 40, dtype=torch.float64)
    square = Square(32)
    best = images(square, place, weight, 10.0, 1.0)
    inside = indicator(square, phantoms(place, 10.0, 1.0)).double()

    def expected(image: Tensor) -> float:
        error = 9 * (image - inside).square().sum((1, 2)).sqrt()
        return float((error / (1 + 9 * inside).square().sum((1, 2)).sqrt()).mean())

    least = expected(best.l2)
    assert least <= expected(best.mean) + 1e-12
    noise = torch.randn(20, *square.shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    assert all(least < expected((best.l2 + 0.02 * n).clamp(0, 1)) for n in noise)


def test_smoothing_never_claims_certainty() -> None:
    found = smoothed(torch.tensor([0.0, 0.5, 1.0], dtype=torch.float64), 99.0)
    torch.testing.assert_close(found, torch.tensor([0.005, 0.5, 0.995], dtype=torch.float64))


def test_islands_that_disagree_are_noticed() -> None:
    draws = torch.randn(2, 4, 400, 3, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    rhat, ess = agreement(draws)
    assert float(rhat.max()) < 1.01
    assert float(ess.min()) > 200
    draws[1, 0, :, 2] += 2.0
    rhat, _ = agreement(draws)
    assert float(rhat[0]) < 1.01
    assert float(rhat[1]) > 1.25


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
