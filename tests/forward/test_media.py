"""The grid solver on bodies whose medium is not uniform, against its own solution for a given field."""

import pytest
import torch

from eitlens.domain import Square
from eitlens.forward import Field, GridSolver, currents
from eitlens.phantom import Ellipse, Phantom, WorldSampler, stack
from eitlens.phantom.batch import PhantomBatch
from eitlens.phantom.medium import WAVES, Medium
from eitlens.phantom.raster import conductivity


def textured(height: float) -> PhantomBatch:
    """An ellipse, smaller than the texture's waves, in a body with a texture of one wave."""
    plain = stack([Phantom([Ellipse((0.2, -0.1), (0.25, 0.4), 0.5)], 5.0)])
    zero = torch.zeros(1, WAVES, WAVES, dtype=torch.float64)
    wave = zero.clone()
    wave[0, 1, 2] = height
    levels = torch.full((1, 2), torch.inf, dtype=torch.float64)
    return PhantomBatch(plain.groups, plain.outside, Medium(zero, levels, torch.ones_like(levels), wave))


def solved(body, n: int) -> torch.Tensor:
    square = Square(n)
    found = GridSolver(square, 1e-8).difference(body(square), currents.cosine(square, 2))
    return found[..., :: n // 16]


def error(one: torch.Tensor, other: torch.Tensor) -> float:
    return float((one - other).norm() / other.norm())


def test_without_texture_it_is_the_body_itself():
    plain = stack([Phantom([Ellipse((0.2, -0.1), (0.25, 0.4), 0.5)], 5.0)])
    torch.testing.assert_close(
        solved(lambda _: textured(0.0), 32), solved(lambda _: plain, 32), rtol=0, atol=1e-12
    )


def test_a_smooth_body_is_its_own_field():
    sampler = WorldSampler(seed=3, body=Square(32), worlds=("smooth",))
    batch = sampler.batch(0, 3)
    by_medium = solved(lambda _: batch, 32)
    by_field = solved(lambda square: Field(conductivity(square, batch)), 32)
    torch.testing.assert_close(by_medium, by_field, rtol=0, atol=1e-7)


def test_a_textured_body_with_an_inclusion_converges_to_second_order():
    finest = solved(lambda _: textured(0.5), 256)
    errors = [error(solved(lambda _: textured(0.5), n), finest) for n in (32, 64, 128)]
    assert errors[0] / errors[2] > 8  # 16 for second order, where the reference is exact
    assert errors[2] < 3e-4


def test_cut_phases_converge():
    sampler = WorldSampler(
        seed=3, body=Square(32), worlds=("phases",), conductive=(2.0, 10.0), resistive=(0.1, 0.5)
    )
    batch = sampler.batch(0, 2)
    finest = solved(lambda _: batch, 192)
    errors = [error(solved(lambda _: batch, n), finest) for n in (32, 96)]
    assert errors[1] < 0.25 * errors[0]
    assert errors[1] == pytest.approx(0.0, abs=5e-3)
