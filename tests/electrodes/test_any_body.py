"""The exact electrode model on other bodies than the disk: conformal invariance, reciprocity, other methods."""

import math

import pytest
import torch
from scipy.special import ellipk

from eitlens.domain import Disk, Domain, Square, bodies
from eitlens.electrodes import CompleteElectrodeSolver, Electrodes, Pattern, simulate_readings
from eitlens.forward import BoundaryIntegralSolver, ElementElectrodeSolver
from eitlens.phantom import Ellipse, Phantom, circle

BODIES = [bodies.ellipse(0.2, 0.12).at(16), bodies.thorax().at(16), bodies.rectangle(0.3, 0.2, 0.03).at(16)]
PHANTOM = Phantom([Ellipse((0.3, 0.1), (0.15, 0.3), 0.3)], 3.0, 0.3)


def neighbours(count: int) -> torch.Tensor:
    eye = torch.eye(count, dtype=torch.float64)
    return eye[:-1] - eye[1:]


def on(electrodes: Electrodes, points: int = 16) -> CompleteElectrodeSolver:
    return CompleteElectrodeSolver(BoundaryIntegralSolver(electrodes.body), electrodes, points)


@pytest.mark.parametrize("body", BODIES)
def test_perfect_contact_is_that_of_the_image_in_the_disk(body: Domain) -> None:
    """Potentials and currents do not change under the Riemann map; only a contact impedance would."""
    row = Electrodes.even(body, 8, 0.5, 0.0)

    def angle(s: torch.Tensor) -> torch.Tensor:
        return body.conformal_map(body.place(s)).value.angle()

    start, width = angle(row.starts), (angle(row.ends) - angle(row.starts)) % (2 * math.pi)
    image = Electrodes(Disk(16), start + width / 2, width, 0.0)
    found, expected = (on(one, 24).background(neighbours(8)) for one in (row, image))
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-8 * float(expected.abs().max()))


def test_two_sides_of_a_square() -> None:
    """Electrodes in the middle of two opposite sides, after Schwarz and Christoffel: K(k') / K(k) on the disk."""
    square = Square(16)
    row = Electrodes(square, [1.0, 5.0], 1.6, 0.0)
    corner = square.conformal_map(square.place(row.ends[:1])).value
    k = math.sin(float(corner.angle()) + math.pi / 2)  # half of the arc, which lies around -π/2
    found = on(row, 24).background(neighbours(2))
    assert float(found[0, 0] - found[0, 1]) == pytest.approx(ellipk(1 - k**2) / ellipk(k**2), rel=1e-8)


@pytest.mark.parametrize("body", BODIES)
def test_readings_on_any_body(body: Domain) -> None:
    row, pattern = Electrodes.even(body, 16, 0.4, 1e-4), Pattern.named("adjacent", 16, 1e-3)
    found = simulate_readings(row, pattern, PHANTOM, 0.05)
    one, other, factor = pattern.reciprocal()
    torch.testing.assert_close(found[other], factor * found[one], rtol=1e-7, atol=0)
    fine = pattern.read(on(row, 40).voltages(PHANTOM, pattern.stimulation / 0.05))
    assert float((found - fine).abs().max() / fine.abs().max()) < 2e-5


def test_bad_contact_is_a_resistor() -> None:
    """A contact of z Ω m² on w metres by h metres has z / (w h) ohms, whatever the body."""
    row = Electrodes.even(bodies.thorax(), 8, 0.5, 10.0)
    pattern = Pattern.named("adjacent", 8, 1e-3, driven=True)
    volts = pattern.spread(simulate_readings(row, pattern, Phantom([], outside=1e3), 0.05))
    area = float(row.widths[0]) * row.body.scale * 0.05
    assert float(volts[0, 0]) == pytest.approx(2 * 1e-3 * 10.0 / area, rel=1e-3)


@pytest.mark.parametrize("body", BODIES)
def test_against_finite_elements(body: Domain) -> None:
    """The elements come nearer as they get finer: u has a root or a layer at the ends of electrodes."""
    row, currents = Electrodes.even(body, 8, 0.4, 0.01 * body.scale), neighbours(8)
    phantom = Phantom([circle((0.3, 0.1), 0.25)], 3.0, 0.3)
    errors = []
    for edges in (90, 180):
        layout = (body, row.starts, row.ends, row.relative_impedance)
        elements = ElementElectrodeSolver(*layout, size=body.perimeter / edges)
        found, expected = (solver.voltages(phantom, currents) for solver in (elements, on(row)))
        errors.append(float((found - expected).norm() / expected.norm()))
    assert errors[1] < 0.7 * errors[0]
    assert errors[1] < 1e-3


def test_gradients_reach_the_electrodes() -> None:
    body, flat = bodies.thorax().at(16), torch.full((4,), 0.3, dtype=torch.float64)
    values = [torch.linspace(0.2, 4.0, 4, dtype=torch.float64), flat, flat / 10]

    def volts(*layout: torch.Tensor) -> torch.Tensor:
        return on(Electrodes(body, *layout), 6).voltages(PHANTOM, neighbours(4))

    assert torch.autograd.gradcheck(volts, [value.requires_grad_() for value in values])
