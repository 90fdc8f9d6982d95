"""Training of a guide of the posterior: a bank of simulated phantoms, fresh noise and another level for each batch.

The loss is -log q(u | y): its mean over phantoms and noise is least for the posterior itself.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float32
from torch import Tensor, nn

from eitlens.domain import Domain
from eitlens.forward.base import Currents
from eitlens.phantom import EllipseSampler
from eitlens.posterior.guide.network import Guide, GuideConfig
from eitlens.posterior.model.coordinates import ordered, to_numbers
from eitlens.posterior.model.likelihood import FLOOR, Likelihood
from eitlens.posterior.model.target import Target

_HELD_OUT = 0.01  # of the bank, never trained on: 25,000 phantoms of the standard recipe
_FITTED = 20_000  # phantoms for the principal components: 25 for each of 800 nodes
_WARMUP, _TOLD = 300, 250  # steps: 2 % of the training for the learning rate to rise, and between two reports
_LARGEST_STEP = 1.0  # the norm of a gradient above which it is scaled down, as is usual for transformers
_AT_ONCE = 8192  # phantoms of a batch without gradients: twice a batch of training
TrainingReport = Callable[[int, float, float], None]
"""Told the step, and the loss in training and on phantoms held out."""


@dataclass(frozen=True)
class Recipe:
    """Recipe of the training of a guide.

    Attributes:
        phantoms: how many are simulated, and `tolerance` how exactly.
        steps: how long it is trained.
        batch, lr, decay: of the optimiser.
        final: share of the examples at the floor.
        shares: how often one, two, … currents are given.
        seed: of phantoms and noise; a fixed choice, never searched.
    """

    phantoms: int = 2_500_000
    tolerance: float = 2e-4
    steps: int = 15_000
    batch: int = 4096
    lr: float = 1e-3
    decay: float = 0.02
    final: float = 0.35
    shares: tuple[float, ...] = (0.45, 0.1, 0.45)
    seed: int = 0


@dataclass(frozen=True)
class Bank:
    """Phantoms as ordered numbers, and their boundary data without noise."""

    numbers: Float32[Tensor, "phantoms parameters"]
    data: Float32[Tensor, "phantoms currents boundary"]

    @staticmethod
    def simulate(
        domain: Domain,
        currents: Currents,
        prior: EllipseSampler,
        recipe: Recipe,
        told: Callable[[int], None],
        at_once: int = 50_000,
    ) -> "Bank":
        """Simulate draws of the prior, where the currents are; `told` hears how many there are."""
        nothing = Likelihood(currents[None], currents.new_ones(1))
        target = Target.build(domain, currents, prior, nothing, recipe.tolerance)
        numbers, data = [], []
        for first in range(0, recipe.phantoms, at_once):
            count = min(at_once, recipe.phantoms - first)
            z = target.coordinates.draw(count, recipe.seed + 1 + first, currents.device)
            data.append(target.data(z).float())
            numbers.append(to_numbers(ordered(domain, target.coordinates, z)).float())
            told(first + count)
        return Bank(torch.cat(numbers), torch.cat(data))

    def take(self, index: Tensor | slice) -> "Bank":
        """Take some of the phantoms."""
        return Bank(self.numbers[index], self.data[index])


def with_noise(
    data: Tensor, config: GuideConfig, recipe: Recipe, generator: torch.Generator
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Add the paper's noise τ and white noise s; the data, τ, s and the number of currents that are given."""

    def uniform() -> Tensor:
        return torch.rand(len(data), generator=generator, device=data.device)

    def normal() -> Tensor:
        return torch.randn(data.shape, generator=generator, device=data.device)

    tau = torch.exp(_between(math.log(config.quietest), math.log(config.loudest), uniform()))
    level = torch.exp(_between((FLOOR * tau).log(), math.log(config.flattest), uniform()))
    level = torch.where(uniform() < recipe.final, FLOOR * tau, level)
    size = data.square().mean(-1, keepdim=True).sqrt()
    noisy = data + tau[:, None, None] * data * normal() + level[:, None, None] * size * normal()
    shares = torch.tensor(recipe.shares, device=data.device)
    count = 1 + torch.multinomial(shares, len(data), True, generator=generator)
    return noisy - noisy.mean(-1, keepdim=True), tau, level, count


def train_guide(config: GuideConfig, bank: Bank, recipe: Recipe, told: TrainingReport) -> Guide:
    """Train a guide, on the device of the bank."""
    device = bank.data.device
    torch.manual_seed(recipe.seed)
    guide = Guide(config).to(device)
    guide.components.fit(bank.data[:_FITTED])
    optimiser = torch.optim.AdamW(guide.parameters(), recipe.lr, (0.9, 0.98), weight_decay=recipe.decay)
    generator = torch.Generator(device).manual_seed(recipe.seed)
    held = bank.take(slice(-max(1, int(_HELD_OUT * len(bank.data))), None))
    most = len(bank.data) - len(held.data)
    if bank.data.is_cuda:
        for block in guide.blocks:
            block.compile()
    for step in range(1, recipe.steps + 1):
        rise, fall = min(1.0, step / _WARMUP), 0.5 + 0.5 * math.cos(math.pi * step / recipe.steps)
        for group in optimiser.param_groups:
            group["lr"] = recipe.lr * (rise * fall)
        index = torch.randint(most, (recipe.batch,), generator=generator, device=device)
        value = loss(guide, bank.take(index), recipe, generator)
        optimiser.zero_grad(set_to_none=True)
        value.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(guide.parameters(), _LARGEST_STEP)
        optimiser.step()
        if step % _TOLD == 0 or step in (1, recipe.steps):
            told(step, float(value.detach()), validate(guide, held, recipe))
    return guide.eval()


def loss(guide: Guide, bank: Bank, recipe: Recipe, generator: torch.Generator) -> Tensor:
    """The mean of -log q(u | y), in nats a phantom; the prior alone has 0, or log k! less for the order."""
    reading = guide.read(*with_noise(bank.data, guide.config, recipe, generator))
    with torch.autocast(reading.device.type, torch.bfloat16, enabled=reading.is_cuda):
        density = guide.log_density(reading, bank.numbers)
    return -density.sum(-1).mean()


@torch.no_grad()
def validate(guide: Guide, held: Bank, recipe: Recipe) -> float:
    """The loss on phantoms held out, with the same noise each time."""
    generator = torch.Generator(held.data.device).manual_seed(recipe.seed + 1)
    total = torch.zeros((), device=held.data.device)
    for first in range(0, len(held.data), _AT_ONCE):
        part = held.take(slice(first, first + _AT_ONCE))
        total += len(part.data) * loss(guide, part, recipe, generator)
    return float(total / len(held.data))


def _between(low: Tensor | float, high: float, part: Tensor) -> Tensor:
    return low + (high - low) * part
