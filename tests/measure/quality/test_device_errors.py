"""Errors of the device: found where currents are redundant, taken off on request, never seen where there are none."""

import math

import pytest
import torch

import eitlens as eit
from eitlens.electrodes import Instrument
from eitlens.measure.quality import inspect

COUNT = 16
ELECTRODES = eit.Electrodes.even(eit.Disk(32, scale=0.1), COUNT, impedance=1e-4)


@pytest.fixture(scope="module")
def resistances() -> torch.Tensor:
    """Of water, and of a body in it."""
    solver = eit.CompleteElectrodeSolver(eit.BoundaryIntegralSolver(ELECTRODES.body), ELECTRODES)
    body = eit.Phantom([eit.circle((0.4, 0.2), 0.3)], [0.01], outside=0.3)
    return solver.resistances([eit.Phantom([], outside=0.3), body])


def measured(resistances: torch.Tensor, common: float, source: float) -> eit.Measurement:
    """Pairs at four distances, through a device with such errors."""
    draw = torch.Generator().manual_seed(2)
    eye = torch.eye(COUNT, dtype=torch.float64)
    drive = 1e-3 * torch.cat([eye - eye.roll(k, 1) for k in (1, 3, 5, 8)])
    channels = Instrument.neighbours(COUNT)
    errors = (
        common * torch.randn(COUNT - 1, generator=draw, dtype=torch.float64),
        source * torch.randn(COUNT, generator=draw, dtype=torch.float64),
    )
    device = Instrument(channels, common=errors[0], source=errors[1])
    volts = device.measure(resistances, drive).flatten(1)
    noise = (
        1e-4 * volts.square().mean().sqrt() * torch.randn(volts.shape, generator=draw, dtype=torch.float64)
    )
    water, target = volts + noise
    return eit.Measurement.of_electrodes(ELECTRODES, eit.Pattern(drive, channels), target, water)


def test_the_device_is_found_and_taken_off(resistances):
    given, sound = measured(resistances, 0.02, 0.02), measured(resistances, 0.0, 0.0)
    report = inspect(given)
    assert [fault.kind for fault in report.findings] == ["device"]
    corrected = report.applied()

    def error(data: eit.Measurement) -> float:
        return float((data.difference - sound.difference).norm() / sound.difference.norm())

    assert error(corrected) < error(given) / 3
    assert "common mode" in corrected.notes[-1]


def test_a_sound_device_is_left_alone(resistances):
    assert not inspect(measured(resistances, 0.0, 0.0)).findings


def test_without_redundant_currents_nothing_is_said():
    pattern = eit.Pattern.named("adjacent", COUNT, current=1e-3)
    water = eit.simulate_readings(ELECTRODES, pattern, eit.Phantom([], outside=0.3))
    data = eit.Measurement.of_electrodes(ELECTRODES, pattern, math.pi * water, water)
    assert "device" not in [fault.kind for fault in inspect(data).findings]
