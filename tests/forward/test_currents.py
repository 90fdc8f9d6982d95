"""Families of currents."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from eitlens.domain import Disk, Domain, Square
from eitlens.errors import InputError
from eitlens.forward import currents

SQUARE = Square(20)
FAMILIES = [currents.cosine, currents.sine, currents.trigonometric, currents.arclength]
every_family = pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.__name__)
Family = Callable[[Square, int], Tensor]


@every_family
def test_what_goes_in_comes_out(family: Family) -> None:
    g = family(SQUARE, 9)
    assert g.shape == (9, 80)
    assert float(g.mean(-1).abs().amax()) < 1e-15
    assert torch.linalg.matrix_rank(g) == 9


@every_family
def test_more_currents_do_not_change_the_first(family: Family) -> None:
    torch.testing.assert_close(family(SQUARE, 3), family(SQUARE, 8)[:3], rtol=0, atol=0)


@every_family
def test_at_least_one_current(family: Family) -> None:
    with pytest.raises(InputError, match=r"at least one current"):
        family(SQUARE, 0)


def test_cosines_and_sines_of_the_polar_angle() -> None:
    x, y = SQUARE.boundary().unbind(-1)
    r = torch.hypot(x, y)
    torch.testing.assert_close(currents.cosine(SQUARE, 2), torch.stack([x / r, (x**2 - y**2) / r**2]))
    torch.testing.assert_close(currents.sine(SQUARE, 2), torch.stack([y / r, 2 * x * y / r**2]))


def test_only_multiples_of_four_have_a_mean_to_take_off() -> None:
    raw = torch.cos(torch.arange(1, 9)[:, None] * SQUARE.angle())
    changed = (currents.cosine(SQUARE, 8) - raw).abs().amax(-1) > 1e-12
    assert changed.tolist() == [False, False, False, True] * 2


def test_cosines_are_even_and_sines_odd_in_y() -> None:
    """The mirror image of node k in the x axis is node 3n - k."""
    mirror = (60 - torch.arange(80)) % 80
    torch.testing.assert_close(currents.cosine(SQUARE, 5)[:, mirror], currents.cosine(SQUARE, 5))
    torch.testing.assert_close(currents.sine(SQUARE, 5)[:, mirror], -currents.sine(SQUARE, 5))


def test_trigonometric_currents_alternate() -> None:
    g = currents.trigonometric(SQUARE, 5)
    torch.testing.assert_close(g[0::2], currents.cosine(SQUARE, 3), rtol=0, atol=0)
    torch.testing.assert_close(g[1::2], currents.sine(SQUARE, 2), rtol=0, atol=0)


def test_arclength_modes_are_orthonormal() -> None:
    g = currents.arclength(SQUARE, 30)
    torch.testing.assert_close(
        SQUARE.boundary_weight * g @ g.T, torch.eye(30, dtype=torch.float64), rtol=0, atol=1e-14
    )


@pytest.mark.parametrize("domain", [Square(4), Disk(4, 15)])
def test_no_more_arclength_modes_than_the_nodes_tell_apart(domain: Domain) -> None:
    most = 14
    g = currents.arclength(domain, most)
    torch.testing.assert_close(domain.boundary_weight * g @ g.T, torch.eye(most, dtype=torch.float64))
    with pytest.raises(InputError, match=r"14 modes.*15"):
        currents.arclength(domain, most + 1)


@pytest.mark.parametrize("domain", [Square(4), Disk(4, 16)])
def test_no_frequency_that_the_nodes_take_for_a_lower_one(domain: Domain) -> None:
    for family, most in ((currents.cosine, 8), (currents.sine, 7)):
        assert float(family(domain, most).abs().amax(-1).min()) > 0.1
        with pytest.raises(
            InputError, match=rf"^16 boundary nodes tell frequencies up to {most} apart, got {most + 1}"
        ):
            family(domain, most + 1)
    with pytest.raises(InputError, match=r"up to 8 .*500"):
        currents.trigonometric(domain, 1000)


def test_a_current_of_ones_own() -> None:
    g = currents.custom(SQUARE, lambda x, y: x + 3 * y + 1)
    x, y = SQUARE.boundary().unbind(-1)
    torch.testing.assert_close(g, (x + 3 * y)[None])
    both = currents.custom(SQUARE, lambda x, y: torch.stack([x, y]))
    torch.testing.assert_close(both, torch.stack([x, y]))


def test_a_current_of_ones_own_must_be_finite() -> None:
    with pytest.raises(InputError, match=r"^custom current: 21 of 80 "):
        currents.custom(SQUARE, lambda x, y: torch.where(x == 1, torch.nan, y))


def test_projecting_twice_is_projecting_once() -> None:
    values = torch.rand(3, 4, 80, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    once = currents.project(values)
    torch.testing.assert_close(currents.project(once), once)
    torch.testing.assert_close(values - once, values.mean(-1, keepdim=True).expand(-1, -1, 80))
