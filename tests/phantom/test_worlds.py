"""Random bodies of many worlds: each world is what it says, and a body is a pure function of seed and number."""

import math

import pytest
import torch

from eitlens.domain import Disk, Square
from eitlens.errors import InputError
from eitlens.phantom import EllipseSampler, Phantom, WorldSampler, check_inside, circle, stack
from eitlens.phantom.medium import WAVES, Medium, field, random_waves
from eitlens.phantom.raster import classes, conductivity, indicator
from eitlens.phantom.tensors import from_tensors, join, to_tensors
from eitlens.phantom.worlds import WORLDS

SQUARE = Square(32)


def of(*worlds: str, count: int = 6) -> WorldSampler:
    return WorldSampler(seed=11, body=SQUARE, worlds=worlds or WORLDS, count=count)


def shapes(batch, k):
    return [int(group.present[k].sum()) for group in batch.groups]


def test_a_body_does_not_depend_on_its_batch():
    whole, some = of().batch(0, 40), of().sample(torch.tensor([17, 3]))
    tensors = to_tensors(whole)
    for name, part in to_tensors(some).items():
        assert torch.equal(part, tensors[name][[17, 3]]), name


def test_the_worlds_are_equally_likely_and_a_world_named_twice_is_twice_as_likely():
    drawn = of("smooth", "phases", "smooth").draw(torch.arange(3000))
    assert torch.bincount(drawn).double() / 3000 == pytest.approx([1 / 3] * 3, abs=0.03)


def test_the_paper_is_four_ellipses_of_contrast_ten_apart_where_it_says_so():
    for world, apart in (("paper", False), ("paper-disjoint", True)):
        batch = of(world).batch(0, 30)
        assert all(shapes(batch, k) == [4, 0, 0] for k in range(30))
        ellipses = batch.groups[0]
        assert set(ellipses.inside[ellipses.present].tolist()) == {10.0}
        sampler = EllipseSampler(seed=0, disjoint=True)
        assert bool(sampler.apart(ellipses.parameters[:, :4]).all()) == apart


def test_inclusions_have_every_number_form_and_contrast():
    batch = of("inclusions").batch(0, 700)
    numbers = torch.stack([group.present.sum(1) for group in batch.groups]).sum(0)
    assert torch.bincount(numbers).double() / 700 == pytest.approx([1 / 7] * 7, abs=0.05)
    inside = torch.cat([group.inside[group.present] for group in batch.groups])
    worse = inside < 1
    assert float(worse.double().mean()) == pytest.approx(0.5, abs=0.05)
    assert 0.01 <= float(inside.min()) < 0.012
    assert 90 < float(inside.max()) <= 100
    # Uniform in the logarithm.
    assert float(inside[~worse].log().mean()) == pytest.approx(math.log(200) / 2, rel=0.05)
    assert float(inside[worse].log().mean()) == pytest.approx(math.log(0.005) / 2, rel=0.05)
    spread = torch.stack(
        [
            torch.cat([group.inside[k][group.present[k]] for group in batch.groups]).unique().numel()
            == torch.tensor(1)
            for k in torch.nonzero(numbers > 1).flatten().tolist()
        ]
    )
    assert float(spread.double().mean()) == pytest.approx(0.5, abs=0.06)
    check_inside(SQUARE, batch)


def test_disjoint_inclusions_do_not_overlap():
    most = {}
    for world in ("inclusions-disjoint", "inclusions"):
        phantoms = [one for one in of(world, count=4).batch(0, 16) if one.shapes]
        masks = [indicator(SQUARE, [Phantom([shape]) for shape in one.shapes]) for one in phantoms]
        most[world] = max(int(mask.sum(0).max()) for mask in masks)
    assert most["inclusions-disjoint"] == 1
    assert most["inclusions"] > 1


def test_a_random_field_has_unit_variance_and_its_length():
    normal = torch.randn(2000, WAVES, WAVES, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    points = Square(16).nodes().flatten(0, 1)
    middle = points[(points.abs() < 0.9).all(-1)]
    window = (1 - (middle / 0.95).abs() ** 8).prod(-1)
    near = []
    for length in (0.15, 0.6):
        values = (
            field(random_waves(normal, torch.full((2000,), length, dtype=torch.float64)), middle[None])
            / window
        )
        assert float(values.var(0).mean()) == pytest.approx(1.0, abs=0.12)
        near.append(float((values[:, 0] * values[:, 2]).mean()))
    assert near[1] > near[0] + 0.2


def test_the_medium_is_uniform_where_currents_enter():
    batch = of("phases", "smooth", "mixed").batch(0, 30)
    edge = SQUARE.boundary()
    assert torch.equal(batch.conductivity(edge[None]), torch.ones(30, len(edge), dtype=torch.float64))


def test_phases_are_where_the_field_is_above_and_below():
    batch = of("phases").batch(0, 60)
    points = SQUARE.nodes().flatten(0, 1)[None]
    g, medium = field(batch.medium.phases, points), batch.medium
    sigma = batch.conductivity(points)
    assert torch.equal(sigma > 1, g > medium.levels[:, :1])
    assert torch.equal(sigma < 1, -g > medium.levels[:, 1:])
    kinds = [bool((row > 1).any()) + 2 * bool((row < 1).any()) for row in sigma]
    assert {1, 2, 3} <= set(kinds)


def test_a_smooth_body_is_the_exponential_of_its_field():
    batch = of("smooth").batch(0, 5)
    points = SQUARE.nodes().flatten(0, 1)[None]
    expected = field(batch.medium.texture, points).exp()
    assert torch.equal(batch.conductivity(points), expected)
    assert not any(any(shapes(batch, k)) for k in range(5))


def test_a_batch_without_shapes_or_medium_is_trimmed():
    even, uneven = of("paper").batch(0, 4), of("smooth").batch(0, 4)
    assert even.trimmed().medium is None
    assert uneven.trimmed().groups == ()
    points = SQUARE.nodes().flatten(0, 1)[None]
    for batch in (even, uneven):
        assert torch.equal(batch.trimmed().conductivity(points), batch.conductivity(points))


def test_media_travel_as_tensors():
    batch = of().batch(0, 12)
    again = from_tensors(to_tensors(join([batch[:5], batch[5:]])))
    assert isinstance(again.medium, Medium)
    points = SQUARE.nodes().flatten(0, 1)[None]
    assert torch.equal(again.conductivity(points), batch.conductivity(points))


def test_a_medium_is_no_list_of_shapes():
    batch = of("smooth").batch(0, 2)
    with pytest.raises(InputError):
        batch.phantom(0)


def test_classes_lie_half_way_to_the_weakest_inclusion():
    sigma = torch.tensor([0.01, 0.5, 0.72, 1.0, 1.39, 2.0, 100.0])
    assert classes(sigma.log()).tolist() == [1, 1, 0, 0, 0, 2, 2]
    body = stack([Phantom([circle((0.3, 0.3), 0.2), circle((-0.3, 0.3), 0.2)], [2.0, 0.5])])
    assert classes(conductivity(SQUARE, body).log()).unique().tolist() == [0, 1, 2]


def test_what_cannot_be_meant_is_refused():
    for wrong in ({"worlds": ()}, {"worlds": ("papers",)}, {"disjoint": True}, {"count": 0}):
        with pytest.raises(InputError):
            WorldSampler(seed=1, body=SQUARE, **wrong)
    with pytest.raises(InputError):
        WorldSampler(seed=1, body=Disk(32))
