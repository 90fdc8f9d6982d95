"""Minimisation (7): its derivative, its penalties, the discrepancy principle, its images."""

import json
from pathlib import Path

import pytest
import torch

import eitlens as eit
from eitlens.classical import minimisation, penalties
from eitlens.errors import InputError
from eitlens.forward import Field
from eitlens.imaging import METHODS, Options

ROOT = Path(__file__).parents[2]
BODY = eit.Phantom([eit.circle((0.35, 0.2), 0.3)])


def cells(n, seed=0):
    return torch.randn(n, n, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def measured(tau, currents=3):
    square = eit.Square(64)
    data = eit.BoundaryIntegralSolver(square).difference(BODY, eit.currents.cosine(square, currents))
    return eit.Measurement.of_difference(eit.add_noise(data, tau, seed=1))


def problem(n=8, regulariser="tv"):
    prepared = measured(0.05).prepare(minimisation.CurrentsConfig("cosine", 3), 1, eit.Square(200))
    goal = minimisation._Goal(prepared, 0.05, regulariser, (0.01, 100.0), None)
    return minimisation._problem(goal, n)


def test_energies_add_up_to_the_energy_of_the_solver():
    square = eit.Square(8)
    sigma = cells(8).exp()
    g = eit.currents.cosine(square, 2)
    u = eit.GridSolver(square, 1e-12).potential(Field(sigma), g)
    work = square.boundary_weight * square.trace(u) @ g.mT  # ∫ u g = ∫ σ |∇u|²
    found = (minimisation.energies(u, u) * sigma.flatten()).sum(-1)
    torch.testing.assert_close(found, work, rtol=1e-8, atol=1e-10)


def test_the_derivative_is_that_of_the_residual():
    task, x, move = problem(), 0.3 * cells(8), cells(8, 1)
    _, slope = task.linearised(x)
    step = 1e-2  # the solver's tolerance of 1e-4 is divided by it
    quotient = (task.at(x + step * move).residual - task.at(x - step * move).residual) / (2 * step)
    found = slope @ move.flatten()
    assert float((found - quotient).norm() / quotient.norm()) < 2e-2


@pytest.mark.parametrize("kind", ["tv", "h1"])
def test_half_the_slope_of_a_penalty_is_its_matrix_times_the_image(kind):
    x, move, step = cells(6), cells(6, 1), 1e-5
    quotient = (penalties.value(x + step * move, kind) - penalties.value(x - step * move, kind)) / (2 * step)
    assert quotient == pytest.approx(
        2 * float(move.flatten() @ penalties.matrix(x, kind) @ x.flatten()), rel=1e-6
    )


def test_total_variation_is_contrast_times_perimeter():
    n = 64
    x = torch.zeros(n, n, dtype=torch.float64)
    x[16:48, 16:48] = 100.0  # a square of side 1, steep: β does not count
    flat = penalties.value(torch.zeros(n, n, dtype=torch.float64), "tv")
    assert (penalties.value(x, "tv") - flat) / 2 == pytest.approx(400, rel=1e-3)


@pytest.fixture(scope="module")
def free():
    return {kind: eit.minimise(measured(0.05), kind, tau=0.05) for kind in ("tv", "h1")}


@pytest.mark.parametrize("regulariser", ["tv", "h1"])
def test_the_misfit_settles_at_the_noise_and_the_disk_is_found(free, regulariser):
    found = free[regulariser]
    assert found.misfit == pytest.approx(1.0, abs=0.1)
    truth = eit.indicator(eit.Square(200), BODY)
    guess = found.image > 2.2
    assert float(2 * (guess & truth).sum() / (guess.sum() + truth.sum())) > 0.75
    assert float(found.image[0, 0]) == pytest.approx(1.0, abs=0.2)


def test_bounds_hold_and_sharpen_the_image(free):
    told = eit.minimise(measured(0.05), tau=0.05, bounds=(0.9, 11.0))
    assert 0.9 < float(told.image.min()) <= float(told.image.max()) < 11.0
    truth = 1 + 9 * eit.indicator(eit.Square(200), BODY).double()
    assert float((told.image - truth).norm()) < float((free["tv"].image - truth).norm())


def test_more_strength_is_smoother_and_fits_less():
    found = [eit.minimise(measured(0.05), "h1", tau=0.05, strength=alpha, steps=8) for alpha in (1.0, 1000.0)]
    assert found[0].misfit < found[1].misfit
    assert found[0].image.std() > found[1].image.std()
    assert [each.strength for each in found] == [1.0, 1000.0]


def test_a_resistive_body_of_another_conductivity():
    square = eit.Square(64)
    body = eit.Phantom([eit.circle((-0.3, -0.3), 0.3)], (0.1,))
    g = eit.currents.cosine(square, 3)
    data = eit.BoundaryIntegralSolver(square).difference(body, g) / 0.2
    given = eit.Measurement.of_points(square.boundary(), g, data, torch.zeros_like(data), conductivity=0.2)
    found = METHODS["minimise"](given, Options(tau=0.01, n=40))
    assert found.quantity == "conductivity"
    assert float(found.image[14, 14]) < 0.08
    assert float(found.image[35, 35]) == pytest.approx(0.2, rel=0.2)


def test_bad_wishes_are_refused():
    with pytest.raises(InputError, match="bounds"):
        eit.minimise(measured(0.05), bounds=(2.0, 1.0))
    with pytest.raises(InputError, match="leave out --model"):
        METHODS["minimise-h1"](measured(0.05), Options(model="flagship"))
    with pytest.raises(InputError, match="nothing to image"):
        eit.minimise(eit.Measurement.of_difference(torch.zeros(1, 256)), tau=0.1)


def test_the_page_says_what_the_result_file_says():
    kept = json.loads((ROOT / "results" / "minimisation.json").read_text())
    page = (ROOT / "docs" / "minimisation.md").read_text()
    for name, cell in kept["cells"].items():
        count, tau = name[1:].split("_tau")
        for method, found in cell.items():
            dice = sum(found["hard_dice"]) / len(found["hard_dice"])
            assert f"| {count} | {tau} | {method} | {dice:.3f} |" in page
