"""Random numbers as a pure function of (seed, index, draw): the same on any device, in any batch or worker.

A counter is hashed to 64 bits by the finaliser of SplitMix64 (Steele, Lea, Flood 2014), twice, once with the
seed and once with the sample's index, so that samples and draws are independent streams. Integer arithmetic
wraps modulo 2⁶⁴ alike everywhere, so uniform numbers are equal to the bit.
"""

import hashlib
import math

import torch
from jaxtyping import Float64, Int64
from torch import Tensor

_GOLDEN = 0x9E3779B97F4A7C15  # 2⁶⁴ over the golden ratio, as in SplitMix64, and so are the two multipliers
_MIX_1, _MIX_2 = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB  # of SplitMix64


def uniform(
    seed: int, index: Int64[Tensor, "*#batch"], draws: int, stream: int | Int64[Tensor, "*#batch"] = 0
) -> Float64[Tensor, "*batch {draws}"]:
    """`draws` numbers in [0, 1) for each sample; `stream` separates independent uses of one seed."""
    # What is a single number is mixed on the CPU: a GPU would take two dozen kernels for it.
    number = stream.to(index.device) if isinstance(stream, Tensor) else torch.tensor(stream)
    key = _hash(_hash(torch.tensor(_signed(seed))) ^ ((number + 1) * _signed(_GOLDEN)))
    counter = torch.arange(1, draws + 1, device=index.device)
    bits = _hash(_hash(key ^ _hash(index))[..., None] + counter * _signed(_GOLDEN))
    return _shift(bits, 11).to(torch.float64) * 2.0**-53


def normal(
    seed: int, index: Int64[Tensor, "*batch"], draws: int, stream: int = 0
) -> Float64[Tensor, "*batch {draws}"]:
    """`draws` standard normal numbers a sample, by Box and Muller (equal across devices to rounding)."""
    pairs = (draws + 1) // 2
    u, v = torch.unflatten(uniform(seed, index, 2 * pairs, stream), -1, (pairs, 2)).unbind(-1)
    radius, angle = torch.sqrt(-2 * torch.log1p(-u)), 2 * torch.pi * v
    return torch.stack([radius * torch.cos(angle), radius * torch.sin(angle)], -1).flatten(-2)[..., :draws]


def turn(u: Float64[Tensor, "*any"]) -> tuple[Float64[Tensor, "*any"], Float64[Tensor, "*any"]]:
    """The pair cos 2πu, sin 2πu for u in [0, 1], equal to the bit everywhere: by sums and products alone.

    A library's cosine may differ in its last digit from one processor to the next, and with it every phantom.
    Here u = octant/8 + r with |r| <= 1/16 exactly, the Taylor series to x¹⁹ of x = 2πr, and a table.
    """
    octant = torch.round(8 * u)
    x = (u - octant / 8) * (2 * math.pi)
    square = x * x
    cos, sin = torch.zeros_like(x), torch.zeros_like(x)
    for k in range(9, -1, -1):
        cos = cos * square + (-1) ** k / math.factorial(2 * k)
        sin = sin * square + (-1) ** k / math.factorial(2 * k + 1)
    sin = sin * x
    half = math.sqrt(0.5)
    cosines = u.new_tensor([1, half, 0, -half, -1, -half, 0, half])
    c, s = cosines[octant.long() % 8], cosines[(octant.long() - 2) % 8]
    return c * cos - s * sin, s * cos + c * sin


def mixed(seed: int, use: str, number: int) -> int:
    """A seed for one use (noise, order, …) and one number (epoch): unrelated to the seed of any other."""
    digest = hashlib.blake2b(f"{seed}/{use}/{number}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little")


def _hash(x: Int64[Tensor, "*any"]) -> Int64[Tensor, "*any"]:
    x = x + _signed(_GOLDEN)
    x = (x ^ _shift(x, 30)) * _signed(_MIX_1)
    x = (x ^ _shift(x, 27)) * _signed(_MIX_2)
    return x ^ _shift(x, 31)


def _shift(x: Int64[Tensor, "*any"], bits: int) -> Int64[Tensor, "*any"]:
    """Logical right shift; torch's own keeps the sign."""
    return (x >> bits) & ((1 << (64 - bits)) - 1)


def _signed(x: int) -> int:
    """The 64-bit two's complement of an unsigned integer."""
    x &= (1 << 64) - 1
    return x - (1 << 64) if x >= 1 << 63 else x
