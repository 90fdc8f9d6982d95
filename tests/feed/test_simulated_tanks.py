"""Simulated tanks: readings without errors are those of the exact solver, bodies turn with their maps."""

import math

import pytest
import torch

import eitlens as eit
from eitlens.feature.maps import MapPrior
from eitlens.feed.fleet import Fleet
from eitlens.feed.tanks import Bodies, ReadingDevice, Ring, Uncertain, examples
from eitlens.measure.map_code import reduced
from eitlens.phantom.objects import ObjectSampler

WAVES = 16
CPU = torch.device("cpu")
SILENT = Uncertain(*([0.0] * 3), (0.0, 0.0), *([0.0] * 10))
SAMPLER = ObjectSampler(2, eit.Disk(4), count=2, size=(0.15, 0.4), radius=0.03)


@pytest.fixture(scope="module")
def bank() -> Bodies:
    return Bodies.simulated(SAMPLER, 48, WAVES, CPU, 16)


@pytest.fixture(scope="module")
def prior(bank) -> MapPrior:
    return MapPrior.fit(bank.maps.double(), 60)


def generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_readings_without_errors_are_the_exact_solvers(bank, prior):
    angles = torch.arange(16, dtype=torch.float64) * (math.pi / 8)
    pattern = eit.Pattern.named("skip-2", 16).without(3)
    ring = Ring(angles, 0.2, 1e-3)
    device = ReadingDevice.of(pattern, pattern.mask, ring, ring.pairs(2, WAVES, SILENT, generator(0)), prior)
    found = device.differences(bank.maps[:4].double(), SILENT, generator(1))
    disk = eit.Disk(4)
    electrodes = eit.Electrodes(disk, angles, 0.2, 1e-3)
    solver = eit.CompleteElectrodeSolver(eit.BoundaryIntegralSolver(disk, nodes=64), electrodes, waves=WAVES)
    exact = pattern.read(solver.difference(SAMPLER.batch(0, 4), pattern.stimulation))
    expected = reduced(pattern, exact).flatten(1)
    there = expected.isfinite()
    assert torch.equal(found.isfinite(), there)
    assert float((found - expected)[there].norm() / expected[there].norm()) < 1e-4


def test_bodies_turn_with_their_maps(bank):
    rows, angle = torch.arange(8), torch.linspace(0, 6, 8, dtype=torch.float64)
    maps, outlines = bank.moved(rows, angle, rows % 2 == 0)
    solver = eit.BoundaryIntegralSolver(eit.Disk(4), nodes=256)
    for k in (0, 1, 5):
        there = bank.log_sigma[k] != 0
        shapes = [eit.RoundedPolygon(points.tolist(), 1e-3) for points in outlines[k, there]]
        # A polygon through the nodes of an outline is off by a thousandth of its size.
        again = solver.modes(eit.Phantom(shapes, bank.log_sigma[k, there].double().exp().tolist()), WAVES)
        assert float((maps[k] - again).norm() / again.norm()) < 0.01


def test_examples_are_a_function_of_the_seed_and_read_by_all_devices(bank, prior):
    fleet, draw = Fleet(pairs=2), generator(3)
    devices = [fleet.device(prior, draw, Uncertain()) for _ in range(3)]
    one, two = (examples(bank, torch.arange(9), devices, Uncertain(), 32, generator(seed)) for seed in (5, 5))
    assert torch.equal(one.code, two.code)
    assert one.code.shape == (9, 3 * prior.size + 1)
    assert bool(one.code.isfinite().all())
    assert torch.equal((one.classes == 1), one.log_sigma < 0)
    assert torch.equal((one.classes == 2), one.log_sigma > 0)


def test_changes_of_contacts_cost_less_where_their_directions_are_known(bank, prior):
    angles = torch.arange(16, dtype=torch.float64) * (math.pi / 8)
    pattern, spread = eit.Pattern.named("adjacent", 16, driven=True), Uncertain(relative=0.0, floor=0.0)
    ring = Ring(angles, 0.25, 1e-3)
    pairs = ring.pairs(32, WAVES, spread, generator(0))
    plain = ReadingDevice.of(pattern, pattern.mask, ring, pairs, prior)
    taught = plain.with_changes(spread, generator(1), 256, 32)
    maps = bank.maps.double()
    y, truth = plain.differences(maps, spread, generator(2)), prior.coordinates(maps)
    plain_miss, miss = (
        float(((code.mean - truth) / code.deviation).square().mean().sqrt())
        for code in (plain.code(y), taught.code(y))
    )
    assert miss < plain_miss / 2, (miss, plain_miss)


def test_fleets_that_cannot_be_are_refused():
    with pytest.raises(eit.InputError, match="overlap"):
        Fleet(coverage=(0.5, 0.99))
    with pytest.raises(eit.InputError, match="impedance"):
        Fleet(impedance=(0.1, 0.01))
