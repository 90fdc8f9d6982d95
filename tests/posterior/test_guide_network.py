"""The guide is a density: it can be drawn from, evaluated, cut after any number, and saved."""

from pathlib import Path

import pytest
import torch
from torch import Tensor

from eitlens.errors import InputError
from eitlens.posterior.guide import network as guides
from eitlens.posterior.guide.network import Guide, GuideConfig

SMALL = GuideConfig(
    ellipses=2, currents=3, boundary=40, modes=8, width=32, layers=2, heads=2, hidden=32, bins=16, tokens=2
)
ROWS = 64


@pytest.fixture
def guide() -> Guide:
    torch.manual_seed(0)
    network = Guide(SMALL)
    torch.nn.init.normal_(network.heads, std=0.5)
    network.components.fit(torch.randn(200, SMALL.currents, SMALL.boundary))
    return network.eval()


def reading(guide: Guide, count: int = 3) -> Tensor:
    generator = torch.Generator().manual_seed(1)
    data = torch.randn(ROWS, SMALL.currents, SMALL.boundary, generator=generator)
    return guide.read(data, torch.full((ROWS,), 0.05), torch.full((ROWS,), 0.01), torch.full((ROWS,), count))


def test_what_is_drawn_has_the_density_it_says(guide: Guide) -> None:
    generator, kept = torch.Generator().manual_seed(2), 5 * (torch.arange(ROWS) % 2)
    numbers = torch.rand(ROWS, SMALL.numbers)
    drawn, density, before = guide.renew(reading(guide), numbers, kept, 3, generator)
    for one, said in zip(drawn.unbind(1), density.unbind(1), strict=True):
        assert (said - guide.log_density(reading(guide), one)).abs().max() < 1e-4
    assert (before - guide.log_density(reading(guide), numbers)).abs().max() < 1e-4
    assert ((drawn >= 0) & (drawn < 1)).all()


def test_a_factor_integrates_to_one_and_sees_only_what_came_before(guide: Guide) -> None:
    middles = (torch.arange(SMALL.bins) + 0.5) / SMALL.bins
    numbers = torch.full((SMALL.bins, SMALL.numbers), 0.3)
    numbers[:, 4] = middles
    density = guide.log_density(reading(guide)[:1].expand(SMALL.bins, -1), numbers)
    assert density[:, 4].exp().mean().item() == pytest.approx(1, abs=1e-5)
    assert density[:, :4].std(0).max() < 1e-6
    assert density[:, 5:].std(0).min() > 1e-4


def test_frequencies_of_draws_follow_the_density(guide: Guide) -> None:
    numbers, kept = torch.zeros(1, SMALL.numbers), torch.zeros(1, dtype=torch.long)
    found = guide.renew(reading(guide)[:1], numbers, kept, 20_000, torch.Generator().manual_seed(3))
    drawn, density = found[0][0], found[1][0]
    share = torch.bincount((drawn[:, 0] * SMALL.bins).long(), minlength=SMALL.bins) / 20_000
    expected = torch.zeros(SMALL.bins)
    expected[(drawn[:, 0] * SMALL.bins).long()] = density[:, 0].exp() / SMALL.bins
    assert (share - expected).abs().max() < 0.015


def test_numbers_that_are_kept_stay(guide: Guide) -> None:
    numbers = torch.rand(ROWS, SMALL.numbers)
    kept = 5 * (torch.arange(ROWS) % 3)
    drawn = guide.renew(reading(guide), numbers, kept, 2, torch.Generator().manual_seed(4))[0]
    fresh = torch.arange(SMALL.numbers) >= kept[:, None]
    for one in drawn.unbind(1):
        assert torch.equal(one != numbers, fresh)
    assert ((drawn[:, 0] != drawn[:, 1]) == fresh).all()


def test_currents_that_are_not_measured_are_not_seen(guide: Guide) -> None:
    data = torch.randn(1, SMALL.currents, SMALL.boundary)
    other = data.clone()
    other[:, 1:] = 7.0
    level, one = torch.full((1,), 0.05), torch.ones(1, dtype=torch.long)
    assert torch.equal(guide.read(data, level, level, one), guide.read(other, level, level, one))
    assert not torch.equal(guide.read(data, level, level, 3 * one), guide.read(other, level, level, 3 * one))


def test_a_saved_guide_comes_back(guide: Guide, tmp_path: Path) -> None:
    guides.save(guide, tmp_path)
    again = guides.load(tmp_path)
    assert torch.equal(again.components.basis, guide.components.basis)
    numbers = torch.rand(ROWS, SMALL.numbers)
    change = again.log_density(reading(again), numbers) - guide.log_density(reading(guide), numbers)
    assert change.abs().max() < 0.02
    assert again.knows(0.01)
    assert not again.knows(0.009)
    (tmp_path / "guide.json").write_text("{}")
    with pytest.raises(InputError, match="no guide"):
        guides.load(tmp_path)


def test_data_and_phantoms_it_does_not_know_are_refused(guide: Guide) -> None:
    one = torch.ones(1)
    for shape in ((1, 4, SMALL.boundary), (1, 1, 44)):
        with pytest.raises(InputError, match=r"3 currents.*40"):
            guide.read(torch.ones(shape), one, one)
    with pytest.raises(InputError, match="knows 2 ellipses, not 4"):
        guide.renew(reading(guide), torch.rand(ROWS, 20), torch.zeros(ROWS).long(), 1, torch.Generator())
