"""Random numbers as a pure function of (seed, index, draw)."""

import math
from collections.abc import Callable

import pytest
import torch
from scipy import stats
from torch import Tensor

from eitlens import random

MASK = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15
INDEX = torch.arange(50)
Law = Callable[..., Tensor]


def mix(x: int) -> int:
    """SplitMix64's step in Python's own integers, which do not wrap and know no device."""
    x = (x + GOLDEN) & MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


def reference(seed: int, index: int, draw: int, stream: int) -> float:
    key = mix(mix(seed & MASK) ^ (GOLDEN * (stream + 1) & MASK))
    bits = mix((mix(key ^ mix(index & MASK)) + (draw + 1) * GOLDEN) & MASK)
    return (bits >> 11) / (1 << 53)


def test_the_mixer_is_splitmix64() -> None:
    """The first outputs of SplitMix64 with seed 0, as published with the generator."""
    assert [mix(k * GOLDEN) for k in range(3)] == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]


@pytest.mark.parametrize("seed", [0, 1, -1, 2**31, 2**63 - 1, 2**64 + 5])
@pytest.mark.parametrize("stream", [0, 3])
def test_uniform_numbers_are_equal_to_the_bit_to_exact_integer_arithmetic(seed: int, stream: int) -> None:
    index = torch.tensor([0, 1, 2, 12345, 2**62, -7])
    expected = [[reference(seed, k, d, stream) for d in range(9)] for k in index.tolist()]
    assert random.uniform(seed, index, 9, stream).tolist() == expected


def test_golden_values() -> None:
    """Phantoms and noise of a seed stay the same for ever: never change these."""
    assert random.uniform(2023, torch.tensor([0, 7]), 2).tolist() == [
        [0.2827248240621987, 0.7257718547073839],
        [0.48955712284187125, 0.2795338043577499],
    ]
    torch.testing.assert_close(
        random.normal(2023, torch.tensor([0, 7]), 3),
        torch.tensor(
            [
                [-0.12362284326685516, -0.8057970220877481, -0.49660048796278444],
                [-0.21397226473461564, 1.1398109303484147, -0.02781486140610724],
            ],
            dtype=torch.float64,
        ),
        rtol=1e-14,
        atol=0,
    )


@pytest.mark.parametrize("function", [random.uniform, random.normal])
def test_a_sample_does_not_depend_on_its_batch(function: Law) -> None:
    whole = function(3, INDEX, 20)
    order = torch.randperm(50, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(function(3, INDEX[order], 20), whole[order], rtol=0, atol=0)
    torch.testing.assert_close(function(3, INDEX[17], 20), whole[17], rtol=0, atol=0)
    torch.testing.assert_close(function(3, INDEX.reshape(5, 10), 20).flatten(0, 1), whole, rtol=0, atol=0)


@pytest.mark.parametrize("function", [random.uniform, random.normal])
def test_a_draw_does_not_depend_on_how_many_follow(function: Law) -> None:
    torch.testing.assert_close(function(3, INDEX, 5), function(3, INDEX, 50)[:, :5], rtol=0, atol=0)


@pytest.mark.parametrize(("law", "function"), [("uniform", random.uniform), ("norm", random.normal)])
def test_the_law_is_right(law: str, function: Law) -> None:
    along_draws, along_samples = (
        function(11, torch.tensor(5), 20001),
        function(11, torch.arange(20001), 1)[:, 0],
    )
    for numbers in (along_draws, along_samples):
        assert stats.kstest(numbers.numpy(), law).pvalue > 0.01


def test_uniform_numbers_fill_the_half_open_interval() -> None:
    u = random.uniform(0, torch.arange(1000), 100)
    assert 0 <= float(u.amin()) < 1e-4
    assert 1 - 1e-4 < float(u.amax()) < 1


def test_seeds_streams_samples_and_draws_are_uncorrelated() -> None:
    index = torch.arange(20000)
    first, second = random.normal(1, index, 2).T
    others = [
        random.normal(2, index, 1)[:, 0],
        random.normal(1, index, 1, stream=1)[:, 0],
        first.roll(1),
        second,
    ]
    for other in others:
        assert abs(float(torch.corrcoef(torch.stack([first, other]))[0, 1])) < 0.02


def test_turns_are_the_same_arithmetic_everywhere():
    """One number at a time in plain Python floats, which round as IEEE 754 says, gives the same bits."""

    def plain(u: float) -> tuple[float, float]:
        octant = round(8 * u)
        x = (u - octant / 8) * (2 * math.pi)
        cos = sin = 0.0
        for k in range(9, -1, -1):
            cos = cos * (x * x) + (-1) ** k / math.factorial(2 * k)
            sin = sin * (x * x) + (-1) ** k / math.factorial(2 * k + 1)
        half = math.sqrt(0.5)
        table = [1, half, 0, -half, -1, -half, 0, half]
        c, s = table[octant % 8], table[(octant - 2) % 8]
        return c * cos - s * (sin * x), s * cos + c * (sin * x)

    u = random.uniform(3, torch.arange(400), 3).flatten()
    got = torch.stack(random.turn(u), -1).tolist()
    assert [tuple(pair) for pair in got] == [plain(value) for value in u.tolist()]
