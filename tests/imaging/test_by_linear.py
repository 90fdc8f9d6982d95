import pytest
import torch

import eitlens as eit
from eitlens.classical.merit import position_error
from eitlens.imaging import METHODS, Options, images
from eitlens.imaging.by_linear import LINEAR, fitted

ELECTRODES = eit.Electrodes.even(eit.Disk(40, scale=0.1), 16)
PATTERN = eit.Pattern.named("adjacent", 16, current=1e-3)
PLACES = [(0.4, 0.2), (-0.5, 0.1), (0.0, -0.3)]


@pytest.fixture(scope="module")
def data() -> eit.Measurement:
    bodies = [eit.Phantom([eit.circle(c, 0.15)], 0.1, outside=0.3) for c in PLACES]
    volts = eit.simulate_readings(ELECTRODES, PATTERN, [*bodies, eit.Phantom([], outside=0.3)])
    noise = 1e-3 * volts.square().mean().sqrt()
    noisy = volts + noise * torch.randn(volts.shape, generator=torch.Generator().manual_seed(0)).double()
    return eit.Measurement.of_electrodes(ELECTRODES, PATTERN, noisy[:-1], reference=noisy[-1:])


@pytest.mark.parametrize("name", list(LINEAR))
def test_every_frame_has_an_image_of_its_inclusion(data, name):
    found = list(images(data, name, Options(n=32)))
    assert [one.quantity for one in found] == ["change"] * 3
    for one, place in zip(found, PLACES, strict=True):
        assert one.image.shape == (33, 33)
        assert float(one.image.min()) < -float(one.image.max())  # less conductive
        assert position_error(one.domain, one.image, place) < 0.08


def test_the_uncertainty_is_a_deviation_and_the_noise_is_told(data):
    found = METHODS["gaussian"](data, Options())
    assert found.noise == pytest.approx(1e-3 * 2**0.5, rel=0.3)
    assert found.uncertainty.shape == found.image.shape
    inside = found.domain.inside()
    assert bool((found.uncertainty[inside] > 0).all())
    assert bool((found.uncertainty[~inside] == 0).all())
    assert METHODS["greit"](data, Options()).uncertainty is None


def test_a_tank_is_fitted_once(data):
    first = fitted("noser", data)
    again = eit.Measurement.of_electrodes(ELECTRODES, PATTERN, 2 * data.voltages, data.reference.clone())
    assert fitted("noser", again) is first
    other = eit.Measurement.of_electrodes(ELECTRODES, PATTERN, data.voltages, 1.01 * data.reference)
    assert fitted("noser", other) is not first


def test_strength_and_noise_are_options(data):
    weak, strong = (METHODS["noser"](data, Options(strength=s)).image.abs().max() for s in (1e-3, 1e-1))
    assert float(strong) < 0.7 * float(weak)
    known = METHODS["noser"](data, Options(tau=2e-3)).image
    assert position_error(data.domain.at(40), known, PLACES[0]) < 0.08


def test_without_a_reference_the_uniform_tank_is_compared_with(data):
    alone = eit.Measurement.of_electrodes(ELECTRODES, PATTERN, data.voltages[:1])
    found = METHODS["laplace"](alone, Options())
    assert position_error(found.domain, found.image, PLACES[0]) < 0.15


def test_other_measurements_and_other_wishes_are_refused(data):
    points = eit.Measurement.of_difference(torch.zeros(3, 800, dtype=torch.float64))
    with pytest.raises(eit.InputError, match="electrodes"):
        METHODS["greit"](points, Options())
    with pytest.raises(eit.InputError, match="refine"):
        METHODS["greit"](data, Options(refine=3))
