"""One battery for every kind of shape: a new kind joins with a sampler of its own in SAMPLERS."""

import pytest
import torch
from matplotlib.path import Path
from torch import Tensor

from eitlens.domain import Square
from eitlens.phantom import (
    EllipseSampler,
    Phantom,
    Polygon,
    PolygonSampler,
    RoundedPolygon,
    Shape,
    Star,
    area_fraction,
)
from eitlens.phantom.kinds import KINDS

SAMPLERS = (EllipseSampler(seed=5), PolygonSampler(seed=5, corners=7))
ROWS: dict[type[Shape], Tensor] = {g.kind: g.parameters[:, 0] for s in SAMPLERS for g in s.batch(0, 6).groups}
ROWS[RoundedPolygon] = torch.cat([torch.full((6, 1), 0.03, dtype=torch.float64), ROWS[Polygon]], -1)
ROWS[Star] = torch.tensor([[0.1, 0.2, 0.4, 0.1, 0.02 * k, 0.05, -0.01 * k] for k in range(1, 7)]).double()
POINTS = 2 * torch.rand(500, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0)) - 1

every_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.__name__)


def test_every_kind_has_a_sampler_here() -> None:
    assert set(ROWS) == set(KINDS.values())


@every_kind
def test_unpack_undoes_parameters(kind: type[Shape]) -> None:
    for row in ROWS[kind]:
        shape = kind.unpack(row)
        assert torch.equal(shape.parameters(), row)
        assert kind.unpack(shape.parameters()) == shape


@every_kind
def test_the_level_set_vanishes_on_the_outline(kind: type[Shape]) -> None:
    values = kind.level_set(ROWS[kind], kind.outline(ROWS[kind], 100))
    assert float(values.abs().amax()) < 1e-13


@every_kind
def test_the_level_set_is_negative_exactly_inside(kind: type[Shape]) -> None:
    """Against matplotlib's winding count in a fine outline, away from it."""
    for row in ROWS[kind]:
        outline = kind.outline(row, 4000)
        clear = torch.cdist(POINTS, outline).amin(1) > 1e-3
        expected = torch.from_numpy(Path(outline.numpy()).contains_points(POINTS.numpy()))
        assert torch.equal((kind.level_set(row, POINTS) < 0)[clear], expected[clear])
        assert bool(expected.any())


@every_kind
def test_within_grows_from_the_shape_with_the_gap(kind: type[Shape]) -> None:
    row = ROWS[kind][0]
    nested = torch.stack([kind.within(row, POINTS, gap) for gap in (0.0, 0.05, 0.1)])
    assert torch.equal(nested[0], kind.level_set(row, POINTS) <= 0)
    assert bool((nested[1:] >= nested[:-1]).all())
    assert nested.sum(1).diff().gt(0).all()


@every_kind
def test_within_is_about_the_distance(kind: type[Shape]) -> None:
    for row in ROWS[kind]:
        distance = torch.cdist(POINTS, kind.outline(row, 2000)).amin(1)
        outside = kind.level_set(row, POINTS) > 0
        within = kind.within(row, POINTS, 0.05)[outside]
        assert bool(within[distance[outside] < 0.04].all())
        assert not bool(within[distance[outside] > 0.051].any())


@every_kind
def test_bounds_are_tight(kind: type[Shape]) -> None:
    outline, box = kind.outline(ROWS[kind], 4000), kind.bounds(ROWS[kind])
    touched = torch.cat([outline.amin(-2), outline.amax(-2)], -1)
    torch.testing.assert_close(touched, box, rtol=0, atol=1e-6)


@every_kind
def test_the_outline_is_counter_clockwise_and_encloses_the_area(kind: type[Shape]) -> None:
    outline = kind.outline(ROWS[kind], 2000)
    after = outline.roll(-1, -2)
    enclosed = 0.5 * (outline[..., 0] * after[..., 1] - after[..., 0] * outline[..., 1]).sum(-1)
    rtol = 2e-4 if kind in (RoundedPolygon, Star) else 1e-5  # 256 vertices stand for their outline
    torch.testing.assert_close(enclosed, kind.area(ROWS[kind]), rtol=rtol, atol=0)


@every_kind
def test_the_area_fractions_add_up_to_the_area(kind: type[Shape]) -> None:
    square = Square(60)
    for row in ROWS[kind][:3]:
        covered = area_fraction(square, Phantom([kind.unpack(row)])).sum() * square.h**2
        assert float(covered) == pytest.approx(float(kind.area(row)), rel=1e-3)


@every_kind
def test_a_batch_is_a_loop(kind: type[Shape]) -> None:
    together = kind.level_set(ROWS[kind][:, None], POINTS.expand(1, 1, -1, -1))
    for row, values in zip(ROWS[kind], together, strict=True):
        torch.testing.assert_close(values[0], kind.level_set(row, POINTS), rtol=0, atol=1e-14)


@every_kind
def test_the_level_set_is_differentiable_in_the_parameters(kind: type[Shape]) -> None:
    row = ROWS[kind][0].clone().requires_grad_()
    assert torch.autograd.gradcheck(lambda p: kind.level_set(p, POINTS[:20]), row)
