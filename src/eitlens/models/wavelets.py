"""Multiwavelets of Alpert (1993): piecewise polynomials of degree below k on [0, 1], on every dyadic scale.

The orthonormal Legendre polynomials φ_i of degree i < k span the coarse scale. On the two halves of the
interval, √2 φ_j(2x) and √2 φ_j(2x−1) span the fine scale, twice as many, and contain the coarse one: φ_i = √2
Σ_j H0_ij φ_j(2x) + H1_ij φ_j(2x−1). The multiwavelets ψ_i, an orthonormal basis of the rest, have
coefficients G0, G1 in the same way. So [H0 H1; G0 G1] is orthogonal, H takes averages and G details, and the
transpose puts them together again.
"""

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.float64]

TINY = 1e-8  # entries of the filters below this are rounding


def legendre(x: Matrix, k: int) -> Matrix:
    """φ_i(x) = √(2i+1) P_i(2x−1), i < k, as (k, points)."""
    values = np.polynomial.legendre.legvander(2 * x - 1, k - 1).T
    return np.asarray(values * np.sqrt(2 * np.arange(k) + 1)[:, None])


def averages(k: int) -> Matrix:
    """[H0 H1], (k, 2k): H0_ij = ∫ φ_i(x/2) φ_j(x) dx / √2, with (x+1)/2 for H1; exact by Gauss' rule."""
    nodes, weights = np.polynomial.legendre.leggauss(k)
    x, w = (nodes + 1) / 2, weights / 2
    fine = (legendre(x, k) * w).T
    halves = [legendre((x + half) / 2, k) @ fine for half in (0, 1)]
    return np.asarray(np.hstack(halves) / np.sqrt(2))


def details(k: int) -> Matrix:
    """[G0 G1], (k, 2k): Gram and Schmidt's method on the fine functions of the left half."""
    basis = [*averages(k)]
    for unit in np.eye(k, 2 * k):
        rest = unit - sum(np.dot(unit, row) * row for row in basis)
        rest = rest - sum(np.dot(rest, row) * row for row in basis)
        basis.append(rest / np.linalg.norm(rest))
    return np.array(basis[k:])


def stencils(one_dimensional: Matrix) -> Matrix:
    """Square a filter for two dimensions, as a 2 × 2 stencil of stride 2: (k², k², 2, 2)."""
    k = one_dimensional.shape[0]
    halves = [one_dimensional[:, :k], one_dimensional[:, k:]]
    stencil = np.array([[np.kron(a, b) for b in halves] for a in halves])
    return np.where(np.abs(stencil) < TINY, 0, stencil).transpose(2, 3, 0, 1)
