"""Refinement with a conductivity of its own for each inclusion finds contrasts that the image had wrong."""

import pytest
import torch

from eitlens.domain import Square
from eitlens.forward import BoundaryIntegralSolver, add_noise
from eitlens.forward.currents import CurrentsConfig
from eitlens.imaging.misfit import Simulation, relative_misfit
from eitlens.imaging.reconstruction import Phases
from eitlens.imaging.refine import Problem
from eitlens.imaging.refine.phases import refine_phases
from eitlens.phantom import Ellipse, Phantom
from eitlens.phantom.raster import classes, conductivity

SQUARE, TAU = Square(64), 0.01
TRUTH = Phantom([Ellipse((-0.4, 0.3), (0.2, 0.3), 0.4), Ellipse((0.4, -0.2), (0.15, 0.35), 1.0)], [0.2, 5.0])
GUESS = Phantom(
    [Ellipse((-0.37, 0.28), (0.22, 0.27), 0.2), Ellipse((0.38, -0.24), (0.18, 0.33), 0.9)], [0.4, 3.0]
)


def phases(phantom: Phantom) -> Phases:
    log_sigma = conductivity(SQUARE, phantom).log()
    kinds = classes(log_sigma)
    sure = torch.stack([(kinds == k).double() for k in range(3)])
    return Phases(0.94 * sure + 0.02, log_sigma, torch.full_like(log_sigma, 0.3))


@pytest.fixture(scope="module")
def problem() -> Problem:
    known = CurrentsConfig(count=3)
    data = BoundaryIntegralSolver(SQUARE, 1e-6).difference(TRUTH, known.build(SQUARE))
    noisy = add_noise(data, TAU, seed=1)
    return Problem(Simulation(known, SQUARE), noisy, torch.ones_like(noisy, dtype=torch.bool), TAU, 10.0)


def test_it_finds_the_contrasts_of_a_resistive_and_a_conductive_ellipse(problem):
    start = phases(GUESS)
    before = relative_misfit(problem.simulate.conductivity(start.log_sigma), problem.data, problem.seen)
    found, change = refine_phases(problem, start, before, 6)
    assert change.steps > 2
    assert change.misfit_after < 0.1 * before
    truth = conductivity(SQUARE, TRUTH).log()
    for kind in (1, 2):
        inside = classes(truth) == kind
        miss = float((found.log_sigma[inside] - truth[inside]).mean().abs())
        assert miss < 0.25
        assert miss < 0.5 * float((start.log_sigma[inside] - truth[inside]).mean().abs())
        assert float((found.classes == kind)[inside].double().mean()) > 0.95
    total = found.probabilities.sum(0)
    torch.testing.assert_close(total, torch.ones_like(total))


def test_an_empty_image_is_kept(problem):
    start = phases(Phantom([]))
    found, change = refine_phases(problem, start, 1.0, 3)
    assert found is start
    assert change.steps == 0
