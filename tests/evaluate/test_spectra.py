"""Spectra of latents: single waves, noise, sums, and the levels of a network."""

import json
import math
from pathlib import Path

import pytest
import torch

from eitlens import models
from eitlens.evaluate.spectra import RINGS, power, spectra, summary

SIZE = 32
NODES = (torch.arange(SIZE, dtype=torch.float64) + 0.5) * math.pi / SIZE


@pytest.mark.parametrize(("k", "l"), [(1, 0), (0, 5), (9, 4), (16, 0), (31, 31)])
def test_a_wave_has_all_its_power_in_its_ring(k: int, l: int) -> None:  # noqa: E741
    wave = torch.cos(k * NODES)[:, None] * torch.cos(l * NODES)
    found = power(wave[None, None])[0, 0]
    ring = min(RINGS, int(math.hypot(k, l) / SIZE * RINGS))
    assert float(found[ring]) == pytest.approx(float(wave.square().sum()))
    assert float(found.sum()) == pytest.approx(float(found[ring]))


def test_the_power_is_that_of_the_channel_less_its_mean() -> None:
    level = torch.rand(3, 5, SIZE, SIZE, dtype=torch.float64) + 2
    expected = (level - level.mean((-2, -1), keepdim=True)).square().sum((-2, -1))
    torch.testing.assert_close(power(level).sum(-1), expected)


def test_noise_has_power_in_proportion_to_the_number_of_frequencies() -> None:
    level = torch.randn(20, 30, SIZE, SIZE, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    found = summary(power(level))
    order = torch.arange(SIZE) / SIZE
    above = (torch.hypot(order[:, None], order) >= 0.5).double().sum() / (SIZE**2 - 1)
    assert float(found.high.mean()) == pytest.approx(float(above), rel=5e-3)
    assert found.interval < 0.01
    assert found.silent == 0


def test_every_channel_counts_the_same_or_by_its_power() -> None:
    """A loud slow channel, a faint fast one and a constant one."""
    slow, fast = 10 * torch.cos(NODES).expand(SIZE, SIZE), torch.cos(20 * NODES).expand(SIZE, SIZE)
    found = summary(power(torch.stack([slow, fast, torch.ones_like(slow)])[None]))
    assert found.by_channel[[0, 10]].tolist() == pytest.approx([0.5, 0.5])
    assert found.by_power[[0, 10]].tolist() == pytest.approx([100 / 101, 1 / 101])
    assert float(found.high) == pytest.approx(0.5)
    assert found.silent == pytest.approx(1 / 3)
    assert found.channels == 3


def test_all_levels_of_a_network() -> None:
    network = models.create("uit", width=8).eval()
    found = spectra(network, [network.random_input(2, 41), network.random_input(1, 41)])
    assert list(found) == [
        *(f"down/{s}" for s in (128, 64, 32, 16)),
        "coarse/16",
        "up/32",
        "up/64",
        "up/128",
        "logits",
    ]
    assert [level.channels for level in found.values()] == [8, 16, 32, 64, 64, 32, 16, 8, 1]
    for level in found.values():
        assert len(level.high) == 3
        assert float(level.by_channel.sum()) == pytest.approx(1)
        assert float(level.by_power.sum()) == pytest.approx(1)


def test_what_the_kept_latents_of_table_1_say() -> None:
    """More high frequencies behind attention on the coarsest grid, and far fewer on the next."""
    found = json.loads((Path(__file__).parents[2] / "results/latent_spectra.json").read_text())["kept"]
    high = {place: {name: row["high"] for name, row in rows.items()} for place, rows in found.items()}
    for name in ("uit", "uit-softmax", "cross-ut", "unet-attention"):
        assert high["coarsest"][name] > high["coarsest"]["unet"]
        assert high["next"][name] < 0.5 * high["next"]["unet"]
    assert {row["channels"] for rows in found.values() for row in rows.values()} == {12}
