"""The index of Theorem 1 as a method."""

import math

import pytest
import torch

import eitlens as eit
from eitlens.errors import InputError
from eitlens.forward.currents import arclength
from eitlens.imaging import METHODS, Options

PLACE = (0.35, 0.1)
PHANTOM = eit.Phantom([eit.circle(PLACE, 0.25)], 4.0, 0.4)


def largest(found: eit.Reconstruction) -> list[float]:
    return found.domain.nodes().flatten(0, 1)[found.image.argmax()].tolist()


@pytest.mark.parametrize("body", [eit.Disk(64, scale=0.1), eit.bodies.thorax(0.3), eit.Square(64)])
@pytest.mark.parametrize(("count", "pattern"), [(16, "adjacent"), (32, "adjacent")])
def test_from_electrodes(body, count, pattern):
    tank, drive = eit.Electrodes.even(body, count, 0.4), eit.Pattern.named(pattern, count, 1e-3)
    volts = eit.simulate_readings(tank, drive, [PHANTOM, eit.Phantom([], outside=0.4)])
    data = eit.Measurement.of_electrodes(tank, drive, volts[:1], volts[1:])
    found = METHODS["index"](data, Options(n=64))
    assert found.quantity == "index"
    assert bool((found.image[~body.at(64).inside()] == 0).all())
    assert math.dist(largest(found), PLACE) < 0.15


def test_from_all_currents_it_is_the_library_s_own():
    square = eit.Square(64)
    g = arclength(square, 32)
    body = eit.Phantom([eit.circle(PLACE, 0.25)], 10.0, 1.0)
    df = eit.BoundaryIntegralSolver(square).difference(body, g)
    data = eit.Measurement.of_points(square.boundary(), g, df, torch.zeros_like(df))
    found = METHODS["index"](data, Options(n=64))
    pairs = eit.NeumannToDirichlet(eit.BoundaryIntegralSolver(square), body).eigenpairs()
    whole = eit.index_function(eit.picard_sum(square, pairs))
    inside = eit.indicator(square, body)
    for image in (found.image, whole):
        assert float(image[inside].mean()) > 3 * float(image[~inside].mean())


def test_three_cosines_are_not_enough():
    data = eit.Measurement.of_difference(torch.ones(3, 256, dtype=torch.float64).cumsum(1))
    with pytest.raises(InputError, match=r"^index: Theorem 1 needs .* use --method dsm"):
        METHODS["index"](data, Options())


def test_nothing_but_noise_is_doubted():
    tank, drive = eit.Electrodes.even(eit.Disk(32), 16, 0.4), eit.Pattern.named("adjacent", 16)
    noise = torch.randn(1, 208, generator=torch.manual_seed(0), dtype=torch.float64)
    empty = eit.simulate_readings(tank, drive, eit.Phantom([]))
    data = eit.Measurement.of_electrodes(tank, drive, empty + 1e-3 * noise, empty)
    assert "noise" in [flag.kind for flag in METHODS["index"](data, Options(n=32)).warnings]
