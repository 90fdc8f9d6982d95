"""Random phantoms: sample k of seed s is a pure function of (s, k)."""

import math

import pytest
import torch

from eitlens.domain import Square
from eitlens.errors import ConvergenceError, InputError
from eitlens.phantom import Ellipse, EllipseSampler, Polygon, PolygonSampler, Sampler, indicator, samplers

SAMPLERS = {
    "ellipses": EllipseSampler(seed=7),
    "disjoint ellipses": EllipseSampler(seed=7, disjoint=True),
    "polygons": PolygonSampler(seed=7),
    "triangles": PolygonSampler(seed=7, corners=3),
    "disjoint polygons": PolygonSampler(seed=7, count=3, disjoint=True),
}
every_sampler = pytest.mark.parametrize("sampler", SAMPLERS.values(), ids=SAMPLERS.keys())
disjoint = pytest.mark.parametrize(
    "sampler", [s for s in SAMPLERS.values() if s.disjoint], ids=[k for k in SAMPLERS if "disjoint" in k]
)


@every_sampler
def test_a_sample_does_not_depend_on_its_batch(sampler: Sampler) -> None:
    whole = list(sampler.batch(0, 12))
    assert list(sampler.batch(5, 9)) == whole[5:9]
    assert list(sampler.sample(torch.tensor([11, 3]))) == [whole[11], whole[3]]
    assert sampler.phantom(4) == whole[4]
    assert len(set(whole)) == 12


@every_sampler
def test_shapes_keep_within_the_extent(sampler: Sampler) -> None:
    (group,) = sampler.batch(0, 200).groups
    box = group.kind.bounds(group.parameters)
    assert float(box.abs().amax()) <= 0.95
    assert float(box.abs().amax()) > 0.9  # and use it


@every_sampler
def test_shapes_are_simple_counter_clockwise_and_positive(sampler: Sampler) -> None:
    """Unpacking runs the checks of the shape's own constructor."""
    batch = sampler.batch(0, 20)
    (group,) = batch.groups
    assert bool((group.kind.area(group.parameters) > 0).all())
    assert all(
        torch.equal(group.kind.unpack(row).parameters(), row) for row in group.parameters.flatten(0, 1)
    )


def test_ellipses_have_the_papers_ranges() -> None:
    (group,) = EllipseSampler(seed=3).batch(0, 500).groups
    _, _, short, long, angle = group.parameters.flatten(0, 1).T
    for values, low, high in ((short, 0.1, 0.2), (long, 0.2, 0.4), (angle, 0, 2 * torch.pi)):
        assert low <= float(values.amin()) < low + 0.01 * (high - low)
        assert high - 0.01 * (high - low) < float(values.amax()) <= high
        assert float(values.mean()) == pytest.approx((low + high) / 2, rel=0.03)


def test_the_papers_phantoms_cover_13_percent() -> None:
    covered = indicator(Square(50), EllipseSampler(seed=0).batch(0, 400)).double().mean()
    assert float(covered) == pytest.approx(0.13, abs=0.01)


@disjoint
def test_disjoint_shapes_are_apart(sampler: EllipseSampler | PolygonSampler) -> None:
    (group,) = sampler.batch(0, 40).groups
    outline, slots = group.kind.outline(group.parameters, 300), group.parameters.shape[1]
    for i in range(slots):
        for j in range(i):
            assert float(group.kind.level_set(group.parameters[:, i], outline[:, j]).amin()) > 0
            assert float(group.kind.level_set(group.parameters[:, j], outline[:, i]).amin()) > 0
            assert float(torch.cdist(outline[:, i], outline[:, j]).amin()) > 0.75 * sampler.gap


@disjoint
def test_a_draw_that_is_apart_is_kept(sampler: EllipseSampler | PolygonSampler) -> None:
    index = torch.arange(40)
    first = sampler.draw(index, 0)
    good = sampler.apart(first)
    assert 0 < int(good.sum()) < 40
    (group,) = sampler.sample(index).groups
    torch.testing.assert_close(group.parameters[good], first[good], rtol=0, atol=0)


def test_golden_sample() -> None:
    """Phantoms of a seed stay the same for ever: never change this."""
    expected = Ellipse(
        center=(-0.3591941247338809, 0.30514867388317146),
        semi_axes=(0.12210986236806944, 0.27479242526644376),
        angle=3.068896326286254,
    )
    found = EllipseSampler(seed=2023).phantom(0).shapes[0]
    torch.testing.assert_close(found.parameters(), expected.parameters(), rtol=1e-14, atol=1e-15)


def test_conductivities_are_as_asked() -> None:
    phantom = PolygonSampler(seed=0, inside=0.1, outside=2.0).phantom(0)
    assert (phantom.inside, phantom.outside) == ((0.1,) * 4, 2.0)


def test_what_cannot_be_disjoint_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(samplers, "_ROUNDS", 3)
    sampler = EllipseSampler(seed=0, count=2, short=(0.6, 0.6), long=(0.6, 0.6), disjoint=True)
    with pytest.raises(
        ConvergenceError,
        match=r"2 ellipses in 48 draws.*0\.04",
    ):
        sampler.batch(0, 2)


@pytest.mark.parametrize("kind", [EllipseSampler, PolygonSampler])
def test_what_cannot_be_disjoint_costs_the_draws_of_one_sample(
    kind: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn, draw = [], kind.draw

    def counted(self: Sampler, index: torch.Tensor, attempt: samplers.Attempt) -> torch.Tensor:
        rows: torch.Tensor = draw(self, index, attempt)
        drawn.append(rows.shape[:-2].numel())
        return rows

    monkeypatch.setattr(kind, "draw", counted)
    monkeypatch.setattr(samplers, "_ROUNDS", 3)
    with pytest.raises(ConvergenceError, match=r"40 \w+s in 48 draws"):
        kind(seed=0, count=40, disjoint=True).batch(0, 100)
    assert drawn == [100, 16, 16, 16]


@pytest.mark.parametrize("corners", [3, 4, 5, 12])
def test_the_least_area_of_a_polygon_is_a_bound_and_not_far_off(corners: int) -> None:
    sampler = PolygonSampler(seed=0, corners=corners, radius=(0.2, 0.2))
    (group,) = sampler.batch(0, 2000).groups
    smallest = float(Polygon.area(group.parameters).amin())
    assert 0.5 * smallest < sampler._least_area() <= smallest


def test_more_than_there_is_room_for_is_refused_at_once() -> None:
    complaint = r"^1000000 disjoint shapes .* each do not fit into \|x\|, \|y\| <= 0\.95"
    for kind in (EllipseSampler, PolygonSampler):
        with pytest.raises(InputError, match=complaint):
            kind(seed=0, count=10**6, disjoint=True)
    assert EllipseSampler(seed=0, count=10**6).count == 10**6


@pytest.mark.parametrize(
    ("kind", "options", "complaint"),
    [
        (EllipseSampler, {"count": 0}, "EllipseSampler: count must be at least 1, got 0"),
        (EllipseSampler, {"short": (0.0, 0.1)}, r"short=\(0.0, 0.1\): expected 0 < low <= high"),
        (EllipseSampler, {"long": (0.4, 0.2)}, r"long=\(0.4, 0.2\): expected 0 < low <= high"),
        (EllipseSampler, {"long": (0.4, 1.2)}, "high < extent=0.95"),
        (
            EllipseSampler,
            {"extent": 1.5},
            "expected 0 < extent <= 1 and a gap of at least 0, got 1.5 and 0.04",
        ),
        (PolygonSampler, {"gap": -0.1}, "a gap of at least 0, got 0.95 and -0.1"),
        (PolygonSampler, {"gap": math.nan}, "a gap of at least 0, got 0.95 and nan"),
        (PolygonSampler, {"corners": 2}, "PolygonSampler: corners must be at least 3, got 2"),
        (PolygonSampler, {"radius": (-1.0, 0.2)}, "expected 0 < low"),
        (PolygonSampler, {"inside": -1.0}, "inside conductivity must be positive"),
    ],
)
def test_bad_distributions_are_refused(kind: type, options: dict[str, object], complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        kind(seed=0, **options)
