"""The Neumann-to-Dirichlet map as an operator."""

import pytest
import torch

from eitlens.domain import Square
from eitlens.forward import BoundaryIntegralSolver, currents
from eitlens.forward.ntd import NeumannToDirichlet, eigenpairs
from eitlens.phantom import EllipseSampler, Phantom

SQUARE = Square(40)
SOLVER = BoundaryIntegralSolver(SQUARE, tolerance=1e-13)
# Four ellipses at least 0.04 apart, as in the paper.
PHANTOM = EllipseSampler(seed=1, disjoint=True).phantom(0)
MAP = NeumannToDirichlet(SOLVER, PHANTOM)
INSULATING = NeumannToDirichlet(SOLVER, Phantom(PHANTOM.shapes, inside=0.1, outside=2.0))


def test_the_matrix_does_what_the_map_does() -> None:
    g = currents.trigonometric(SQUARE, 7)
    for lam in (MAP, INSULATING):
        torch.testing.assert_close(g @ lam.difference_matrix.T, lam.difference(g), rtol=0, atol=1e-12)
        torch.testing.assert_close(g @ lam.matrix.T, lam.apply(g), rtol=0, atol=1e-12)


def test_the_map_is_the_background_and_the_difference() -> None:
    g = currents.cosine(SQUARE, 3)
    background = SQUARE.trace(SQUARE.extend(g)) / 2.0
    torch.testing.assert_close(INSULATING.apply(g), background + INSULATING.difference(g), rtol=0, atol=1e-14)


def test_the_difference_is_symmetric_to_rounding_and_kills_constants() -> None:
    matrix = MAP.difference_matrix
    size = float(matrix.abs().amax())
    assert float((matrix - matrix.T).abs().amax()) < 1e-12 * size
    assert float(matrix.sum(0).abs().amax()) < 1e-11 * size
    assert float(matrix.sum(1).abs().amax()) < 1e-11 * size


@pytest.mark.parametrize(("lam", "sign"), [(MAP, -1), (INSULATING, 1)], ids=["conducting", "insulating"])
def test_eigenvalues_have_the_sign_of_the_contrast_and_fall(lam: NeumannToDirichlet, sign: int) -> None:
    pairs = lam.eigenpairs(30)
    assert bool((pairs.values * sign > 0).all())
    assert bool((pairs.values.abs().diff() <= 0).all())


def test_eigenfunctions_are_orthonormal_and_are_eigenfunctions() -> None:
    values, functions, _ = MAP.eigenpairs(30)
    gram = SQUARE.boundary_weight * functions @ functions.T
    torch.testing.assert_close(gram, torch.eye(30, dtype=torch.float64), rtol=0, atol=1e-12)
    torch.testing.assert_close(MAP.difference(functions), values[:, None] * functions, rtol=0, atol=1e-11)


def test_eigenvalues_decay_like_those_of_the_paper() -> None:
    """Orders of magnitude for four ellipses: 0.3-0.5, 6e-3, 8e-5, 1e-6, 2e-8 at l = 1, 10, 20, 30, 40."""
    values = MAP.eigenpairs(40).values.abs()
    for order, expected in {1: 0.4, 10: 6e-3, 20: 8e-5, 30: 1e-6, 40: 2e-8}.items():
        assert expected / 10 < float(values[order - 1]) < expected * 10


def test_the_floor_is_rounding_for_exact_data() -> None:
    assert 1e-15 < MAP.eigenpairs().floor < 1e-12


def test_the_floor_is_the_size_of_the_noise() -> None:
    noise = torch.randn(160, 160, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    floors = [
        eigenpairs(MAP.difference_matrix + level * noise, SQUARE.boundary_weight).floor
        for level in (1e-8, 1e-5)
    ]
    spectral_norm = float(torch.linalg.matrix_norm((noise - noise.T) / 2, 2))
    assert floors[0] == pytest.approx(1e-8 * spectral_norm, rel=0.5)
    assert floors[1] == pytest.approx(1e-5 * spectral_norm, rel=0.5)


def test_no_inclusion_has_no_eigenvalue_above_the_floor() -> None:
    pairs = NeumannToDirichlet(SOLVER, Phantom([])).eigenpairs()
    assert not bool((pairs.values.abs() > pairs.floor).any())
