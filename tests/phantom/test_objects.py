"""Random objects in tanks: of every form, in the body, apart, and a pure function of seed and number."""

import math
from itertools import combinations

import pytest
import torch

from eitlens.domain import Disk, Domain, bodies
from eitlens.errors import ConvergenceError, InputError
from eitlens.phantom import Ellipse, ObjectSampler, RoundedPolygon, Star, check_inside, indicator
from eitlens.phantom.raster import level_set

BODIES = [Disk(32), bodies.thorax().at(32)]


@pytest.mark.parametrize("body", BODIES)
def test_objects_are_in_the_body_and_apart(body: Domain) -> None:
    sampler = ObjectSampler(seed=5, body=body)
    batch = sampler.batch(0, 60)
    check_inside(body, batch)
    for phantom in batch:
        outlines = [shape.outline(shape.parameters(), 48) for shape in phantom.shapes]
        assert all(float(body.clearance(outline).min()) > sampler.gap - 1e-9 for outline in outlines)
        for one, other in combinations(outlines, 2):
            assert float(torch.cdist(one, other).min()) > sampler.gap - 1e-9


def test_a_sample_does_not_depend_on_its_batch() -> None:
    sampler = ObjectSampler(seed=5, body=BODIES[0])
    whole = list(sampler.batch(0, 12))
    assert list(sampler.batch(5, 9)) == whole[5:9]
    assert list(sampler.sample(torch.tensor([11, 3]))) == [whole[11], whole[3]]
    assert list(ObjectSampler(seed=6, body=BODIES[0]).batch(0, 12)) != whole


def test_all_forms_all_numbers_and_both_kinds_of_conductivity() -> None:
    phantoms = list(ObjectSampler(seed=1, body=BODIES[0], outside=0.3).batch(0, 300))
    numbers = [sum(len(p.shapes) == k for p in phantoms) for k in (1, 2, 3, 4)]
    assert min(numbers) > 50
    shapes = [shape for p in phantoms for shape in p.shapes]
    circles = [s for s in shapes if isinstance(s, Ellipse) and s.semi_axes[0] == s.semi_axes[1]]
    corners = {len(s.vertices) for s in shapes if isinstance(s, RoundedPolygon)}
    assert corners == {3, 4, 5, 6, 9, 12}
    kinds = [
        sum(isinstance(s, kind) for s in shapes) / len(shapes) for kind in (Ellipse, RoundedPolygon, Star)
    ]
    assert kinds == pytest.approx([2 / 10, 7 / 10, 1 / 10], abs=0.06)
    assert len(circles) / len(shapes) == pytest.approx(1 / 10, abs=0.05)
    ratios = torch.tensor([sigma / 0.3 for p in phantoms for sigma in p.inside])
    worse = ratios < 1
    assert float(worse.double().mean()) == pytest.approx(0.5, abs=0.06)
    assert float(ratios[worse].log().mean()) == pytest.approx(math.log(0.01 * 0.5) / 2, rel=0.1)
    assert float(ratios[~worse].log().mean()) == pytest.approx(math.log(2 * 100) / 2, rel=0.1)


def test_masks_are_those_of_the_level_set() -> None:
    """They look only at the nodes in the box around each shape."""
    batch = ObjectSampler(seed=2, body=BODIES[0]).batch(0, 12)
    assert torch.equal(indicator(BODIES[0], batch), level_set(BODIES[0], batch) < 0)


def test_objects_that_overlap_where_they_may() -> None:
    sampler = ObjectSampler(seed=0, body=BODIES[0], size=(0.5, 0.6), disjoint=False)
    assert max(len(p.shapes) for p in sampler.batch(0, 40)) == 4
    with pytest.raises(ConvergenceError, match=r"object 2 .* finds no place in the disk"):
        ObjectSampler(seed=0, body=BODIES[0], size=(0.6, 0.6)).batch(0, 12)
    crowded = ObjectSampler(seed=0, body=BODIES[0], size=(0.6, 0.6), crowded=True).batch(0, 12)
    assert {len(phantom.shapes) for phantom in crowded} == {1}


@pytest.mark.parametrize("body", BODIES)
def test_huddled_objects_come_near_to_each_other_and_to_the_wall(body: Domain) -> None:
    def distances(huddled: float) -> tuple[torch.Tensor, torch.Tensor]:
        batch = ObjectSampler(seed=5, body=body, gap=0.03, huddled=huddled).batch(0, 60)
        check_inside(body, batch)
        wall, between = [], []
        for phantom in batch:
            outlines = [shape.outline(shape.parameters(), 96) for shape in phantom.shapes]
            wall += [float(body.clearance(outline).min()) for outline in outlines]
            for (one, curve), (other, second) in combinations(zip(phantom.shapes, outlines, strict=True), 2):
                between.append(float(torch.cdist(curve, second).min()))
                assert not type(one).within(one.parameters(), second, 0.0).any()
                assert not type(other).within(other.parameters(), curve, 0.0).any()
        return torch.tensor(wall), torch.tensor(between)

    for loose, close in zip(distances(0.0), distances(1.0), strict=True):
        assert float(close.min()) > 0.025
        assert float((close < 0.12).double().mean()) > 1.5 * float((loose < 0.12).double().mean())


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"count": 0}, "count must be at least 1"),
        ({"size": (0.2, 1.0)}, "size"),
        ({"resistive": (0.0, 0.5)}, "resistive"),
        ({"conductive": (0.5, 2.0)}, "conductive"),
        ({"gap": 1.0}, "gap"),
        ({"outside": 0.0}, "outside conductivity"),
        ({"radius": 0.0}, "radius"),
        ({"huddled": 1.5}, "huddled"),
        ({"huddled": 0.5, "disjoint": False}, "keep a gap"),
    ],
)
def test_what_cannot_be(options: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        ObjectSampler(seed=0, body=BODIES[0], **options)
