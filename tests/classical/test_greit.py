import math

import pytest
import torch

import eitlens as eit
from eitlens.classical.greit import NOISE_FIGURE, noise_figure, targets
from eitlens.classical.merit import merit, position_error
from eitlens.measure.readings import ElectrodeMeasurement

TANK, SIGMA, RADIUS = eit.Disk(40, scale=0.1), 0.3, 0.05
ELECTRODES = eit.Electrodes.even(TANK, 16)
PATTERN = eit.Pattern.named("adjacent", 16, current=1e-3)
PLACES = [(r * math.cos(a), r * math.sin(a)) for r, a in ((0.0, 0), (0.3, 1), (0.5, 2), (0.7, 4), (0.8, 5))]


@pytest.fixture(scope="module")
def data() -> ElectrodeMeasurement:
    bodies = [eit.Phantom([eit.circle(c, RADIUS)], 1.2 * SIGMA, outside=SIGMA) for c in PLACES]
    volts = eit.simulate_readings(ELECTRODES, PATTERN, [*bodies, eit.Phantom([], outside=SIGMA)])
    return ElectrodeMeasurement(ELECTRODES, PATTERN, volts[:-1], volts[-1:])


@pytest.fixture(scope="module")
def see(data):
    return eit.fit_greit(data)


def test_small_targets_have_their_amount_their_place_and_a_round_image(data, see):
    amount = SIGMA * 2 * 0.2 / 2.2 * math.pi * RADIUS**2
    for image, place in zip(see(data.difference), PLACES, strict=True):
        found = merit(see.domain, image, place)
        assert found.amplitude == pytest.approx(amount, rel=0.12)
        assert found.distance < 0.05
        assert found.deformation < 0.1
        assert found.ringing < 0.25


def test_the_noise_figure_is_the_wanted_one(data, see):
    known = targets(see.tank)
    centre = known.readings[:, int(known.places.norm(dim=1).argmin())]
    assert noise_figure(see, centre) == pytest.approx(NOISE_FIGURE, rel=1e-3)


def test_the_noise_figure_is_what_noise_does(data, see):
    known = targets(see.tank)
    target = known.readings[:, int(known.places.norm(dim=1).argmin())]
    noise = see.scale * torch.randn(2000, len(target), generator=torch.Generator().manual_seed(0)).double()
    spread = (noise @ see.matrix.mT).std(0).mean() / noise.std(0).mean()
    seen = (see.matrix @ target).abs().mean() / target.abs().mean()
    assert float(spread / seen) == pytest.approx(NOISE_FIGURE, rel=0.02)


def test_readings_of_targets_are_their_sensitivity(see):
    known = targets(see.tank)
    near = torch.cdist(see.tank.nodes, known.places).argmin(0)
    first_order = see.tank.jacobian[:, near] / see.tank.area[near]
    deep = known.places.norm(dim=1) < 0.7
    error = (known.readings - first_order)[:, deep].norm() / known.readings[:, deep].norm()
    assert float(error) < 0.03


def test_a_body_with_corners_has_targets_too():
    square = eit.Square(40)
    electrodes = eit.Electrodes.even(square, 16, first=0.1)
    bodies = [eit.Phantom([eit.circle((0.4, 0.3), 0.1)], 1.5), eit.Phantom([])]
    volts = eit.simulate_readings(electrodes, PATTERN, bodies)
    data = ElectrodeMeasurement(electrodes, PATTERN, volts[:1], volts[1:])
    see = eit.fit_greit(data)
    assert merit(see.domain, see(data.difference)[0], (0.4, 0.3)).distance < 0.07


def disc(domain: eit.Domain, centre: tuple[float, float], radius: float) -> torch.Tensor:
    return eit.indicator(domain, eit.Phantom([eit.circle(centre, radius)])).double()


def test_the_merit_of_a_disc_is_known():
    grid = TANK.at(400)
    found = merit(grid, 3 * disc(grid, (0.3, 0.4), 0.2), (0.3, 0.5))
    assert found.amplitude == pytest.approx(3 * math.pi * 0.04, rel=1e-2)
    assert found.distance == pytest.approx(0.1, abs=1e-3)
    assert found.position == pytest.approx(math.hypot(0.3, 0.5) - 0.5, abs=1e-3)
    assert found.resolution == pytest.approx(0.2, rel=1e-2)
    assert found.deformation < 0.02
    assert found.ringing == 0.0


def test_the_deformation_of_an_ellipse_is_known():
    # In the first quadrant the circle r² = ab and the ellipse cross at the polar angle φ with tan² φ = b / a, which is
    # the ellipse's parameter t with tan t = (a / b) tan φ; the sectors have the areas abφ/2 and abt/2.
    grid, a, b = TANK.at(400), 0.4, 0.1
    ellipse = eit.indicator(grid, eit.Phantom([eit.Ellipse((0.0, 0.0), (a, b))])).double()
    phi = math.atan(math.sqrt(b / a))
    outside = 2 / math.pi * (math.atan(a / b * math.tan(phi)) - phi)
    assert merit(grid, ellipse, (0.0, 0.0)).deformation == pytest.approx(outside, abs=0.01)


def test_the_ringing_of_a_disc_in_a_negative_body_is_known():
    grid = TANK.at(400)
    image = (1.1 * disc(grid, (0.0, 0.0), 0.5) - 0.1) * grid.inside()
    found = merit(grid, image, (0.0, 0.0))
    assert found.ringing == pytest.approx(0.1 * 0.75 / 0.25, rel=0.02)


def test_resistive_targets_need_the_other_sign():
    grid = TANK.at(40)
    image = -disc(grid, (0.3, 0.4), 0.2)
    with pytest.raises(eit.InputError, match="sign"):
        merit(grid, image, (0.3, 0.4))
    assert position_error(grid, image, (0.3, 0.4)) < 0.02
