"""The instrument: a circuit with its leaks solved in another way, its inverse, batches and gradients."""

import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from eitlens.electrodes import Instrument, empty_tank
from eitlens.errors import InputError

E = 6
SEED = torch.Generator().manual_seed(0)
DRIVE = torch.tensor([[1, 0, -1, 0, 0, 0], [-1, 0, 0, 2, 0, -1], [0, 1, 2, 0, -3, 0]], dtype=torch.float64)


def noise(*shape: int) -> Tensor:
    return 0.1 * torch.randn(*shape, dtype=torch.float64, generator=SEED)


ANGLES = 2 * math.pi / E * torch.arange(E, dtype=torch.float64) + noise(E)
TANK = empty_tank(ANGLES, torch.full_like(ANGLES, 0.25), 0.01 + noise(E).abs(), 1).resistance
PERFECT = Instrument(Instrument.neighbours(E))
DEVICE = Instrument(PERFECT.channels, noise(E - 1), noise(E - 1), noise(E), torch.tensor(0.3).double())


def test_a_perfect_device_reads_differences() -> None:
    expected = DRIVE @ TANK @ PERFECT.channels.T
    torch.testing.assert_close(PERFECT.measure(TANK, DRIVE), expected)
    torch.testing.assert_close(PERFECT.freed(expected, DRIVE), expected)


def test_the_potentials_solve_the_circuit_with_its_leaks() -> None:
    """Kirchhoff's laws with the admittance of the tank: what a source drives leaves through the tank and the leaks."""
    potentials = DEVICE.potentials(TANK, DRIVE)
    for drive, u in zip(DRIVE, potentials, strict=True):
        sink = (-drive).clamp(min=0) / (-drive).clamp(min=0).sum()
        source = drive.clamp(min=0) * (1 + DEVICE.source)
        leak = DEVICE.leak * (u - sink @ u)
        through = source - leak - sink * (source - leak).sum()
        u_tank = TANK @ through
        torch.testing.assert_close(u - u.mean(), u_tank - u_tank.mean())
        assert float(sink @ u) == pytest.approx(0.0, abs=1e-14)


def test_the_readings_are_those_of_the_formula() -> None:
    u, sink = DEVICE.potentials(TANK, DRIVE)[0], 2
    found = DEVICE.readings(DEVICE.potentials(TANK, DRIVE), DRIVE)[0]
    for j in range(E - 1):
        common = DEVICE.common[j] * ((u[j] + u[j + 1]) / 2 - u[sink])
        assert float(found[j]) == pytest.approx(float((1 + DEVICE.gain[j]) * (u[j] - u[j + 1]) + common))


def test_readings_are_freed_of_everything_but_the_leak() -> None:
    """To rounding where an injection has one source; with two, the mean of their errors is taken off."""
    leaking = replace(PERFECT, leak=DEVICE.leak)
    found, expected = DEVICE.freed(DEVICE.measure(TANK, DRIVE), DRIVE), leaking.measure(TANK, DRIVE)
    torch.testing.assert_close(found[:2], expected[:2], rtol=0, atol=1e-13)
    assert 1e-3 < float((found[2] - expected[2]).abs().max()) < 0.1


def test_missing_channels_stay_missing_and_the_others_are_freed() -> None:
    """Behind the sink's electrode and without a way around: the last channel."""
    readings = DEVICE.measure(TANK, DRIVE)
    readings[0, -1] = math.nan
    found, expected = DEVICE.freed(readings, DRIVE), replace(PERFECT, leak=DEVICE.leak).measure(TANK, DRIVE)
    assert bool(found[0, -1].isnan())
    torch.testing.assert_close(found[0, :-1], expected[0, :-1], rtol=0, atol=1e-12)
    torch.testing.assert_close(found[1], expected[1], rtol=0, atol=1e-12)


def test_many_tanks_and_many_devices() -> None:
    tanks = torch.stack([TANK, 2 * TANK])
    found = DEVICE.measure(tanks, DRIVE)
    several = Instrument(PERFECT.channels, *(torch.stack([v, 0 * v]) for v in (DEVICE.gain, DEVICE.common)))
    several = replace(several, source=torch.stack([DEVICE.source] * 2), leak=torch.stack([DEVICE.leak] * 2))
    both = several.measure(tanks, DRIVE)
    for k, tank in enumerate(tanks):
        torch.testing.assert_close(found[k], DEVICE.measure(tank, DRIVE))
    torch.testing.assert_close(both[0], found[0])
    plain = replace(DEVICE, gain=0 * DEVICE.gain, common=0 * DEVICE.common)
    torch.testing.assert_close(both[1], plain.measure(tanks[1], DRIVE))
    torch.testing.assert_close(several.freed(both, DRIVE)[0], DEVICE.freed(found[0], DRIVE))


def test_reciprocity_holds_for_the_leaking_tank() -> None:
    """Two injections with one sink: the leaks make the tank a network with a ground, which is reciprocal."""
    drive = torch.tensor([[1, 0, -1, 0, 0, 0], [0, 0, -1, 0, 1, 0]], dtype=torch.float64)
    transfer = drive @ replace(PERFECT, leak=0.7).potentials(TANK, drive).T
    torch.testing.assert_close(transfer, transfer.T)


def test_an_injection_without_currents_reads_nothing() -> None:
    drive = torch.cat([DRIVE, torch.zeros(1, E, dtype=torch.float64)])
    readings = DEVICE.measure(TANK, drive)
    torch.testing.assert_close(readings[:-1], DEVICE.measure(TANK, DRIVE))
    assert float(readings[-1].abs().max()) == 0.0
    assert float(DEVICE.freed(readings, drive)[-1].abs().max()) == 0.0


def test_differentiable_in_the_tank_and_in_every_error() -> None:
    def measured(tank: Tensor, gain: Tensor, common: Tensor, source: Tensor, leak: Tensor) -> Tensor:
        return Instrument(PERFECT.channels, gain, common, source, leak).measure(tank, DRIVE)

    given = (TANK, DEVICE.gain, DEVICE.common, DEVICE.source, DEVICE.leak)
    assert torch.autograd.gradcheck(measured, tuple(v.clone().requires_grad_() for v in given))
    without = (*given[:4], torch.zeros_like(DEVICE.leak))
    assert torch.autograd.gradcheck(measured, tuple(v.clone().requires_grad_() for v in without))


def test_what_cannot_be() -> None:
    with pytest.raises(InputError, match="zero sum"):
        PERFECT.measure(TANK, DRIVE.abs())
    with pytest.raises(InputError, match="Instrument: channels"):
        Instrument(torch.zeros(2, 3, dtype=torch.float64))
    with pytest.raises(InputError, match="Instrument: gain"):
        replace(PERFECT, gain=math.nan)
