"""The exact electrode model on other bodies than the disk: conformal invariance, reciprocity, other methods."""

import math

import pytest
import torch
from scipy.special import ellipk

from eitlens.domain import Disk, Domain, Square, bodies
from eitlens.electrodes import CompleteElectrodeSolver, Electrodes, Pattern, simulate_readings
from eitlens.electrodes.base import by_elements
from eitlens.errors import InputError
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


def test_points_are_the_limit() -> None:
    """Between points on the disk u is -(1/π) log of chords; finite elements come near."""
    disk = Disk(32)
    row, pattern = Electrodes.even(disk, 16, 0.0), Pattern.named("adjacent", 16)
    angle = row.places

    def potential(k: int, at: torch.Tensor) -> torch.Tensor:
        chords = [(2 * torch.sin((at - angle[j % 16]) / 2)).abs() for j in (k, k + 1)]
        return (torch.log(chords[1]) - torch.log(chords[0])) / math.pi

    rows = [
        potential(k, angle[m % 16]) - potential(k, angle[(m + 1) % 16]) for k in range(16) for m in range(16)
    ]
    expected = torch.stack(rows)[pattern.mask.flatten()]
    found = simulate_readings(row, pattern, Phantom([]))
    assert float((found - expected).abs().max() / expected.abs().max()) < 1e-9
    same = Phantom(
        [circle((0.2, 0.1), 0.3), circle((0.3, 0.1), 0.3)], 1.0
    )  # overlap: not for boundary integrals
    assert float((simulate_readings(row, pattern, same) - expected).abs().max() / expected.abs().max()) < 5e-4


def test_a_point_that_drives_cannot_be_read() -> None:
    row, pattern = Electrodes.even(Disk(32), 8, 0.0), Pattern.named("adjacent", 8, driven=True)
    with pytest.raises(InputError, match="stimulation 1: an electrode that is a point"):
        simulate_readings(row, pattern, Phantom([]))


@pytest.mark.parametrize("sigma", [0.0, math.inf])
def test_insulators_and_perfect_conductors_by_either_method(sigma: float) -> None:
    row, currents = Electrodes.even(Disk(32), 8, 0.5, 1e-2), neighbours(8)
    phantom = Phantom([circle((0.3, 0.1), 0.25)], sigma)
    found, expected = (solver.difference(phantom, currents) for solver in (by_elements(row), on(row)))
    assert float((found - expected).norm() / expected.norm()) < 1e-3


def test_a_thin_shape_is_seen_where_another_is_crossed() -> None:
    """Finer elements for it than by default: a bar through a circle of the body's own conductivity."""
    row, pattern = Electrodes.even(Disk(32), 8, 0.5, 1e-2), Pattern.named("adjacent", 8)
    bar, ghost = Ellipse((0.2, 0.1), (0.4, 0.03), 0.3), circle((0.2, 0.1), 0.2)
    empty = simulate_readings(row, pattern, Phantom([]))
    alone, crossed = (
        simulate_readings(row, pattern, phantom) - empty
        for phantom in (Phantom([bar], 10.0), Phantom([ghost, bar], [1.0, 10.0]))
    )
    assert float((crossed - alone).norm() / alone.norm()) < 0.02


def test_any_number_of_bodies_in_the_memory_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each with water of its own, so that each has a tank of its own; two at a time."""
    row, currents = Electrodes.even(Disk(32), 8, 0.5, 1e-2), neighbours(8)
    bodies_ = [Phantom([circle((0.3, 0.1), 0.25)], 3.0, 0.1 * k) for k in range(1, 6)]
    whole = on(row).voltages(bodies_, currents)
    seen = []

    def two(size: int, device: torch.device) -> int:
        seen.append(size)
        return 2

    monkeypatch.setattr("eitlens.electrodes.disk.chunk_size", two)
    torch.testing.assert_close(on(row).voltages(bodies_, currents), whole)
    assert seen[0] > 8 * (8 * 16) ** 2  # bytes of the smallest matrix there is
