"""Electrodes on a body: numbering, places by angle and coordinates, gaps, points, files, and what cannot be."""

import json
import math

import pytest
import torch

import eitlens as eit
from eitlens.domain import Disk, Domain, Square, bodies
from eitlens.electrodes import Electrodes
from eitlens.errors import InputError

TANK = Disk(16, 64, scale=0.115)
BODIES = [TANK, Square(16), bodies.thorax().at(16), bodies.ellipse(0.2, 0.1).at(16)]


def angles(electrodes: Electrodes) -> torch.Tensor:
    x, y = electrodes.points().unbind(-1)
    return torch.atan2(y, x)


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("first", [0.0, math.pi / 2, -2.5])
@pytest.mark.parametrize("clockwise", [False, True])
def test_number_one_and_the_way_round(body: Domain, first: float, clockwise: bool) -> None:
    row = Electrodes.even(body, 12, 0.4, first=first, clockwise=clockwise)
    assert float(angles(row)[0]) == pytest.approx(first)
    turn = (angles(row).roll(-1) - angles(row)) % (2 * math.pi)
    assert bool(((turn > math.pi) == clockwise).all())
    step = (row.places.roll(-1) - row.places) % body.perimeter
    even = body.perimeter / 12 * (11 if clockwise else 1)
    torch.testing.assert_close(step, torch.full_like(step, even))
    assert float(row.widths.sum()) == pytest.approx(0.4 * body.perimeter)


@pytest.mark.parametrize("body", BODIES)
def test_the_same_electrodes_by_angle_and_by_coordinates(body: Domain) -> None:
    row = Electrodes.even(body, 8, 0.3, [1e-4 * k for k in range(8)], first=0.2)
    metres = body.scale * row.widths
    by_angle = Electrodes.at_angles(body, angles(row), metres, row.impedance)
    place = body.scale * row.points() + torch.tensor(body.origin)
    by_point = Electrodes.at_points(body, 1.001 * place, metres, row.impedance)
    for other, bar in ((by_angle, 1e-12), (by_point, 1e-3)):
        torch.testing.assert_close(other.places, row.places, rtol=0, atol=bar)
        torch.testing.assert_close(other.widths, row.widths)
        torch.testing.assert_close(other.impedance, row.impedance)
    torch.testing.assert_close(row.ends - row.starts, row.widths)


def test_the_tank_of_2023() -> None:
    """32 electrodes of 5.625° on a tank of 23 cm, number 1 at the top, counter-clockwise: 9 is left, 25 right."""
    row = Electrodes.even(TANK, 32, 0.5, first=math.pi / 2)
    torch.testing.assert_close(row.widths, torch.full((32,), math.radians(5.625), dtype=torch.float64))
    for number, place in ((1, (0.0, 1.0)), (9, (-1.0, 0.0)), (17, (0.0, -1.0)), (25, (1.0, 0.0))):
        torch.testing.assert_close(row.points()[number - 1], torch.tensor(place, dtype=torch.float64))
    assert float(row.relative_impedance[0]) == pytest.approx(1e-6 / 0.115)


def test_gaps_and_points() -> None:
    row = Electrodes.even(TANK, 16, 0.0)
    assert bool((row.widths == 0).all())
    gap = row.without(3, 4)
    assert gap.count == len(gap) == 14
    torch.testing.assert_close(gap.places, row.places[[0, 1, *range(4, 16)]])
    with pytest.raises(InputError, match="no electrode 17"):
        row.without(17)


@pytest.mark.parametrize("body", BODIES)
def test_files(body: Domain) -> None:
    row = Electrodes.even(body, 5, 0.31, [0.1, 0.2, 0.3, 0.4, 0.5], 0.3, clockwise=True)
    back = Electrodes.from_dict(json.loads(json.dumps(row.to_dict())))
    assert bodies.to_dict(back.body) == bodies.to_dict(body)
    for name in ("places", "widths", "impedance"):
        assert torch.equal(getattr(back, name), getattr(row, name))
    with pytest.raises(InputError, match="expected an object with the keys"):
        Electrodes.from_dict({"body": {}})


def test_gradients_reach_places_widths_and_impedances() -> None:
    values = [
        torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in ([0.1, 2.0], [0.3, 0.2], [1.0, 2.0])
    ]
    row = Electrodes(TANK, *values)
    (row.starts.sum() + row.relative_impedance.sum()).backward()
    assert all(value.grad is not None for value in values)


def test_what_cannot_be() -> None:
    for make, words in (
        (lambda: Electrodes(TANK, [0.0, 0.1], 0.2), "electrodes 1 and 2 overlap by 0.0115 m"),
        (lambda: Electrodes(TANK, [6.2, 3.0, 0.05], 0.3), "electrodes 1 and 3 overlap"),
        (lambda: Electrodes(TANK, [1.0, 1.0], 0.0), "at the same place"),
        (lambda: Electrodes(TANK, [1.0, 2.0], 0.1, -1.0), "impedance must not be negative"),
        (lambda: Electrodes(TANK, [1.0, 2.0], 0.1, math.nan), "impedance: 1 of 1 values are NaN"),
        (lambda: Electrodes(TANK, [1.0, 2.0], [0.1] * 3), "widths: expected one number or 2"),
        (lambda: Electrodes(TANK, [1.0], 0.1), "expected 2 to 1024 places"),
        (
            lambda: Electrodes.at_points(TANK, [[0.115, 0], [0.0, 0.1]], 0.01),
            r"electrode 2 .* 0.015 m off the boundary",
        ),
        (lambda: Electrodes.at_points(TANK, [[0.115, 0, 0]], 0.01), r"expected \(E, 2\) points"),
        (lambda: Electrodes.even(TANK, 16, 1.0), "0 <= coverage < 1"),
        (lambda: Electrodes(TANK, [0.0, 3.0], 7.0), "overlap"),
    ):
        with pytest.raises(InputError, match=words):
            make()


def test_an_angle_that_misses_the_outline() -> None:
    horseshoe = bodies.polygon([(0, 0), (4, 0), (4, 1), (1, 1), (1, 3), (4, 3), (4, 4), (0, 4)], 0.2)
    with pytest.raises(InputError, match="boundary of the polygon"):
        Electrodes.even(horseshoe, 8, 0.2)
    assert eit.Electrodes is Electrodes
