"""The complete electrode model on the disk: a closed form, an independent method, limits and symmetries."""

import math

import numpy as np
import pytest
import torch
from scipy.special import ellipk, spherical_jn
from torch import Tensor

from eitlens.domain import Disk, Square
from eitlens.electrodes import CompleteElectrodeSolver, Electrodes
from eitlens.errors import InputError
from eitlens.forward import BoundaryIntegralSolver
from eitlens.phantom import Ellipse, Phantom, circle

OFF_CENTRE = Phantom([Ellipse((0.3, 0.2), (0.2, 0.4), 0.3)], 10.0)


def solver(electrodes: Electrodes, points: int = 16, nodes: int = 128) -> CompleteElectrodeSolver:
    return CompleteElectrodeSolver(BoundaryIntegralSolver(Disk(4, nodes)), electrodes, points)


def neighbours(count: int) -> Tensor:
    """In at each electrode, out at the next."""
    eye = torch.eye(count, dtype=torch.float64)
    return eye[:-1] - eye[1:]


@pytest.mark.parametrize("coverage", [0.1, 0.5, 0.9])
def test_perfect_contact_of_two_electrodes(coverage: float) -> None:
    """The disk with two opposite arcs of half angle α is a rectangle: its resistance is K(cos α) / K(sin α)."""
    found = solver(Electrodes(2, coverage, 1e-14)).background(neighbours(2))
    k = math.sin(math.pi * coverage / 2)
    expected = ellipk(1 - k**2) / ellipk(k**2)
    assert float(found[0, 0] - found[0, 1]) == pytest.approx(expected, rel=1e-9)


def galerkin(electrodes: Electrodes, currents: Tensor, radius: float, sigma: float) -> Tensor:
    """Another method: Legendre polynomials on the electrodes, Λ of a concentric disk by its Fourier series.

    Λ cos kθ = μ_k cos kθ / k, and ∫ P_j(t) exp(-ikht) dt = 2 (-i)^j j_j(kh), j_j the spherical Bessel function.
    """
    degrees, waves, half = np.arange(20), np.arange(1, 20_001), electrodes.width / 2
    mu = (1 - sigma) / (1 + sigma) * radius ** (2.0 * waves)
    shape = np.stack([2 * half * (-1j) ** j * spherical_jn(j, waves * half) for j in degrees])
    turn = np.exp(-1j * np.outer(electrodes.centers().numpy(), waves))
    parts = (turn[:, None] * shape).reshape(-1, len(waves))
    matrix = ((parts * ((1 + mu) / (1 - mu) / waves)) @ parts.conj().T).real / np.pi
    matrix += np.diag(np.tile(electrodes.impedance * 2 * half / (2 * degrees + 1), electrodes.count))
    sums = np.kron(np.eye(electrodes.count), 2 * half * (degrees == 0)[:, None])
    found = np.linalg.solve(sums.T @ np.linalg.solve(matrix, sums), currents.numpy().T).T
    return torch.tensor(found - found.mean(-1, keepdims=True))


@pytest.mark.parametrize(("impedance", "bar"), [(1.0, 1e-7), (0.1, 1e-6), (0.01, 2e-5)])
def test_against_another_method(impedance: float, bar: float) -> None:
    electrodes, currents = Electrodes(6, 0.4, impedance, first=0.2), neighbours(6)
    model = solver(electrodes, points=32)
    for radius, sigma in ((0.6, 10.0), (0.5, 0.1)):
        expected = galerkin(electrodes, currents, radius, sigma)
        found = model.voltages(Phantom([circle((0, 0), radius)], sigma), currents)
        assert float((found - expected).abs().max() / expected.abs().max()) < bar


def test_the_error_falls_like_the_fourth_power_of_the_points() -> None:
    electrodes, currents = Electrodes(8, 0.5, 0.1), neighbours(8)
    exact = solver(electrodes, 64).background(currents)
    errors = [float((solver(electrodes, m).background(currents) - exact).abs().max()) for m in (8, 16, 32)]
    assert errors[0] > 15 * errors[1] > 15**2 * errors[2]
    assert errors[2] < 1e-6


def test_few_points_are_enough_at_good_contact() -> None:
    electrodes, currents = Electrodes(32, 0.5, 1e-6), neighbours(32)
    coarse, fine = (solver(electrodes, m).background(currents) for m in (16, 64))
    assert float((coarse - fine).abs().max() / fine.abs().max()) < 2e-5


@pytest.mark.parametrize("impedance", [1e-4, 3e-4, 1e-3])
def test_the_worst_contact_for_sixteen_points(impedance: float) -> None:
    for count in (8, 16):
        electrodes, currents = Electrodes(count, 0.5, impedance), neighbours(count)
        coarse, fine = (solver(electrodes, m).background(currents) for m in (16, 64))
        assert 5e-5 < float((coarse - fine).abs().max() / fine.abs().max()) < 5e-4


def test_the_voltages_are_reciprocal_and_turn_with_the_body() -> None:
    model, currents = solver(Electrodes(8, 0.5, 0.01), nodes=256), neighbours(8)
    found = model.voltages(OFF_CENTRE, currents)
    transfer = currents @ found.T
    torch.testing.assert_close(transfer, transfer.T, rtol=0, atol=1e-9)
    torch.testing.assert_close(found.mean(-1), torch.zeros(7, dtype=torch.float64), rtol=0, atol=1e-14)
    (ellipse,) = OFF_CENTRE.shapes
    c, s = math.cos(math.pi / 4), math.sin(math.pi / 4)
    x, y = ellipse.center
    turned = Ellipse((c * x - s * y, s * x + c * y), ellipse.semi_axes, ellipse.angle + math.pi / 4)
    other = model.voltages(Phantom([turned], 10.0), currents.roll(1, 1))
    torch.testing.assert_close(other, found.roll(1, 1), rtol=0, atol=1e-9)


def test_conductivity_outside_bad_contact_and_no_contrast() -> None:
    currents = neighbours(4)
    one, two = (solver(Electrodes(4, 0.5, z)) for z in (0.1, 0.2))
    torch.testing.assert_close(one.background(currents, 2.0), two.background(currents) / 2)
    bad = Electrodes(4, 0.5, 1e4)
    torch.testing.assert_close(
        solver(bad).background(currents), currents * bad.impedance / bad.width, rtol=1e-3, atol=0.01 * 1e4
    )
    none = Phantom([circle((0.2, 0.3), 0.3)], 1.0)
    torch.testing.assert_close(one.voltages(none, currents), one.background(currents))


def test_a_batch_equals_its_members() -> None:
    model, currents = solver(Electrodes(4)), neighbours(4)
    bodies = [OFF_CENTRE, Phantom([circle((-0.2, 0.1), 0.3)], 0.1, outside=2.0)]
    found = model.difference(bodies, currents)
    for one, body in zip(found, bodies, strict=True):
        torch.testing.assert_close(one, model.difference(body, currents))
        empty = model.background(currents, float(body.outside))
        torch.testing.assert_close(one, model.voltages(body, currents) - empty)


def test_what_cannot_be() -> None:
    for wrong in ({"count": 1}, {"coverage": 1.0}, {"impedance": -1.0}):
        with pytest.raises(InputError, match="Electrodes need count >= 2"):
            Electrodes(**wrong)
    with pytest.raises(InputError, match="needs a solver on a Disk, got one on a Square"):
        CompleteElectrodeSolver(BoundaryIntegralSolver(Square(8)), Electrodes())
    with pytest.raises(InputError, match="at least 2 points"):
        solver(Electrodes(4), points=1)
    model = solver(Electrodes(4))
    with pytest.raises(InputError, match=r"expected \(currents, 4\) totals"):
        model.background(neighbours(5))
    with pytest.raises(InputError, match=r"expected \(currents, 4\) totals"):
        model.voltages(OFF_CENTRE, neighbours(4)[:0])
    with pytest.raises(InputError, match="currents: 4 of 4 values are NaN"):
        model.voltages(OFF_CENTRE, torch.full((1, 4), torch.nan, dtype=torch.float64))
    with pytest.raises(InputError, match="zero sum"):
        model.background(torch.ones(1, 4, dtype=torch.float64))
