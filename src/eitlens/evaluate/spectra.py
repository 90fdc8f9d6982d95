"""Spatial frequencies of the latents of a network: the power of each level, ring by ring of frequencies.

A channel on m × m nodes, less its mean, is a sum of cosines cos(πk(i + ½)/m) cos(πl(j + ½)/m): its even continuation,
so that the two ends of a row make no jump. The frequency of a term is |(k, l)| / m, 1 where neighbouring nodes have
opposite signs in one direction. Its power is shared out among `RINGS` rings of equal width up to 1 and one beyond.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from eitlens.memory import cached
from eitlens.models import Network

RINGS = 16
"""Rings up to the frequency 1; one more takes what is beyond."""
_BLANK = 1e-12
"""Of the largest power of a channel: channels below it are constant but for rounding."""


@dataclass(frozen=True)
class LevelSpectrum:
    """The spectrum of a level of a network, over all its channels and some bodies.

    Attributes:
        by_channel: shares of power by ring, the mean over channels and bodies: every channel counts the same.
        by_power: shares of the power of all channels together, the mean over bodies: loud channels count more.
        high: of each body, the share of power in frequencies above ½, the mean over channels.
        channels: number of channels.
        silent: the share of channels that are constant on a body, and left out.
    """

    by_channel: Float[Tensor, "rings"]
    by_power: Float[Tensor, "rings"]
    high: Float[Tensor, "bodies"]
    channels: int
    silent: float

    @property
    def interval(self) -> float:
        """Half of the 95 % interval of the mean of `high` over the bodies."""
        return 1.96 * float(self.high.std()) / math.sqrt(len(self.high))


def power(level: Float[Tensor, "bodies channels size size"]) -> Float[Tensor, "bodies channels rings"]:
    """The power of each channel by ring.

    >>> from eitlens.evaluate.spectra import power
    >>> wave = torch.cos(torch.pi * 3 * (torch.arange(32) + 0.5) / 32).expand(1, 1, 32, 32)
    >>> int(power(wave)[0, 0].argmax())  # 3/32 is in the second of 16 rings
    1
    """
    size = level.shape[-1]
    cosines = _cosines(size, level.device)
    found = (cosines @ level.to(cosines) @ cosines.T).square()
    found[..., 0, 0] = 0.0
    order = torch.arange(size, device=level.device) / size
    ring = (torch.hypot(order[:, None], order) * RINGS).long().clamp(max=RINGS)
    share = torch.zeros(*level.shape[:2], RINGS + 1, device=level.device, dtype=found.dtype)
    return share.index_add(-1, ring.flatten(), found.flatten(-2))


def spectra(network: Network, batches: Iterable[Tensor]) -> dict[str, LevelSpectrum]:
    """The spectrum of every level, from batches of what the network reads."""
    with torch.no_grad():
        found = [{name: power(x) for name, x in network.latents(batch).items()} for batch in batches]
    return {name: summary(torch.cat([part[name].cpu() for part in found])) for name in found[0]}


def summary(powers: Float[Tensor, "bodies channels rings"]) -> LevelSpectrum:
    """Means over channels and bodies."""
    total = powers.sum(-1)
    heard = total > _BLANK * total.amax()
    shares = torch.where(heard[..., None], powers / total.clamp(min=1e-300)[..., None], 0.0)
    by_body = shares.sum(1) / heard.sum(1, keepdim=True).clamp(min=1)
    together = powers.sum(1)
    return LevelSpectrum(
        by_body.mean(0),
        (together / together.sum(-1, keepdim=True)).mean(0),
        by_body[:, RINGS // 2 :].sum(-1),
        powers.shape[1],
        float((~heard).double().mean()),
    )


@cached
def _cosines(size: int, device: torch.device) -> Float[Tensor, "size size"]:
    """The orthonormal cosines, row k at the nodes i: the DCT-II."""
    index = torch.arange(size, dtype=torch.float64, device=device)
    table = torch.cos(torch.pi / size * torch.outer(index, index + 0.5)) * math.sqrt(2 / size)
    table[0] /= math.sqrt(2)
    return table
