"""The same body read by different devices has codes that agree within their deviations."""

import math
from dataclasses import replace

import pytest
import torch

import eitlens as eit
from eitlens.feature.maps import MapPrior
from eitlens.measure.map_code import Doubt, map_code, mapped_readings, reduced
from eitlens.phantom.objects import ObjectSampler

WAVES, BODIES = 32, 800
TANK = eit.Disk(32, scale=0.1)
DEVICES = {
    "16 adjacent": (16, 0.5, eit.Pattern.named("adjacent", 16, current=1e-3)),
    "16 opposite, all channels": (16, 0.3, eit.Pattern.named("opposite", 16, current=1e-3, driven=True)),
    "32 adjacent": (32, 0.5, eit.Pattern.named("adjacent", 32, current=1e-3)),
    "32 trigonometric": (
        32,
        0.6,
        eit.Pattern.named("trigonometric", 32, current=1e-3, readings="mean", driven=True),
    ),
    "32 with a gap": (32, 0.5, eit.Pattern.named("skip-3", 32, current=1e-3).without(4, 5, 6)),
}


@pytest.fixture(scope="module")
def world() -> tuple[MapPrior, eit.PhantomBatch, torch.Tensor]:
    """A prior of some bodies, and four others with their maps."""
    sampler = ObjectSampler(3, eit.Disk(4), count=2, conductive=(2.0, 5.0), resistive=(0.2, 0.5))
    batch = sampler.batch(0, BODIES)
    maps = eit.BoundaryIntegralSolver(eit.Disk(4), nodes=48).modes(batch, WAVES)
    return MapPrior.fit(maps[4:], 256), batch[:4], maps[:4]


def codes(name, prior, batch, conductivity=0.3):
    count, coverage, pattern = DEVICES[name]
    electrodes = eit.Electrodes.even(TANK, count, coverage, impedance=1e-5, first=0.3)
    phantoms = [eit.Phantom(p.shapes, [conductivity * s for s in p.inside], conductivity) for p in batch]
    empty = eit.Phantom([], outside=conductivity)
    volts = eit.simulate_readings(electrodes, pattern, [*phantoms, empty], height=0.05)
    data = eit.Measurement.of_electrodes(electrodes, pattern, volts[:-1], volts[-1], height=0.05)
    return map_code(data, prior, Doubt(relative=0.03, floor=0.01))


@pytest.mark.parametrize("name", DEVICES)
def test_the_code_is_the_body_within_its_deviation(name, world):
    prior, batch, maps = world
    code, truth = codes(name, prior, batch), prior.coordinates(maps)
    miss = (code.mean - truth) / code.deviation
    assert float(miss.square().mean().sqrt()) < 1.5
    known = code.deviation.median(0).values < 0.2
    assert int(known.sum()) >= 10
    # The leading modes are told well, whatever the device.
    error = (code.mean - truth)[:, known].norm() / truth[:, known].norm()
    assert float(error) < 0.2


def test_devices_agree_within_their_deviations(world):
    prior, batch, _ = world
    found = {name: codes(name, prior, batch) for name in ("16 adjacent", "32 adjacent", "32 trigonometric")}
    first = found.pop("16 adjacent")
    for other in found.values():
        both = (first.deviation.square() + other.deviation.square()).sqrt()
        assert float(((first.mean - other.mean) / both).square().mean().sqrt()) < 1.3


def test_repeated_currents_are_brought_down_to_independent_ones():
    pattern = eit.Pattern.named("adjacent", 8, driven=True)
    generator = torch.Generator().manual_seed(0)
    potentials = torch.randn(8, 8, generator=generator, dtype=torch.float64)
    linear = pattern.stimulation @ potentials
    readings = pattern.read(linear)[None]
    basis = pattern.basis()
    expected = (basis.stimulations @ potentials) @ pattern.channels[0].T
    assert torch.allclose(reduced(pattern, readings)[0], expected, atol=1e-12)
    # One missing reading of eight dependent currents (rank seven) can be found from the others.
    readings[0, 5] = math.nan
    assert torch.allclose(reduced(pattern, readings)[0], expected, atol=1e-12)


def test_other_bodies_are_refused(world):
    body = eit.bodies.ellipse(0.2, 0.1)
    electrodes = eit.Electrodes.even(body, 16)
    pattern = eit.Pattern.named("adjacent", 16)
    data = eit.Measurement.of_electrodes(electrodes, pattern, torch.zeros(208), torch.ones(208))
    with pytest.raises(eit.InputError, match="round tanks"):
        map_code(data, world[0])


def test_a_misfit_is_what_no_body_and_no_drift_explains(world):
    prior, batch, _ = world
    electrodes = eit.Electrodes.even(TANK, 16, 0.5, impedance=1e-5)
    pattern = eit.Pattern.named("adjacent", 16, current=1e-3)
    phantoms = [eit.Phantom(p.shapes, p.inside, p.outside) for p in batch]
    volts = eit.simulate_readings(electrodes, pattern, [*phantoms, eit.Phantom([])])
    data = eit.Measurement.of_electrodes(electrodes, pattern, 0.95 * volts[:-1], volts[-1])
    readings = mapped_readings(data, prior)
    assert float(readings.misfit(readings.code()).max()) < 0.05
    noise = torch.randn(readings.readings.shape, generator=torch.Generator().manual_seed(0)).double()
    size = readings.readings[readings.readings.isfinite()].square().mean().sqrt()
    noisy = replace(readings, readings=readings.readings + 0.5 * size * noise)
    assert 0.001 < float(readings.size.min()) < float(readings.size.max()) < 1
    assert float(noisy.misfit(noisy.code()).min()) > 0.2
