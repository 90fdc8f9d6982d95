"""Theorem 1: the Picard sum from the eigenpairs of the Neumann-to-Dirichlet map."""

import pytest
import torch

from eitlens.classical import index_function, picard_sum
from eitlens.domain import Square
from eitlens.errors import InputError
from eitlens.evaluate.metrics import area_under_curve
from eitlens.forward import BoundaryIntegralSolver
from eitlens.forward.ntd import NeumannToDirichlet
from eitlens.phantom import EllipseSampler, Phantom, indicator

SQUARE = Square(80)
PHANTOM = EllipseSampler(seed=1, disjoint=True).phantom(0)
SOLVER = BoundaryIntegralSolver(SQUARE, tolerance=1e-14)
PAIRS = NeumannToDirichlet(SOLVER, PHANTOM).eigenpairs()
TRUTH = indicator(SQUARE, PHANTOM)


def quality(count: int) -> float:
    return area_under_curve(-picard_sum(SQUARE, PAIRS, count), TRUTH)


def test_the_image_gets_better_with_more_eigenpairs() -> None:
    scores = [quality(count) for count in (3, 10, 20, 40, 60)]
    assert scores == sorted(scores)
    assert scores[-1] > 0.92


def test_the_sum_is_bounded_inside_and_grows_outside() -> None:
    few, many = (picard_sum(SQUARE, PAIRS, count) for count in (20, 60))
    growth = many / few
    assert float(growth[TRUTH].median()) < 0.01 * float(growth[~TRUTH].median())


def test_the_papers_form_of_the_sum() -> None:
    """|∇φ_l|²/|λ_l|³ with φ_l the extension of λ_l g_l is |∇ψ_l|²/|λ_l| with ψ_l that of g_l."""
    values, functions, _ = PAIRS
    _, dx, dy = SQUARE.extend_with_gradient(values[:12, None] * functions[:12])
    paper = ((dx.square() + dy.square()) / values[:12, None, None].abs() ** 3).sum(0)
    torch.testing.assert_close(picard_sum(SQUARE, PAIRS, 12), paper)


def test_eigenpairs_below_the_floor_are_left_out() -> None:
    usable = int((PAIRS.values.abs() > PAIRS.floor).sum())
    assert 55 < usable < 160
    torch.testing.assert_close(picard_sum(SQUARE, PAIRS), picard_sum(SQUARE, PAIRS, usable), rtol=0, atol=0)
    torch.testing.assert_close(
        picard_sum(SQUARE, PAIRS, 300), picard_sum(SQUARE, PAIRS, usable), rtol=0, atol=0
    )


def test_an_insulating_inclusion_is_seen_as_well() -> None:
    pairs = NeumannToDirichlet(SOLVER, Phantom(PHANTOM.shapes, inside=0.1)).eigenpairs()
    assert area_under_curve(-picard_sum(SQUARE, pairs, 60), TRUTH) > 0.92


def test_the_index_lies_between_zero_and_one_and_turns_the_order_round() -> None:
    theta = picard_sum(SQUARE, PAIRS, 40)
    index = index_function(theta)
    assert float(index.amin()) >= 0
    assert float(index.amax()) <= 1
    assert area_under_curve(index, TRUTH) == pytest.approx(area_under_curve(-theta, TRUTH), abs=1e-3)


def test_without_rho_a_fraction_of_the_body_lies_above_its_value_there() -> None:
    theta = picard_sum(SQUARE, PAIRS, 40)
    at_rho = float(index_function(torch.ones(1, 1, dtype=torch.float64), rho=1.0))
    for fraction in (0.1, 0.3):
        share = (index_function(theta, fraction=fraction) >= at_rho).double().mean()
        assert float(share) == pytest.approx(fraction, abs=1e-3)


def test_the_index_at_rho() -> None:
    """I = 1 - (2/π) arctan(πε/2) where Θ = ρ, which is 1 - ε + O(ε³)."""
    index = index_function(torch.tensor([[2.0]], dtype=torch.float64), epsilon=0.01, rho=2.0)
    assert float(index) == pytest.approx(0.99, abs=1e-5)


def test_no_inclusion_is_an_error() -> None:
    pairs = NeumannToDirichlet(SOLVER, Phantom([])).eigenpairs()
    with pytest.raises(
        InputError, match=r"^no eigenvalue stands above the noise floor: is there an inclusion at all\?$"
    ):
        picard_sum(SQUARE, pairs)


@pytest.mark.parametrize(("epsilon", "rho"), [(0.0, 1.0), (1.0, 1.0), (0.1, 0.0), (0.1, -1.0)])
def test_the_indexs_parameters(epsilon: float, rho: float) -> None:
    with pytest.raises(InputError, match=r"^expected 0 < epsilon < 1 and rho > 0, got .*$"):
        index_function(torch.ones(2, 2, dtype=torch.float64), epsilon, rho)
