"""Chebyshev's iteration against LU, on the matrices of the boundary integral method."""

import pytest
import torch

from eitlens.domain import Square
from eitlens.forward import currents
from eitlens.forward.integral.chebyshev import Iterated
from eitlens.forward.integral.linearised import LinearisedSolver, _Factorised
from eitlens.forward.integral.sources import BoundarySources
from eitlens.phantom import EllipseSampler
from eitlens.posterior.model.coordinates import Coordinates

SQUARE = Square(32)
PRIOR = EllipseSampler(seed=3, disjoint=True)


@pytest.mark.parametrize("inside", [10.0, 0.2, 60.0])
def test_data_and_derivative_are_those_of_lu(monkeypatch: pytest.MonkeyPatch, inside: float) -> None:
    sources = BoundarySources.build(SQUARE, currents.cosine(SQUARE, 2), 1 - PRIOR.extent, 1e-6)
    solver = LinearisedSolver(SQUARE, sources, inside, 1.0, 64)
    rows = Coordinates(PRIOR).rows(Coordinates(PRIOR).draw(12, 1, torch.device("cpu")))
    exact = solver(rows)
    ratio = (inside + 1) / (2 * (inside - 1))
    half = 0.5 if ratio > 0 else -0.5

    def iterated(self: LinearisedSolver, matrix: torch.Tensor) -> _Factorised | Iterated:
        eigenvalues = torch.linalg.eigvals(matrix).real
        assert ((eigenvalues / half > 0) & (eigenvalues.abs() < abs(ratio) + 0.501)).all()
        return Iterated(matrix, ratio - half, ratio + half)

    monkeypatch.setattr(LinearisedSolver, "_inverse", iterated)
    found = solver(rows)
    for one, other in zip(found, exact, strict=True):
        assert float((one - other).abs().max()) < 1e-5 * float(other.abs().max())
