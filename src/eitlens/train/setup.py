"""From a configuration to the things a training loop works with."""

from dataclasses import dataclass

import torch
from lightning.fabric import Fabric
from torch import nn
from torch.optim import Adam

from eitlens import models
from eitlens.data import Features, Pipeline
from eitlens.models import Network
from eitlens.train import optimiser
from eitlens.train.average import Average
from eitlens.train.clock import Clock
from eitlens.train.config import TrainConfig
from eitlens.train.norm import share_norms
from eitlens.train.sources import Examples, Part, Supply
from eitlens.train.validation import Validator

_FIT = 512


@dataclass(frozen=True)
class Setup:
    """What a run is made of in this process. `module` is `network` wrapped for devices and compiled."""

    fabric: Fabric
    part: Part
    features: Features
    network: Network
    module: nn.Module
    optimiser: Adam
    average: Average | None
    examples: Examples
    validator: Validator
    clock: Clock
    interval: int

    @property
    def kept(self) -> Network:
        """The network that is validated and kept."""
        return self.network if self.average is None else self.average.network

    @property
    def device(self) -> torch.device:
        """Where it runs."""
        return self.fabric.device


def create_network(config: TrainConfig, currents: int) -> Network:
    """The untrained network, its weights a function of the seed."""
    torch.manual_seed(config.seed)
    chosen = config.network
    return models.create(chosen.preset, currents=currents, faithful=chosen.faithful, **chosen.settings)


def prepare(
    config: TrainConfig, fabric: Fabric, supply: Supply, network: Network, features: Features | None
) -> Setup:
    """Put everything in its place; `features` are those of the run being resumed."""
    part, device = Part(fabric.global_rank, fabric.world_size), fabric.device
    found = features or _features(config, supply, device)
    # On GPUs the last digit of a scale may differ from process to process.
    features = Features.from_dict(fabric.broadcast(found.to_dict()))
    if part.world > 1:
        share_norms(network, device)
    network.to(device)
    average = Average(network, config.average) if config.average else None
    module = fabric.setup_module(_compiled(network, config), move_to_device=False)
    source = supply.source(config.batch, config.seed, device, part)
    pipeline = Pipeline(features, config.noise, config.augment, config.seed)
    return Setup(
        fabric,
        part,
        features,
        network.train(),
        module,
        optimiser.create(network.parameters(), config.weight_decay, device),
        average,
        Examples(source, pipeline, device),
        Validator(supply.split("validation", device), Pipeline(features, config.noise), part),
        Clock(_steps(config, source.interval), 60 * config.minutes),
        config.validate_every or source.interval,
    )


def _features(config: TrainConfig, supply: Supply, device: torch.device) -> Features:
    plain = Features(supply.n, supply.currents, config.gradient)
    return plain.fitted(supply.split("train", device, _FIT).difference, _FIT) if config.scale else plain


def _compiled(network: Network, config: TrainConfig) -> nn.Module:
    if config.compile == "off":
        return network
    compiled: nn.Module = torch.compile(network, mode=config.compile)  # type: ignore[assignment]
    return compiled


def _steps(config: TrainConfig, interval: int) -> int | None:
    """Steps of the run, where they are known."""
    if config.minutes:
        return None
    asked = config.epochs * interval if config.epochs else config.samples / config.batch
    return max(1, round(asked))
