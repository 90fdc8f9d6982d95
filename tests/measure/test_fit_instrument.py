"""A device with errors, fitted to the empty tank that it reads, and readings freed of its errors."""

import pytest
import torch

import eitlens as eit
from eitlens.electrodes import Instrument
from eitlens.measure.instrument import fit_instrument, freed

COUNT, SIGMA = 16, 0.3
TANK = eit.Disk(32, scale=0.1)
ELECTRODES = eit.Electrodes.even(TANK, COUNT, impedance=1e-5)


def pattern() -> eit.Pattern:
    """Pairs at several distances, read at fifteen neighbours."""
    eye = torch.eye(COUNT, dtype=torch.float64)
    drive = torch.cat([eye - eye.roll(k, 1) for k in (1, 3, 8)])
    return eit.Pattern(1e-3 * drive, Instrument.neighbours(COUNT))


def device(size: float) -> Instrument:
    """Errors of this size; those of all sources or all gains at once are the conductivity's."""
    draw = torch.Generator().manual_seed(2)
    common, gain = (torch.randn(COUNT - 1, generator=draw, dtype=torch.float64) for _ in range(2))
    source = torch.randn(COUNT, generator=draw, dtype=torch.float64)
    rows = Instrument.neighbours(COUNT)
    return Instrument(rows, *(size * (part - part.mean()) for part in (gain, common, source)))


@pytest.fixture(scope="module")
def tank() -> tuple[eit.Measurement, torch.Tensor]:
    """A reading of water and one of a body through the device, and the change that a perfect one would read."""
    phantoms = [eit.Phantom([], outside=SIGMA), eit.Phantom([eit.circle((0.4, 0.2), 0.3)], [0.01], SIGMA)]
    solver = eit.CompleteElectrodeSolver(eit.BoundaryIntegralSolver(TANK), ELECTRODES)
    resistance, drive = solver.resistances(phantoms), pattern().stimulation
    true = device(0.01).measure(resistance, drive).flatten(1)
    clean = device(0.0).measure(resistance, drive).flatten(1)
    data = eit.Measurement.of_electrodes(ELECTRODES, pattern(), true[1], true[0])
    return data, clean[1] - clean[0]


def test_the_device_is_found(tank):
    data, _ = tank
    found, true = fit_instrument(data), device(0.01)
    assert found.residual < 1e-3
    assert float((found.instrument.common - true.common).norm() / true.common.norm()) < 0.02
    assert found.tank.conductivity == pytest.approx(SIGMA, rel=0.01)


def test_freed_readings_are_those_of_a_perfect_device(tank):
    data, clean = tank
    corrected = freed(data, fit_instrument(data))
    before = float((data.difference[0] - clean).norm() / clean.norm())
    after = float((corrected.difference[0] - clean).norm() / clean.norm())
    assert before > 0.01
    assert after < before / 5
    assert "common mode" in corrected.notes[-1]


def test_gains_may_be_left_out(tank):
    data, _ = tank
    found = fit_instrument(data, gains=False)
    assert float(found.instrument.gain.abs().max()) < 1e-12
    assert found.residual > fit_instrument(data).residual


def test_missing_readings_stay_missing(tank):
    data, _ = tank
    keep = torch.ones(data.pattern.count, dtype=torch.bool)
    keep[3:9] = False
    corrected = freed(data.masked(keep, "left out"), fit_instrument(data))
    assert torch.equal(corrected.voltages[0].isfinite(), keep)


def test_rotating_channels_are_refused():
    rotating = eit.Pattern.named("adjacent", COUNT, rotating=True)
    data = eit.Measurement.of_electrodes(ELECTRODES, rotating, torch.ones(rotating.count))
    with pytest.raises(eit.InputError, match="rotate"):
        fit_instrument(data)
