"""The empty tank behind a measurement: conductivity, contacts and widths are found again."""

import pytest
import torch

import eitlens as eit
from eitlens.errors import InputError
from eitlens.measure.tank import fit_tank, resistance_model

_SIGMA, _HEIGHT = 0.37, 0.04
_TANKS = (eit.Disk(32, scale=0.1), eit.bodies.ellipse(0.15, 0.1), eit.Square(32))


def _empty(body: eit.Domain, impedance: object = 3e-3, width: float = 1.0, driven: bool = True, **more):
    """A measurement of an empty tank, whose electrodes are `width` times as wide as it says."""
    real = eit.Electrodes.even(body, 16, coverage=0.4 * width, impedance=impedance)
    pattern = eit.Pattern.named("adjacent", 16, current=1e-3, driven=driven)
    volts = eit.simulate_readings(real, pattern, eit.Phantom([], outside=_SIGMA), height=_HEIGHT)
    said = eit.Electrodes.even(body, 16, coverage=0.4)
    return eit.Measurement.of_electrodes(said, pattern, volts, height=_HEIGHT, **more), volts


@pytest.mark.parametrize("body", _TANKS, ids=lambda body: body.name)
def test_conductivity_and_contact_are_found(body: eit.Domain) -> None:
    measurement, volts = _empty(body)
    found = fit_tank(measurement)
    assert found.conductivity == pytest.approx(_SIGMA, rel=1e-5)
    assert torch.allclose(found.electrodes.impedance, torch.tensor(3e-3).double(), rtol=1e-4)
    assert torch.allclose(found.readings, volts, rtol=1e-4)
    assert found.residual < 1e-5
    assert (found.polarity, found.width, found.fitted) == (1, 1.0, "mean frame")


def test_even_electrodes_numbered_otherwise() -> None:
    """The symmetry of even electrodes gives what the whole matrix gives, whatever their order on the wall."""
    body, order = _TANKS[0], torch.tensor([3, 2, 1, 0, 15, 9, 10, 11, 12, 13, 14, 8, 7, 6, 5, 4])
    row = eit.Electrodes.even(body, 16, coverage=0.4, first=0.3)
    mixed = eit.Electrodes(body, row.places[order], row.widths)
    nudged = eit.Electrodes(body, row.places[order] + 1e-7 * torch.arange(16), row.widths)
    contacts = torch.full((16,), 0.01, dtype=torch.float64)
    fast, whole = (resistance_model(one)(contacts, 1.1) for one in (mixed, nudged))
    assert torch.allclose(fast, whole, rtol=0, atol=1e-4)


def test_each_contact_is_found() -> None:
    impedance = torch.linspace(1e-3, 5e-3, 16, dtype=torch.float64)
    found = fit_tank(_empty(_TANKS[0], impedance)[0], each=True)
    assert torch.allclose(found.electrodes.impedance, impedance, rtol=1e-3)
    assert found.residual < 1e-5


def test_an_effective_width_is_found() -> None:
    found = fit_tank(_empty(_TANKS[1], width=1.2)[0], width=True)
    assert found.width == pytest.approx(1.2, rel=1e-3)
    assert found.conductivity == pytest.approx(_SIGMA, rel=1e-4)


def test_missing_readings_sign_and_scale() -> None:
    """Missing readings are left out; the sign is told; a gain goes into σ; the reference is preferred to the frames."""
    measurement, volts = _empty(_TANKS[0], driven=False)
    wrong = -2 * volts
    wrong[5:9] = torch.nan
    frames = volts * torch.linspace(0.5, 1.0, len(volts))
    given = eit.Measurement.of_electrodes(
        measurement.electrodes, measurement.pattern, frames, reference=wrong, height=_HEIGHT
    )
    found = fit_tank(given)
    assert found.conductivity == pytest.approx(_SIGMA / 2, rel=1e-5)
    assert (found.polarity, found.fitted) == (-1, "reference")
    assert torch.allclose(found.readings, -2 * volts, rtol=1e-3)


def test_noise_is_the_residual() -> None:
    measurement, volts = _empty(_TANKS[0])
    noise = (
        0.01 * volts.square().mean().sqrt() * torch.randn(len(volts), generator=torch.manual_seed(3)).double()
    )
    noisy = eit.Measurement.of_electrodes(
        measurement.electrodes, measurement.pattern, volts + noise, height=_HEIGHT
    )
    assert fit_tank(noisy).residual == pytest.approx(0.01, rel=0.1)


def test_what_cannot_be_fitted_is_said() -> None:
    measurement, volts = _empty(_TANKS[0])
    electrodes, pattern = measurement.electrodes, measurement.pattern
    with pytest.raises(InputError, match="differences"):
        fit_tank(eit.Measurement.of_electrodes(electrodes, pattern, volts, reference=torch.zeros_like(volts)))
    few = torch.full_like(volts, torch.nan)
    few[:4] = volts[:4]
    with pytest.raises(InputError, match="too few"):
        fit_tank(eit.Measurement.of_electrodes(electrodes, pattern, few))
    points = eit.Electrodes.even(_TANKS[0], 16, coverage=0)
    with pytest.raises(InputError, match="width"):
        fit_tank(eit.Measurement.of_electrodes(points, pattern, volts))
