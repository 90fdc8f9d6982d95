"""The complete electrode model on the disk: a closed form, an independent method, limits and symmetries."""

import math

import numpy as np
import pytest
import torch
from scipy.special import ellipk, spherical_jn
from torch import Tensor

from eitlens.domain import Disk, Square
from eitlens.electrodes import CompleteElectrodeSolver, Electrodes, EmptyTank, empty_tank, even_resistance
from eitlens.errors import InputError
from eitlens.forward import BoundaryIntegralSolver
from eitlens.phantom import Ellipse, Phantom, PhantomBatch, circle, stack

OFF_CENTRE = Phantom([Ellipse((0.3, 0.2), (0.2, 0.4), 0.3)], 10.0)


def solver(electrodes: Electrodes, points: int = 16, nodes: int = 128) -> CompleteElectrodeSolver:
    return CompleteElectrodeSolver(BoundaryIntegralSolver(Disk(4, nodes)), electrodes, points)


def even(*settings: float, **named: float) -> Electrodes:
    """Even electrodes on the disk: count, coverage, impedance."""
    return Electrodes.even(Disk(4, 128), *settings, **named)


def neighbours(count: int) -> Tensor:
    """In at each electrode, out at the next."""
    eye = torch.eye(count, dtype=torch.float64)
    return eye[:-1] - eye[1:]


@pytest.mark.parametrize("coverage", [0.1, 0.5, 0.9])
def test_perfect_contact_of_two_electrodes(coverage: float) -> None:
    """The disk with two opposite arcs of half angle α is a rectangle: its resistance is K(cos α) / K(sin α)."""
    found = solver(even(2, coverage, 1e-14)).background(neighbours(2))
    k = math.sin(math.pi * coverage / 2)
    expected = ellipk(1 - k**2) / ellipk(k**2)
    assert float(found[0, 0] - found[0, 1]) == pytest.approx(expected, rel=1e-9)


def galerkin(layout: tuple[Tensor, Tensor, Tensor], radius: float, sigma: float) -> Tensor:
    """Another method: Legendre polynomials on the electrodes, Λ of a concentric disk by its Fourier series.

    Λ cos kθ = μ_k cos kθ / k, and ∫ P_j(t) exp(-ikht) dt = 2 (-i)^j j_j(kh), j_j the spherical Bessel function.
    Returns R of U = R I; the layout is angles, half widths and impedances.
    """
    angles, halves, contact = (part.numpy() for part in layout)
    degrees, waves = np.arange(20), np.arange(1, 20_001)
    mu = ((1 - sigma) / (1 + sigma) if sigma < math.inf else -1) * radius ** (2.0 * waves)
    parts = np.concatenate(
        [
            np.stack([2 * h * (-1j) ** j * spherical_jn(j, waves * h) for j in degrees])
            * np.exp(-1j * a * waves)
            for a, h in zip(angles, halves, strict=True)
        ]
    )
    matrix = ((parts * ((1 + mu) / (1 - mu) / waves)) @ parts.conj().T).real / np.pi
    matrix += np.diag(
        np.concatenate([z * 2 * h / (2 * degrees + 1) for h, z in zip(halves, contact, strict=True)])
    )
    sums = np.zeros((len(matrix), len(angles)))
    sums[:: len(degrees)] = np.diag(2 * halves)
    centred = np.eye(len(angles)) - 1 / len(angles)
    return torch.tensor(centred @ np.linalg.inv(sums.T @ np.linalg.solve(matrix, sums)) @ centred)


def arcs(electrodes: Electrodes) -> tuple[Tensor, Tensor, Tensor]:
    return electrodes.places, electrodes.widths / 2, electrodes.impedance


UNEVEN = (
    torch.tensor([0.1, 1.0, 2.3, 3.0, 4.4, 5.5], dtype=torch.float64),
    torch.tensor([0.2, 0.3, 0.25, 0.1, 0.4, 0.2], dtype=torch.float64),
    torch.tensor([0.5, 0.1, 1.0, 0.2, 0.3, 0.05], dtype=torch.float64),
)


@pytest.mark.parametrize(("impedance", "bar"), [(1.0, 1e-7), (0.1, 1e-6), (0.01, 2e-5)])
def test_against_another_method(impedance: float, bar: float) -> None:
    electrodes, currents = even(6, 0.4, impedance, first=0.2), neighbours(6)
    model = solver(electrodes, points=32)
    for radius, sigma in ((0.6, 10.0), (0.5, 0.1)):
        expected = currents @ galerkin(arcs(electrodes), radius, sigma)
        found = model.voltages(Phantom([circle((0, 0), radius)], sigma), currents)
        assert float((found - expected).abs().max() / expected.abs().max()) < bar


@pytest.mark.parametrize("sigma", [0.0, 0.1, 10.0, math.inf])
def test_electrodes_each_of_their_own_against_another_method(sigma: float) -> None:
    tank = empty_tank(*UNEVEN, count=24, points=24)
    body = BoundaryIntegralSolver(Disk(4)).modes(Phantom([circle((0, 0), 0.6)], sigma), 24)
    found, expected = tank.resistance + tank.change(body), galerkin(UNEVEN, 0.6, sigma)
    assert float((found - expected).abs().max() / expected.abs().max()) < 1e-6


@pytest.mark.parametrize("impedance", [0.0, 1e-7, 1e-5, 1e-3, 0.1, 10.0])
def test_sixteen_points_are_enough_at_any_contact(impedance: float) -> None:
    """An empty body and a perfect conductor close to the boundary."""
    body = Phantom([circle((0.6, 0.1), 0.3)], math.inf)
    for count, coverage in ((4, 0.3), (16, 0.5), (32, 0.63)):
        electrodes, currents = even(count, coverage, impedance), neighbours(count)
        coarse, fine = (solver(electrodes, m, 256) for m in (16, 40))
        for name in ("background", "difference"):
            arguments = (currents,) if name == "background" else (body, currents)
            one, other = (getattr(model, name)(*arguments) for model in (coarse, fine))
            assert float((one - other).abs().max() / other.abs().max()) < 2e-5


def test_perfect_contact_is_the_limit_of_a_good_one() -> None:
    currents = neighbours(8)
    perfect, good = (solver(even(8, 0.5, z)).difference(OFF_CENTRE, currents) for z in (0.0, 1e-10))
    torch.testing.assert_close(perfect, good, rtol=0, atol=1e-8)


@pytest.mark.parametrize(
    ("gap", "waves", "bar"), [(0.3, 16, 3e-4), (0.1, 32, 1e-3), (0.05, 32, 5e-3), (0.05, 64, 1e-4)]
)
def test_few_waves_are_enough(gap: float, waves: int, bar: float) -> None:
    """For a perfect conductor so far away from the electrodes."""
    body, currents = Phantom([circle((0.8 - gap, 0.0), 0.2)], math.inf), neighbours(32)
    electrodes, map_ = even(32, 0.6, 1e-4), BoundaryIntegralSolver(Disk(4, 512), nodes=256)
    few, many = (
        CompleteElectrodeSolver(map_, electrodes, waves=k).difference(body, currents) for k in (waves, 180)
    )
    assert float((few - many).norm() / many.norm()) < bar


def test_many_layouts_at_once() -> None:
    angles, halves, contact = UNEVEN
    layouts = [
        torch.stack(pair) for pair in ((angles, angles + 0.1), (halves, halves / 2), (contact, 0 * contact))
    ]
    bodies = BoundaryIntegralSolver(Disk(4)).modes([OFF_CENTRE, Phantom([circle((0, 0.2), 0.3)], 0.0)], 12)
    together = empty_tank(*layouts, count=12)
    for k in range(2):
        alone = empty_tank(*(part[k] for part in layouts), count=12)
        torch.testing.assert_close(together.resistance[k], alone.resistance)
        torch.testing.assert_close(together.change(bodies)[k], alone.change(bodies[k]))
        torch.testing.assert_close(alone.change(bodies)[k], alone.change(bodies[k]))


def test_differentiable_in_the_electrodes_and_in_the_body() -> None:
    body = BoundaryIntegralSolver(Disk(4), nodes=32).modes(OFF_CENTRE, 3)

    def resistances(angles: Tensor, halves: Tensor, contact: Tensor, body: Tensor) -> Tensor:
        tank = empty_tank(angles, halves, contact, 3, points=6)
        return tank.resistance + tank.change(body)

    given = tuple(part[:3].clone().requires_grad_() for part in UNEVEN)
    assert torch.autograd.gradcheck(
        resistances, (*given, body.clone().requires_grad_()), rtol=1e-4, atol=1e-7
    )


def test_a_slope_in_the_conductivity_around() -> None:
    model, currents = solver(even(4, 0.5, 0.1)), neighbours(4)
    outside = torch.tensor([2.0], dtype=torch.float64, requires_grad=True)
    batch = stack([OFF_CENTRE])
    model.voltages(PhantomBatch(batch.groups, outside), currents).square().sum().backward()

    def energy(sigma: float) -> float:
        return float(
            model.voltages(PhantomBatch(batch.groups, torch.tensor([sigma], dtype=torch.float64)), currents)
            .square()
            .sum()
        )

    assert outside.grad is not None
    assert float(outside.grad) == pytest.approx((energy(2.0001) - energy(1.9999)) / 2e-4, rel=1e-6)


def test_an_empty_tank_needs_no_body() -> None:
    tank = empty_tank(*arcs(even(4)), count=2)
    assert isinstance(tank, EmptyTank)
    currents = neighbours(4)
    torch.testing.assert_close(currents @ tank.resistance, solver(even(4)).background(currents))
    nothing = solver(even(4)).difference(Phantom([]), currents)
    assert float(nothing.abs().max()) == 0.0


def test_the_voltages_are_reciprocal_and_turn_with_the_body() -> None:
    model, currents = solver(even(8, 0.5, 0.01), nodes=256), neighbours(8)
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
    one, two = (solver(even(4, 0.5, z)) for z in (0.1, 0.2))
    torch.testing.assert_close(one.background(currents, 2.0), two.background(currents) / 2)
    bad = even(4, 0.5, 1e4)
    torch.testing.assert_close(
        solver(bad).background(currents),
        currents * bad.impedance[0] / bad.widths[0],
        rtol=1e-3,
        atol=0.01 * 1e4,
    )
    none = Phantom([circle((0.2, 0.3), 0.3)], 1.0)
    torch.testing.assert_close(one.voltages(none, currents), one.background(currents))


def test_a_batch_equals_its_members() -> None:
    model, currents = solver(even(4)), neighbours(4)
    bodies = [OFF_CENTRE, Phantom([circle((-0.2, 0.1), 0.3)], 0.1, outside=2.0)]
    found = model.difference(bodies, currents)
    for one, body in zip(found, bodies, strict=True):
        torch.testing.assert_close(one, model.difference(body, currents))
        empty = model.background(currents, float(body.outside))
        torch.testing.assert_close(one, model.voltages(body, currents) - empty)


def test_what_cannot_be() -> None:
    for wrong in ({"count": 1}, {"coverage": 1.0}):
        with pytest.raises(InputError, match="Electrodes need 2 <= count"):
            even(**wrong)
    with pytest.raises(InputError, match=r"square.*disk"):
        CompleteElectrodeSolver(BoundaryIntegralSolver(Square(8)), even())
    with pytest.raises(InputError, match="at least 2 points"):
        solver(even(4), points=1)
    model = solver(even(4))
    with pytest.raises(InputError, match=r"expected \(currents, 4\) totals"):
        model.background(neighbours(5))
    with pytest.raises(InputError, match=r"expected \(currents, 4\) totals"):
        model.voltages(OFF_CENTRE, neighbours(4)[:0])
    with pytest.raises(InputError, match="currents: 4 of 4 "):
        model.voltages(OFF_CENTRE, torch.full((1, 4), torch.nan, dtype=torch.float64))
    with pytest.raises(InputError, match="zero sum"):
        model.background(torch.ones(1, 4, dtype=torch.float64))


@pytest.mark.parametrize(
    ("count", "half_width", "impedance"), [(32, 0.06, 1e-4), (16, 0.1, 0.0), (7, 0.2, 1e-6)]
)
def test_even_electrodes_by_their_symmetry(count: int, half_width: float, impedance: float) -> None:
    angles = torch.arange(count, dtype=torch.float64) * (2 * math.pi / count)
    equal = (torch.full_like(angles, value) for value in (half_width, impedance))
    whole = empty_tank(angles, *equal, count=1).resistance
    found = even_resistance(count, half_width, impedance)
    assert float((found - whole).abs().max()) < 1e-12 * float(whole.abs().max())
