"""Kernels with noise and their code: norms, deviations, turns."""

import math

import pytest
import torch

from eitlens.feature.maps import mirrored, turned
from eitlens.feature.noisy_maps import (
    POINTS,
    KernelNoise,
    WhiteCode,
    kernels,
    map_norms,
    maps_of,
    uniform_map,
)
from eitlens.forward.rings import Rings
from eitlens.phantom.disk_images import ShapeTask

WAVES = 6


def some_maps(count: int) -> torch.Tensor:
    task = ShapeTask(3)
    return Rings(8, 32, task.reach, True).differences(task.images(torch.arange(count), 64), WAVES)


def test_a_kernel_gives_its_map_back():
    maps = some_maps(2)
    assert torch.allclose(maps_of(kernels(maps), WAVES), maps, atol=1e-14)


def test_the_norm_is_that_of_the_kernel_on_all_pairs():
    maps = some_maps(1)
    whole = torch.zeros(1, 254, 254, dtype=torch.float64)  # the wave of order 128 has no sine on 256 points
    keep = torch.cat([torch.arange(WAVES), 127 + torch.arange(WAVES)])
    whole[0, keep[:, None], keep] = maps[0]
    kernel = kernels(whole + uniform_map(127))
    norm = 2 * math.pi / POINTS * kernel.norm()
    assert float(map_norms(maps)) == pytest.approx(float(norm), rel=1e-4)


def test_noise_has_unit_norm_and_the_published_spectrum():
    """Σ of the variances of all coefficients is 1, and two of them are in the ratio of the formula."""
    noise = KernelNoise()
    order = torch.arange(-128, 128, dtype=torch.float64)
    sizes = noise.sizes(order[:, None], order)
    sizes[128, 128] = 0
    assert float(sizes.square().sum()) == pytest.approx(1)
    expected = ((4 * math.pi**2 * (1 + 4) + 100) / (4 * math.pi**2 * (9 + 1) + 100)) ** 0.75
    assert float(sizes[128 + 3, 128 + 1] / sizes[128 + 1, 128 + 2]) == pytest.approx(expected)
    drawn = noise.draw(2000, 3, torch.Generator().manual_seed(0))
    ratio = drawn.square().mean(0).sqrt() / noise.deviations(3)
    assert float((ratio - 1).abs().max()) < 0.08


def test_a_noisy_map_has_the_code_and_the_doubts_that_the_module_says():
    maps, level = some_maps(40), 0.05
    code = WhiteCode.fit(maps, 12)
    noise = level * KernelNoise().draw(4000, WAVES, torch.Generator().manual_seed(1))
    z = code.coordinates((noise + noise.mT) / 2 + code.noise.deviations(WAVES) * code.prior.mean)
    assert torch.allclose(z.std(0), level / code.strengths, rtol=0.06)
    correlation = torch.corrcoef(z.T) - torch.eye(code.size)
    assert float(correlation.abs().max()) < 0.08
    found = code.posterior(z[:1], torch.tensor([level], dtype=torch.float64))
    share = code.strengths**2 / (code.strengths**2 + level**2)
    assert torch.allclose(found.mean, z[:1] * share)
    assert torch.allclose(found.deviation[0], (1 - share).sqrt())


def test_codes_turn_with_their_bodies():
    maps = some_maps(5)
    code = WhiteCode.fit(maps, 20)
    z, angle = code.coordinates(maps), torch.linspace(0.1, 3.0, 5).double()
    assert torch.allclose(code.coordinates(turned(maps, angle)), code.turned(z, angle), atol=1e-8)
    assert torch.allclose(code.coordinates(mirrored(maps)), code.mirrored(z), atol=1e-8)
    again = WhiteCode.from_tensors(code.tensors())
    assert torch.equal(again.coordinates(maps), z)
