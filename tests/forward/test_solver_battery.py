"""What every registered solver must do. Nothing here is for any one of them: a new one is tested too."""

from inspect import signature
from itertools import pairwise

import pytest
import torch

from eitlens.dataset.config import SolverConfig
from eitlens.domain import Square
from eitlens.forward import BoundaryIntegralSolver, Solver, currents
from eitlens.forward.automatic import SOLVERS
from eitlens.phantom import Ellipse, Phantom, circle

SHAPES = [Ellipse((0.3, 0.2), (0.15, 0.35), 0.4), circle((-0.4, -0.3), 0.3)]
SQUARE = Square(32)
CURRENTS = currents.trigonometric(SQUARE, 3)

every_solver = pytest.mark.parametrize("name", SOLVERS)


def solver(name: str, n: int = 32) -> Solver:
    exact = "tolerance" not in signature(SOLVERS[name]).parameters
    return SolverConfig(name, None if exact else 1e-11).build(Square(n))


def energy(name: str, inside: float) -> torch.Tensor:
    """The matrix of ∮ g_i (Λ_σ - Λ_σ0) g_j."""
    return SQUARE.h * solver(name).difference(Phantom(SHAPES, inside=inside), CURRENTS) @ CURRENTS.T


@every_solver
def test_no_contrast_no_difference(name):
    found = solver(name).difference(Phantom(SHAPES, inside=2.0, outside=2.0), CURRENTS)
    assert float(found.abs().max()) < 1e-12


@every_solver
def test_reciprocity_and_sign(name):
    for inside, sign in ((10.0, -1), (0.1, 1)):
        form = energy(name, inside)
        assert torch.allclose(form, form.T, atol=1e-3 * float(form.abs().max()))
        assert bool((sign * torch.linalg.eigvalsh((form + form.T) / 2) > 0).all())


@every_solver
def test_a_better_conductor_resists_less(name):
    values = [energy(name, inside).diagonal() for inside in (0.1, 0.5, 2.0, 10.0, 100.0)]
    assert all(bool((after < before).all()) for before, after in pairwise(values))


@every_solver
def test_zero_mean_linear_and_the_same_in_a_batch(name):
    one, other = Phantom(SHAPES), Phantom(SHAPES[:1], inside=5.0)
    both = solver(name).difference([one, other], CURRENTS)
    assert float(both.mean(-1).abs().max()) < 1e-12
    for body, found in ((one, both[0]), (other, both[1])):
        assert torch.allclose(solver(name).difference(body, CURRENTS), found, atol=1e-8)
    mixed = CURRENTS[:1] - 3 * CURRENTS[1:2]
    assert torch.allclose(solver(name).difference(one, mixed), both[0, :1] - 3 * both[0, 1:2], atol=1e-8)


@every_solver
def test_the_declared_order_holds_and_the_last_error_is_small(name):
    """Against the boundary integral equation on 256 cells a side, whose nodes are among those of the coarser loops."""
    body, fine = Phantom(SHAPES), Square(256)
    exact = BoundaryIntegralSolver(fine).difference(body, currents.cosine(fine, 2))
    errors = []
    for n in (16, 64):
        found = solver(name, n).difference(body, currents.cosine(Square(n), 2))
        wanted = exact[:, :: 256 // n]
        errors.append(float((found - wanted).norm() / wanted.norm()))
    slope = torch.tensor(errors[0] / errors[1]).log() / torch.tensor(4.0).log()
    assert float(slope) > solver(name).order - 0.5, errors
    assert errors[-1] < 2e-3
