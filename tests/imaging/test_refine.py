"""The fine-tuning lowers the misfit and comes nearer to the truth; where it cannot, it leaves the image alone."""

import pytest
import torch

from eitlens.domain import Square
from eitlens.evaluate.metrics import hard_dice
from eitlens.forward import BoundaryIntegralSolver, add_noise, currents
from eitlens.forward.currents import CurrentsConfig
from eitlens.imaging.misfit import Simulation
from eitlens.imaging.refine import Problem, ellipses, refine
from eitlens.phantom import Ellipse, Phantom, indicator, level_set

TRUTH = Phantom([Ellipse((0.3, -0.2), (0.2, 0.35), 0.5), Ellipse((-0.4, 0.4), (0.25, 0.15), 0.2)])
GUESS = Phantom([Ellipse((0.26, -0.25), (0.24, 0.3), 0.6), Ellipse((-0.43, 0.36), (0.2, 0.19), 0.0)])


def blurred(square, phantom: Phantom) -> torch.Tensor:
    return torch.sigmoid(-4 * level_set(square, phantom).clamp(-2, 2))


def problem(difference, tau: float) -> Problem:
    data = add_noise(difference, tau, seed=3)
    seen = torch.ones_like(data, dtype=torch.bool)
    return Problem(
        Simulation(CurrentsConfig("cosine", 3), Square(data.shape[-1] // 4)), data, seen, tau, 10.0
    )


def dice(image, square) -> float:
    return float(hard_dice(torch.logit(image, 1e-6)[None], indicator(square, TRUTH).double()[None]))


@pytest.fixture(scope="module")
def refined(square, difference):
    """The guess after six steps, by the noise of the data."""
    image = blurred(square, GUESS)

    def one(tau: float):
        task = problem(difference, tau)
        return refine(task, image, task.misfit(task.simulate.image(torch.logit(image), 10.0)), 6)

    return {tau: one(tau) for tau in (0.0, 0.05)}


@pytest.mark.parametrize(("tau", "better"), [(0.0, 0.97), (0.05, 0.93)])
def test_it_comes_nearer_to_the_truth(square, difference, refined, tau, better):
    task, image = problem(difference, tau), blurred(square, GUESS)
    before = task.misfit(task.simulate.image(torch.logit(image), 10.0))
    found, change = refined[tau]
    assert change.steps > 0
    assert change.misfit_after < change.misfit_before == before
    assert change.misfit_after < 1.1 * tau + 0.01
    assert dice(image, square) < 0.9 < better < dice(found, square)
    assert 0 <= float(found.min()) <= float(found.max()) <= 1
    assert change.contrast is None


@pytest.mark.parametrize(("contrast", "off"), [(7.0, 0.15), (2.0, 0.3)])
def test_another_contrast_shows(square, contrast, off):
    """Inclusions of another contrast, fitted as ten times as conductive as the body: the data ask for less."""
    body = Phantom(TRUTH.shapes, contrast)
    data = BoundaryIntegralSolver(square).difference(body, currents.cosine(square, 3))
    _, change = refine(problem(data, 0.02 if contrast > 5 else 0.005), blurred(square, GUESS), 1.0, 6)
    assert change.contrast == pytest.approx(contrast, rel=off)


def test_a_body_without_inclusions_is_left_alone(square, difference):
    image = torch.full(square.shape, 0.1, dtype=torch.float64)
    found, change = refine(problem(difference, 0.0), image, 1.0, 3)
    assert found is image
    assert (change.steps, change.misfit_after) == (0, 1.0)
    assert "not like ellipses" in change.reason


def test_an_image_that_explains_the_data_better_is_kept(square, difference):
    image = blurred(square, GUESS)
    found, change = refine(problem(difference, 0.0), image, 1e-9, 1)
    assert found is image
    assert "no better" in change.reason


def test_what_the_ellipses_leave_unexplained_keeps_half_of_the_image(square, difference, refined):
    """One step is not enough for clean data; six are."""
    image = blurred(square, GUESS)
    once, _ = refine(problem(difference, 0.0), image, 1.0, 1)
    assert (once - image).abs().max() <= 0.5 < (refined[0.0][0] - image).abs().max()


def test_a_model_on_the_fine_grid_is_near_the_exact_one(square, difference):
    rows = torch.tensor([[*e.center, *e.semi_axes, e.angle] for e in TRUTH.shapes], dtype=torch.float64)
    rows[:, 2:4] = rows[:, 2:4].log()
    task = problem(difference, 0.0)
    fine, coarse = task.misfit(task.model(rows)), task.misfit(task.simulate(TRUTH))
    assert fine < 6e-4
    assert fine < coarse


def test_two_that_touch_are_found_as_two(square):
    pair = Phantom([Ellipse((-0.2, 0.0), (0.3, 0.12), 0.8), Ellipse((0.2, 0.05), (0.12, 0.35), 0.1)])
    rows = ellipses.find(blurred(square, pair), square)
    assert rows is not None
    inside = ellipses.depth(rows, square.nodes().flatten(0, 1)) > 0
    truth = indicator(square, pair).flatten()
    assert len(rows) >= 2
    assert float((inside & truth).sum() / (inside | truth).sum()) > 0.93
