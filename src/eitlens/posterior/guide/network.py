"""A density of ellipses given boundary data, learned: it proposes, and an exact sampler decides.

An ellipse is five numbers, each uniform in [0, 1) under the prior, so k ellipses, put in an order, are 5k numbers
u_1 … u_5k. Their density given the data y at noise (τ, s) is a product

    q(u | y) = Π_t q(u_t | u_1 … u_{t-1}, y),

each factor piecewise constant on equal bins, from a transformer that sees the data as a few tokens and then the
numbers before its own. So the density is exact, and the last ellipses can be drawn anew given the first.

The data are read in the principal components of each current: coefficient c_m, of variance λ_m among phantoms, with
noise ν_m, becomes c_m / √(λ_m + ν_m), beside λ_m / (λ_m + ν_m), how much of it is signal. Both are zero for a
current that is not measured.
"""

import json
import math
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as fn

from eitlens.errors import InputError
from eitlens.feature.gaussian import GaussianPrior
from eitlens.models import shards
from eitlens.models.attention import attention, merge, split_three
from eitlens.phantom.samplers import PER_ELLIPSE

_LEAST = 1e-12  # of the largest variance: less is rounding, and must not be taken for a signal without noise
_TINY = 1e-300  # no division by zero
_LAST = 1 - 1e-7  # below 1 in float32
_SPREAD = 0.02  # of the first embedding of places, as in GPT-2
Numbers = Float[Tensor, "n numbers"]
Reading = Float[Tensor, "n inputs"]
_FIRST = "data.0.weight"
"""The layer that reads the components: in 8 bits it would cost 0.03 nats of -log q, as much as all the others."""


@dataclass(frozen=True)
class GuideConfig:
    """Configuration of a guide.

    Attributes:
        ellipses: how many there are.
        currents, boundary: most currents, and nodes of each.
        modes: principal components of each current.
        width, layers, heads: of the transformer.
        tokens: tokens that stand for the data, from a perceptron of `hidden` units.
        bins: pieces of [0, 1) on which a factor is constant.
        waves: octaves of sines by which a number is shown to the transformer.
        flattest: the largest level s it was trained for.
        quietest, loudest: the range of τ it was trained for.
    """

    ellipses: int = 4
    currents: int = 3
    boundary: int = 800
    modes: int = 128
    width: int = 256
    layers: int = 6
    heads: int = 8
    tokens: int = 4
    hidden: int = 768
    bins: int = 256
    waves: int = 10
    flattest: float = 0.5
    quietest: float = 0.01
    loudest: float = 0.2

    @property
    def numbers(self) -> int:
        """Numbers that the guide draws."""
        return PER_ELLIPSE * self.ellipses


class Guide(nn.Module):
    """The density q(u | y), to draw from and to evaluate; see the module."""

    octaves: Tensor

    def __init__(self, config: GuideConfig) -> None:
        super().__init__()
        self.config = config
        self.components = _Components(config)
        inputs = 2 * config.currents * config.modes + 2
        self.data = nn.Sequential(
            nn.Linear(inputs, config.hidden),
            nn.GELU(),
            nn.Linear(config.hidden, config.hidden),
            nn.GELU(),
            nn.Linear(config.hidden, config.tokens * config.width),
        )
        self.number = nn.Linear(2 * config.waves + 1, config.width)
        self.place = nn.Parameter(_SPREAD * torch.randn(config.tokens + config.numbers, config.width))
        self.blocks = nn.ModuleList([_CausalBlock(config) for _ in range(config.layers)])
        self.norm = nn.LayerNorm(config.width)
        self.heads = nn.Parameter(torch.zeros(PER_ELLIPSE, config.width, config.bins))
        octaves = 2 * math.pi * 2.0 ** torch.arange(config.waves)
        self.register_buffer("octaves", octaves, persistent=False)

    @property
    def flattest(self) -> float:
        """The largest level s it knows."""
        return self.config.flattest

    def knows(self, tau: float) -> bool:
        """Tell whether it was trained for data of noise τ."""
        return self.config.quietest <= tau <= self.config.loudest

    def read(self, measured: Tensor, tau: Tensor, level: Tensor, count: Tensor | None = None) -> Reading:
        """Read f - f0 (n, currents, boundary) of all currents, or of the first `count`, as inputs of the network."""
        given, config = measured.shape[1], self.config
        if given > config.currents or measured.shape[2] != config.boundary:
            raise InputError(
                f"guide: expected data of at most {config.currents} currents at {config.boundary} boundary nodes, got "
                f"{given} at {measured.shape[2]}: leave it out, or train another (benchmarks/guide.py)"
            )
        whole = fn.pad(measured.float(), (0, 0, 0, self.config.currents - given))
        count = torch.full_like(tau, given) if count is None else count
        seen = self.components(whole, tau.float(), level.float(), count)
        # Logarithms of noise lie between -9 and -1: a third of them is of the size of the other inputs.
        return torch.cat([seen, torch.stack([tau.log(), level.log()], -1).to(seen) / 3], -1)

    def log_density(self, reading: Reading, numbers: Numbers) -> Numbers:
        """The log of each factor."""
        return self._factors(self._hidden(reading, numbers), numbers)

    @torch.no_grad()
    def renew(
        self,
        reading: Reading,
        numbers: Numbers,
        kept: Int[Tensor, "n"],
        tries: int,
        generator: torch.Generator,
    ) -> tuple[Float[Tensor, "n tries numbers"], Float[Tensor, "n tries numbers"], Numbers]:
        """Keep the first `kept` numbers of each row and draw the others, several times.

        What is kept is read once for all tries, and a row joins those that draw at its first number. Returned are the
        numbers, the log of their factors, and that of the numbers that were there.
        """
        if numbers.shape[-1] != self.config.numbers:
            raise InputError(
                f"guide: it knows {self.config.ellipses} ellipses, not {numbers.shape[-1] // PER_ELLIPSE}: leave it out"
            )
        order = kept.argsort(stable=True)
        memory = [_Memory() for _ in self.blocks]
        hidden = self._hidden(reading[order], numbers[order], memory)
        before = self._factors(hidden, numbers[order])
        drawn, hidden = (part.repeat_interleave(tries, 0) for part in (numbers[order], hidden))
        for past in memory:
            past.repeat(tries)
        density = before.repeat_interleave(tries, 0)
        drawing = tries * (kept[:, None] <= torch.arange(self.config.numbers, device=kept.device)).sum(0)
        latest = hidden[:0, 0]
        for t, count in enumerate(drawing.tolist()):
            here = torch.cat([latest, hidden[len(latest) : count, t]])
            factor = torch.log_softmax((here @ self.heads[t % PER_ELLIPSE]).float(), -1)
            drawn[:count, t] = self._draw(factor, generator).to(numbers)
            density[:count, t] = self._picked(factor, self._bin(drawn[:count, t]))
            if t + 1 < self.config.numbers:
                latest = self._next(drawn[:count, t], t, memory)
        back, shape = order.argsort(), (len(order), tries)
        drawn, density = (torch.unflatten(part, 0, shape)[back] for part in (drawn, density))
        return drawn, density, before[back]

    def _hidden(self, reading: Reading, numbers: Numbers, memory: "list[_Memory] | None" = None) -> Tensor:
        """Compute the latent of each factor, given the numbers before it."""
        seen = self._shown(numbers[:, :-1])
        tokens = torch.unflatten(self.data(reading), -1, (self.config.tokens, self.config.width))
        x = torch.cat([tokens, seen.to(reading)], 1) + self.place[:-1]
        for k, block in enumerate(self.blocks):
            x = block(x) if memory is None else block(x, memory[k])
        hidden: Tensor = self.norm(x[:, self.config.tokens - 1 :])
        return hidden

    def _factors(self, hidden: Tensor, numbers: Numbers) -> Numbers:
        parts = torch.unflatten(hidden, 1, (-1, PER_ELLIPSE))
        logits = torch.einsum("nepw,pwb->nepb", parts, self.heads.to(hidden.dtype)).flatten(1, 2)
        return self._picked(torch.log_softmax(logits.float(), -1), self._bin(numbers))

    def _next(self, number: Float[Tensor, "n"], t: int, memory: "list[_Memory]") -> Float[Tensor, "n width"]:
        """Compute the latent of the factor after number t, for the first n rows."""
        at = self.config.tokens + t
        x = (self._shown(number) + self.place[at])[:, None]
        for block, past in zip(self.blocks, memory, strict=True):
            past.at = at
            x = block(x, past)
        latest: Tensor = self.norm(x[:, 0])
        return latest

    def _shown(self, numbers: Tensor) -> Tensor:
        angle = numbers[..., None] * self.octaves
        shown: Tensor = self.number(torch.cat([numbers[..., None], angle.sin(), angle.cos()], -1))
        return shown

    def _bin(self, numbers: Tensor) -> Tensor:
        return (numbers * self.config.bins).long().clamp(0, self.config.bins - 1)

    def _picked(self, factors: Tensor, which: Tensor) -> Tensor:
        return factors.gather(-1, which[..., None])[..., 0] + math.log(self.config.bins)

    def _draw(self, factor: Tensor, generator: torch.Generator) -> Tensor:
        which = torch.multinomial(factor.exp(), 1, generator=generator)[:, 0]
        within = torch.rand(len(which), generator=generator, device=which.device)
        # A float32 sum may round up to the next bin's edge.
        return ((which + within) / self.config.bins).clamp(max=_LAST)


class _Components(nn.Module):
    """The principal components of each current's data, as a reading of them."""

    mean: Tensor
    basis: Tensor
    variance: Tensor

    def __init__(self, config: GuideConfig) -> None:
        super().__init__()
        self.modes = config.modes
        shape = config.currents, config.boundary
        self.register_buffer("mean", torch.zeros(shape))
        self.register_buffer("basis", torch.zeros(*shape, config.modes))
        self.register_buffer("variance", torch.ones(config.currents, config.modes))

    @torch.no_grad()
    def fit(self, data: Float[Tensor, "n currents boundary"]) -> None:
        """Fit the components to data of phantoms without noise."""
        for k, own in enumerate(data.double().unbind(1)):
            prior = GaussianPrior.fit(own[None, :, None], own.new_ones(1, 1), self.modes)
            modes = prior.modes[:, 0]
            variance = modes.square().sum(-1)
            self.mean[k] = prior.mean[0]
            self.basis[k] = fn.normalize(modes, eps=_TINY).T
            self.variance[k] = variance.clamp(min=_LEAST * variance[0])

    def forward(self, measured: Tensor, tau: Tensor, level: Tensor, count: Tensor) -> Tensor:
        """(n, 2 currents modes), by the paper's noise and white noise of size `level` rms."""
        power = measured.square()
        noise = tau[:, None, None].square() * power + level[:, None, None].square() * power.mean(-1, True)
        total = self.variance + torch.einsum("nlk,lkm->nlm", noise, self.basis.square())
        coefficient = torch.einsum("nlk,lkm->nlm", measured - self.mean, self.basis)
        both = torch.stack([coefficient * total.rsqrt(), self.variance / total], -1)
        present = torch.arange(both.shape[1], device=both.device) < count[:, None]
        return torch.where(present[:, :, None, None], both, 0.0).flatten(1)


class _CausalBlock(nn.Module):
    """Attention to what came before, and a perceptron."""

    def __init__(self, config: GuideConfig) -> None:
        super().__init__()
        width = config.width
        self.heads = config.heads
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Tensor, memory: "_Memory | None" = None) -> Tensor:
        """The next latent of a whole sequence, or of one place of it given the memory of what comes before."""
        q, k, v = split_three(self.qkv(self.first(x)), self.heads)
        if memory is not None:
            k, v = memory.extended(k, v)
        x = x + self.out(merge(attention(q, k, v, evaluation="softmax", causal=x.shape[1] > 1)))
        out: Tensor = x + self.down(fn.gelu(self.up(self.second(x))))
        return out


class _Memory:
    """Keys and values of a block: of whole sequences first, then written over from place `at` on."""

    def __init__(self) -> None:
        self.at = 0
        self.keys, self.values = torch.empty(0), torch.empty(0)

    def extended(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Add keys and values at this place; all of the same rows up to it."""
        if self.at == 0:
            self.keys, self.values = k, v
            return k, v
        rows, end = len(k), self.at + k.shape[2]
        self.keys[:rows, :, self.at : end], self.values[:rows, :, self.at : end] = k, v
        return self.keys[:rows, :, :end], self.values[:rows, :, :end]

    def repeat(self, times: int) -> None:
        """Repeat each row so many times."""
        self.keys, self.values = (part.repeat_interleave(times, 0) for part in (self.keys, self.values))


def save(guide: Guide, folder: Path) -> None:
    """Write guide.safetensors, matrices in 8 bits but the first, and guide.json."""
    folder.mkdir(parents=True, exist_ok=True)
    learned = {name: p.detach().cpu().contiguous() for name, p in guide.named_parameters()}
    # The faint components would drown in the rounding of the strong ones: these stay in 32 bits.
    fixed = {name: b.cpu().contiguous() for name, b in guide.state_dict().items() if name not in learned}
    first = {_FIRST: learned.pop(_FIRST).half()}
    described = {folder / "guide.json": (json.dumps(asdict(guide.config), indent=2) + "\n").encode()}
    tensors = shards.compacted(learned) | first | fixed
    shards.write(tensors, folder / "guide.safetensors", shards.LIMIT, described)


def load(folder: Path, device: str | torch.device = "cpu") -> Guide:
    """The guide saved in a folder, in evaluation mode."""
    try:
        config = GuideConfig(**json.loads((folder / "guide.json").read_text(encoding="utf-8")))
        guide = Guide(config)
        guide.load_state_dict(shards.expanded(shards.read(folder / "guide.safetensors")))
    except (OSError, TypeError, ValueError, RuntimeError) as error:
        raise InputError(f"{folder}: no guide can be read from there: {str(error).splitlines()[0]}") from None
    return guide.to(device).eval()
