"""Any measurement becomes the data a network was trained for."""

from dataclasses import replace

import pytest
import torch

from eitlens.domain import Disk, Square, boundary
from eitlens.errors import InputError
from eitlens.forward import BoundaryIntegralSolver, currents
from eitlens.forward.currents import CurrentsConfig
from eitlens.measure import Measurement
from eitlens.phantom import Phantom

COSINES = CurrentsConfig("cosine", 3)


def size(values: torch.Tensor) -> float:
    return float(values.norm())


@pytest.fixture(scope="module")
def g(square):
    return currents.cosine(square, 3)


def test_plain_differences_pass_unchanged(square, difference):
    found = Measurement.prepare(Measurement.of_difference(difference), COSINES, 3, square)
    assert torch.allclose(found.difference, difference, atol=1e-13)
    assert bool(found.seen.all())
    assert found.mean < 1e-10
    assert found.residual < 1e-6
    assert found.noise < 1e-3


def test_voltages_without_reference_in_a_body_of_any_conductivity(square, phantom, g):
    """σ0 = 2.5 divides all potentials, f0 is computed, and a constant in f does not matter."""
    body = Phantom(phantom.shapes, 25.0, 2.5)
    solver = BoundaryIntegralSolver(square)
    voltage = solver.background(g, 2.5) + solver.difference(body, g) + 0.3
    found = Measurement.prepare(
        Measurement.of_points(square.boundary(), g, voltage, conductivity=2.5), COSINES, 3, square
    )
    expected = solver.difference(phantom, g)
    # f0 on 64 and on 400 cells differ by the trapezoid rule's error.
    assert size(found.difference - expected) / size(expected) < 2e-3
    assert found.mean > 0.5


def test_other_currents_that_span_the_cosines(square, phantom, difference, g):
    generator = torch.Generator().manual_seed(0)
    mixing = torch.randn(5, 3, generator=generator, dtype=torch.float64)
    given = Measurement.of_points(
        square.boundary(), mixing @ g, mixing @ difference, torch.zeros(5, 256, dtype=torch.float64)
    )
    found = Measurement.prepare(given, COSINES, 3, square)
    assert size(found.difference - difference) / size(difference) < 1e-5


def test_currents_that_do_not_span_them_are_refused_or_left_out(square, difference, g):
    sines = currents.sine(square, 3)
    zero = torch.zeros_like(difference)
    with pytest.raises(InputError, match="the 3 given do not span current 1 of the cosine family"):
        Measurement.of_points(square.boundary(), sines, zero, zero).prepare(COSINES, 3, square)
    two = Measurement.of_points(square.boundary(), g[:2], difference[:2], zero[:2])
    with pytest.raises(InputError, match="the 2 given do not span current 3"):
        Measurement.prepare(two, COSINES, 3, square)
    assert Measurement.prepare(two, COSINES, 1, square).difference.shape == (2, 256)


def test_how_many_currents_are_not_read(square, difference, g):
    """As many as could have been, had the independent ones given been others, however strong or often injected."""
    sine = currents.sine(square, 1)
    cases = [
        (g, 0),
        (g[:1], 0),
        (g[[0, 0, 0]], 0),
        (torch.cat([g, sine]), 0),
        (torch.cat([g[:2], sine]), 1),
        (torch.cat([g[[0, 2]], 1e-3 * sine]), 2),
    ]
    for given, unread in cases:
        zero = torch.zeros_like(given)
        assert (
            Measurement.prepare(
                Measurement.of_points(square.boundary(), given, zero, zero), COSINES, 1, square
            ).unread
            == unread
        )
    single = Measurement.of_difference(difference)
    assert Measurement.prepare(single, CurrentsConfig("cosine", 1), 1, square).unread == 0


def test_missing_nodes_are_filled_in_and_remembered(square, difference, g):
    mask = torch.ones(256, dtype=torch.bool)
    mask[[3, 64, 65, 130]] = False
    voltages = difference.clone()
    voltages[:, ~mask] = torch.nan
    given = Measurement.of_points(square.boundary(), g, voltages, torch.zeros_like(difference), mask)
    found = Measurement.prepare(given, COSINES, 3, square)
    assert size(found.difference - difference) / size(difference) < 1e-3
    assert not bool(found.seen[:, ~mask].any())
    assert int(found.seen.sum()) == 3 * 252


def test_a_mask_for_each_current(square, difference, g):
    mask = torch.ones(3, 256, dtype=torch.bool)
    mask[1, 10] = False
    given = Measurement.of_points(square.boundary(), g, difference, torch.zeros_like(difference), mask)
    assert torch.equal(Measurement.prepare(given, COSINES, 3, square).seen, mask)
    few = torch.arange(256) < 2
    with pytest.raises(InputError, match="2 of 256 points are left"):
        Measurement.prepare(
            Measurement.of_points(square.boundary(), g, difference, torch.zeros_like(difference), few),
            COSINES,
            3,
            square,
        )


def test_electrodes_anywhere(square, phantom, difference):
    fine = Square(400)
    s = (torch.arange(100, dtype=torch.float64) + 0.37) * 0.08
    g = currents.cosine(fine, 3)
    f = BoundaryIntegralSolver(fine).difference(phantom, g)
    points, there, here = (boundary.from_nodes(v, s, fine) for v in (fine.boundary().T, g, f))
    found = Measurement.prepare(
        Measurement.of_points(points.T, there, here, torch.zeros_like(here)), COSINES, 3, square
    )
    # 5e-4 is what 64 cells are off 400 themselves.
    assert size(found.difference - difference) / size(difference) < 1e-3
    assert found.gap == pytest.approx(0.08)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: {"points": 2 * m.points}, "points: point 0 at .* off the boundary"),
        (lambda m: {"currents": m.currents.roll(64, 1)}, "currents: the 3 given do not span current 1"),
        (lambda m: {"mask": torch.arange(256) < 2}, "mask: 2 of 256 points are left"),
        (lambda m: {"domain": Disk(64)}, "the measurement is of a disk"),
    ],
)
def test_what_is_wrong_is_said_with_the_name_of_the_file(square, difference, change, message):
    plain = Measurement.of_difference(difference)
    bad = replace(plain, **change(plain))
    with pytest.raises(InputError, match=f"^{message}"):
        Measurement.prepare(bad, COSINES, 3, square)
    with pytest.raises(InputError, match=rf"^scan\.csv: {message}"):
        Measurement.prepare(replace(bad, source="scan.csv"), COSINES, 3, square)
