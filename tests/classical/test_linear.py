import pytest
import torch

import eitlens as eit
from eitlens.classical.linear import LinearImage
from eitlens.classical.linear_tank import tank_of
from eitlens.classical.merit import position_error
from eitlens.classical.priors import PRIORS
from eitlens.classical.reading_errors import Nuisance, ReadingNoise
from eitlens.measure.readings import ElectrodeMeasurement

TANK = eit.Disk(40, scale=0.1)
ELECTRODES = eit.Electrodes.even(TANK, 16, impedance=1e-3)
PATTERN = eit.Pattern.named("adjacent", 16, current=1e-3, driven=True)
SIGMA = 0.3
TAU = 1e-3


def measured(*phantoms: eit.Phantom, tau: float = TAU, seed: int = 0, **more: object) -> ElectrodeMeasurement:
    """Frames of the phantoms with white noise, and two of the empty tank."""
    empty = eit.Phantom([], outside=SIGMA)
    clean = eit.simulate_readings(ELECTRODES, PATTERN, [*phantoms, empty, empty])
    size = tau * clean.square().mean().sqrt()
    noisy = clean + size * torch.randn(clean.shape, generator=torch.Generator().manual_seed(seed)).double()
    return ElectrodeMeasurement(ELECTRODES, PATTERN, noisy[:-2], noisy[-2:], **more)


@pytest.fixture(scope="module")
def data() -> ElectrodeMeasurement:
    bodies = [eit.Phantom([eit.circle(c, 0.2)], 0.6, outside=SIGMA) for c in ((0.4, 0.2), (-0.3, 0.0))]
    return measured(*bodies)


@pytest.fixture(scope="module")
def plain(data: ElectrodeMeasurement) -> LinearImage:
    return LinearImage.fit(data, "noser", 1e-3)


@pytest.fixture(scope="module")
def image(data: ElectrodeMeasurement) -> LinearImage:
    return LinearImage.fit(data, "gaussian")


def test_the_tank_is_that_of_the_simulation(image):
    assert image.tank.conductivity == pytest.approx(SIGMA, rel=2e-3)


def test_the_image_is_the_least_squares_solution_with_the_prior(data, image):
    # Independent: argmin |S⁻¹ (J x - y)|² + λ xᵀ Γ⁻¹ x by least squares of the stacked equations.
    variance = ReadingNoise().variances(data, image.tank)
    gamma = PRIORS["gaussian"](image.tank)
    rows = torch.cat([image.tank.jacobian / variance.sqrt()[:, None], _root(gamma) * image.strength**0.5])
    right = torch.cat([data.difference.mT / variance.sqrt()[:, None], torch.zeros(len(gamma), 2).double()])
    expected = image.tank.image(torch.linalg.lstsq(rows, right, driver="gelsd").solution.mT)
    torch.testing.assert_close(image(data.difference), expected, rtol=0, atol=1e-5)


def test_the_deviation_is_that_of_the_gaussian_posterior(data, image):
    variance, gamma = ReadingNoise().variances(data, image.tank), PRIORS["gaussian"](image.tank)
    jacobian = image.tank.jacobian
    precision = jacobian.mT @ (jacobian / variance[:, None]) + image.strength * torch.linalg.inv(gamma)
    expected = torch.linalg.inv(precision).diagonal().sqrt() * image.level
    torch.testing.assert_close(
        image.deviation(), image.tank.image(expected[None])[0], rtol=0, atol=2e-3 * float(expected.max())
    )


def test_cross_validation_tells_the_noise(image):
    # Of the difference of a frame and the mean of two frames.
    assert image.noise == pytest.approx(TAU * 1.5**0.5, rel=0.15)


@pytest.mark.parametrize("rule", ["gcv", "discrepancy", "l-curve"])
@pytest.mark.parametrize("prior", list(PRIORS))
def test_every_prior_and_rule_finds_the_place(data, prior, rule):
    noise = ReadingNoise(floor=1.5**0.5 * TAU * 1.1)
    see = LinearImage.fit(data, prior, rule, noise=noise)
    for found, place in zip(see(data.difference), ((0.4, 0.2), (-0.3, 0.0)), strict=True):
        assert position_error(see.domain, found, place) < 0.1


def test_the_discrepancy_is_the_noise(data):
    see = LinearImage.fit(data, "noser", "discrepancy", noise=ReadingNoise(floor=2 * TAU))
    model = see.tank.jacobian @ (see.matrix @ data.difference.mT)
    rest = (data.difference.mT - model).square().mean().sqrt() / see.tank.readings.square().mean().sqrt()
    assert float(rest) == pytest.approx(2 * TAU, rel=0.15)


def test_a_discrepancy_below_the_noise_is_refused(data):
    with pytest.raises(eit.InputError, match="gcv"):
        LinearImage.fit(data, "noser", "discrepancy", noise=ReadingNoise(floor=TAU / 10))


def test_a_weak_inclusion_has_its_size():
    # δσ times area of a disc of contrast κ acts as 2 (κ - 1) / (κ + 1) of σ.
    weak = measured(eit.Phantom([eit.circle((0.2, 0.1), 0.15)], 1.1 * SIGMA, outside=SIGMA), tau=1e-6)
    see = LinearImage.fit(weak, "laplace")
    total = float((see.matrix @ weak.difference[0]) @ see.tank.area)
    assert total == pytest.approx(SIGMA * 0.2 / 2.1 * torch.pi * 0.15**2, rel=0.05)


def test_a_drift_that_is_allowed_for_changes_no_image(data, plain):
    v = data.baseline
    drifted = data.difference + 0.05 * v
    wary = LinearImage.fit(data, "noser", 1e-3, Nuisance(drift=0.5))
    size = float(wary(data.difference).abs().max())
    assert float((wary(drifted) - wary(data.difference)).abs().max()) < 1e-2 * size
    assert float((plain(drifted) - plain(data.difference)).abs().max()) > 0.1 * size


def test_an_electrode_that_moved_is_allowed_for(data, plain):
    places = ELECTRODES.places.clone()
    places[3] += 0.02
    moved = eit.Electrodes(TANK, places, ELECTRODES.widths, ELECTRODES.impedance)
    empty = eit.Phantom([], outside=SIGMA)
    change = (
        eit.simulate_readings(moved, PATTERN, empty) - eit.simulate_readings(ELECTRODES, PATTERN, empty)
    )[None]
    wary = LinearImage.fit(data, "noser", 1e-3, Nuisance(movement=0.003))
    assert float(wary(change).abs().max()) < 0.1 * float(plain(change).abs().max())


def test_derivatives_in_places_and_contacts_are_those_of_exact_electrodes(data):
    tank = tank_of(data)
    row, sigma = tank.model.electrodes, tank.conductivity
    empty, step = eit.Phantom([], outside=sigma), 1e-4

    def slope(name: str, by: torch.Tensor) -> torch.Tensor:
        parts = {key: getattr(row, key) for key in ("places", "widths", "impedance")}
        both = (
            eit.simulate_readings(
                eit.Electrodes(TANK, **(parts | {name: parts[name] + sign * by})), PATTERN, empty
            )
            for sign in (1, -1)
        )
        return (next(both) - next(both)) / (2 * step)

    only = torch.zeros(16, dtype=torch.float64)
    only[5] = 1.0
    place = slope("places", only * step) / TANK.scale
    contact = slope("impedance", only * row.impedance * step)
    for found, expected in ((tank.by_place[:, 5], place), (tank.by_contact[:, 5], contact)):
        assert float((found - expected).norm() / expected.norm()) < 0.02


def test_gains_and_currents_are_directions_of_their_own(data):
    tank = tank_of(data)
    moved = Nuisance(channels=0.01, sources=0.02).directions(tank)
    assert moved.shape == (256, 32)
    torch.testing.assert_close(moved[:, :16].sum(1), 0.02 * tank.readings)
    torch.testing.assert_close(moved[:, 16:].sum(1), 0.01 * tank.readings)


def test_eight_reference_frames_tell_the_noise_of_each_reading(data):
    spread = torch.where(torch.arange(256) % 2 == 0, 1e-6, 4e-6)
    noise = spread * torch.randn(400, 256, generator=torch.Generator().manual_seed(1)).double()
    frames = data.baseline + noise
    many = ElectrodeMeasurement(ELECTRODES, PATTERN, data.voltages, frames)
    found = ReadingNoise().variances(many, tank_of(data))
    # Half of it is the median of all.
    assert float(found[1::2].mean() - found[::2].mean()) == pytest.approx(0.5 * 15e-12, rel=0.1)


def test_missing_readings_are_left_out(data):
    keep = torch.rand(256, generator=torch.Generator().manual_seed(3)) > 0.1
    some = data.masked(keep, "tested")
    see = LinearImage.fit(some, "noser", 1e-3)
    found = see(see.differences(some))[0]
    assert bool(found.isfinite().all())
    at = see.domain.nodes()[found == found.max()][0]
    assert float((at - torch.tensor([0.4, 0.2])).norm()) < 0.1


def test_the_sign_of_a_device_and_a_known_conductivity_are_used(data, plain):
    turned = ElectrodeMeasurement(ELECTRODES, PATTERN, -data.voltages, -data.reference, 2 * SIGMA)
    found = LinearImage.fit(turned, "noser", 1e-3)(turned.difference)
    ratio = 2 * SIGMA / plain.tank.conductivity
    torch.testing.assert_close(found, ratio * plain(data.difference), rtol=1e-4, atol=1e-6)


def test_differences_alone_need_the_conductivity(data, plain):
    none = torch.zeros_like(data.reference)
    with pytest.raises(eit.InputError, match="conductivity"):
        LinearImage.fit(ElectrodeMeasurement(ELECTRODES, PATTERN, data.difference, none))
    known = ElectrodeMeasurement(ELECTRODES, PATTERN, data.difference, none, SIGMA)
    found, expected = LinearImage.fit(known, "noser", 1e-3)(known.difference), plain(data.difference)
    assert float((found - expected).abs().max()) < 0.02 * float(expected.abs().max())


def test_another_grid_shows_the_same_image(data, image):
    coarse, fine = (image(data.difference, n) for n in (20, 80))
    torch.testing.assert_close(fine[:, ::4, ::4], coarse)


@pytest.mark.parametrize(
    "given", [torch.zeros(1, 5), torch.full((1, 256), torch.nan), torch.zeros(256)], ids=["few", "nan", "row"]
)
def test_other_readings_are_refused(image, given):
    with pytest.raises(eit.InputError):
        image(given.double())


def _root(gamma: torch.Tensor) -> torch.Tensor:
    """A square root of Γ⁻¹."""
    values, vectors = torch.linalg.eigh(gamma)
    return (vectors / values.sqrt()).mT
