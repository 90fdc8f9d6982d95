"""Forward map, coordinates and likelihood of the posterior against autograd and dense linear algebra."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from posterior_case import (
    COORDINATES,
    CPU,
    CURRENTS,
    MARGIN,
    PRIOR,
    SQUARE,
    measure,
    prior_scale,
    rows,
    solver,
)
from torch import Tensor

from eitlens.domain import Square
from eitlens.forward import BoundaryIntegralSolver, add_noise, currents
from eitlens.forward.integral.accuracy import node_counts
from eitlens.forward.integral.linearised import LinearisedSolver
from eitlens.forward.integral.outlines import needed_nodes
from eitlens.forward.integral.sources import BoundarySources
from eitlens.phantom import Ellipse, EllipseSampler
from eitlens.phantom.batch import of_rows
from eitlens.posterior.model.coordinates import Coordinates
from eitlens.posterior.model.likelihood import FLOOR, Likelihood
from eitlens.posterior.model.target import Target, _merged
from eitlens.posterior.moves.surface import Frame

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
        return reference.difference(of_rows(Ellipse, values[None], inside, 1.0), CURRENTS)[0]

    exact = torch.autograd.functional.jacobian(data, place[0])
    found = solver(40, inside)(place).jacobian[0]
    torch.testing.assert_close(found, exact.permute(0, 2, 3, 1), rtol=0, atol=1e-7 * float(exact.abs().max()))


@pytest.mark.parametrize(("tolerance", "few"), [(5e-4, 200), (1e-4, 400)])
def test_few_electrodes_and_a_series_for_the_sources_do(tolerance: float, few: int) -> None:
    """At 800 boundary nodes: data and Jacobian against all nodes and all sources."""
    square, place = Square(200), rows(24)
    given = currents.cosine(square, 3)
    cheap = BoundarySources.build(square, given, MARGIN, tolerance)
    exact = replace(BoundarySources.build(square, given, MARGIN, 1e-12), series=None)
    assert (len(cheap.nodes), len(exact.nodes)) == (few, 800)
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
    careful = needed_nodes(SQUARE, of_rows(Ellipse, place, 10.0, 1.0), 1e-3)
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


SMOOTH, ROUGH = currents.cosine(Square(200), 3), currents.arclength(Square(200), 40)[-4:]


def one_ellipse(given: Tensor, tau: float = 0.05) -> Target:
    """The target of one ellipse; nothing is measured."""
    likelihood = Likelihood(given[None], torch.full((1,), tau, dtype=torch.float64))
    prior = EllipseSampler(seed=1, count=1)
    return Target.build(Square(200), given, prior, likelihood, 0.01 * tau)


@pytest.mark.parametrize("given", [SMOOTH, ROUGH], ids=["cosine", "arclength"])
def test_the_tolerance_holds_for_any_currents(given: Tensor) -> None:
    """Against the solver, on other draws than those tried: by the rules alone the rough ones would be 3e-3 off."""
    target = one_ellipse(given)
    z = target.coordinates.draw(64, 2, CPU)
    batch = of_rows(Ellipse, target.coordinates.rows(z), 10.0, 1.0)
    exact = BoundaryIntegralSolver(Square(200), 1e-7).difference(batch, given)
    error = (target.data(z) - exact).abs().amax(-1) / exact.square().mean(-1).sqrt()
    assert float(error.max()) < 5e-4


@pytest.mark.parametrize(("tau", "stride"), [(0.01, 2), (0.05, 4), (0.2, 5)])
def test_smooth_currents_need_no_more_than_the_rules_say(tau: float, stride: int) -> None:
    target = one_ellipse(SMOOTH, tau)
    assert (target.sources.stride, target.tolerance) == (stride, 0.01 * tau)
    assert target.sources.series is not None


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


def test_draws_are_never_the_phantoms_of_the_same_seed() -> None:
    """`eitlens simulate --random 0` and a sampler with seed 0: it must not begin at the answer."""
    z = COORDINATES.draw(4, seed=PRIOR.seed, device=CPU)
    assert float((COORDINATES.rows(z)[:, None] - rows(64)).abs().amax((2, 3)).min()) > 1e-2


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
    target = replace(target, coarse=target.sources)
    z, level = torch.tensor([[[0.3, -0.2, 0.1, 0.2, 0.3]]]).double(), torch.tensor([0.2]).double()
    local, scale, step = target.local(target.particles(z), level), prior_scale(target), 1e-5
    for axis in (0, 3, 4):
        along = step * scale * local.axes[..., axis]
        up, down = (target.local(target.particles(z + s * along), level).density for s in (1, -1))
        torch.testing.assert_close((up - down) / (2 * step), local.slope[..., axis], rtol=1e-4, atol=1e-4)


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


def test_small_groups_are_solved_with_the_next_larger_nodes() -> None:
    sizes = {32: 900, 48: 100, 64: 600, 80: 3, 96: 1}
    counts = torch.cat([torch.full((size,), count) for count, size in sizes.items()])
    merged = _merged(counts)
    assert (merged >= counts).all()
    found = dict(zip(*(part.tolist() for part in torch.unique(merged, return_counts=True)), strict=True))
    assert found == {32: 900, 64: 700, 96: 4}
