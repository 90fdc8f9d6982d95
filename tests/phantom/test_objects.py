"""Random objects in a tank, and the pixels they cover."""

import pytest
import torch

import eitlens as eit
from eitlens.phantom.objects import ObjectSampler
from eitlens.phantom.scanline import classes, inside_pixels

COUNT = 64


@pytest.fixture(scope="module")
def batch() -> eit.PhantomBatch:
    return ObjectSampler(seed=4).batch(0, COUNT)


def test_objects_are_apart_and_in_the_tank(batch):
    (group,) = batch.groups
    outline = group.kind.curve(group.parameters, 96).point
    assert float(outline[group.present].norm(dim=-1).max()) < 0.99
    # The solver refuses outlines that overlap.
    assert eit.BoundaryIntegralSolver(eit.Disk(4), nodes=48).modes(batch[:16], 8).isfinite().all()


def test_a_tank_is_a_function_of_its_number(batch):
    again = ObjectSampler(seed=4).batch(5, 6)
    assert torch.equal(again.groups[0].parameters[0], batch.groups[0].parameters[5])
    assert torch.equal(again.groups[0].inside[0], batch.groups[0].inside[5])


def test_both_kinds_are_drawn_within_their_ranges(batch):
    (group,) = batch.groups
    inside = group.inside[group.present]
    resistive = inside < 1
    assert 0.3 < float(resistive.double().mean()) < 0.7
    assert float(inside[resistive].min()) >= 0.005
    assert float(inside[resistive].max()) <= 0.16
    assert float(inside[~resistive].min()) >= 4
    assert {1, 2, 3, 4} <= set(group.present.sum(1).tolist())


def test_settings_that_cannot_be_are_refused():
    with pytest.raises(eit.InputError, match="radius"):
        ObjectSampler(seed=1, radius=(0.5, 0.2))
    with pytest.raises(eit.InputError, match="extent"):
        ObjectSampler(seed=1, radius=(0.1, 1.2))


def test_scan_lines_see_what_the_shapes_say(batch):
    place = (torch.arange(64, dtype=torch.float64) + 0.5) / 32 - 1
    points = torch.stack(torch.meshgrid(place, place, indexing="ij"), -1).reshape(-1, 2)
    some = batch[:12]
    sigma = some.conductivity(points[None]).view(12, 64, 64)
    expected = torch.where(sigma < 1, 1, torch.where(sigma > 1, 2, 0))
    assert float((classes(some, 64) != expected).double().mean()) < 2e-4


def test_a_polygon_that_is_not_convex():
    letter = torch.tensor(
        [[-0.8, -0.8], [0.8, -0.8], [0.8, 0.1], [0.1, 0.1], [0.1, 0.8], [-0.8, 0.8]]
    ).double()
    found = inside_pixels(letter, 20)
    expected = torch.zeros(20, 20, dtype=torch.bool)
    expected[2:18, 2:11] = True
    expected[2:11, 2:18] = True
    assert torch.equal(found, expected)
