"""From a configuration to the things a training loop works with."""

from dataclasses import dataclass, replace

import torch
from lightning.fabric import Fabric
from torch import nn
from torch.optim import Adam

from eitlens import models
from eitlens.errors import InputError
from eitlens.feature import INPUTS, Input, InputRecipe
from eitlens.feed import Pipeline
from eitlens.forward.base import Data
from eitlens.models import Network
from eitlens.train import optimiser
from eitlens.train.average import Average
from eitlens.train.config import Compile, TrainConfig
from eitlens.train.muon import Muon
from eitlens.train.norm import share_norms
from eitlens.train.sources import Examples, Part, Supply
from eitlens.train.stopwatch import Clock
from eitlens.train.validation import Validator

_FEW = 512
"""So many samples the train split of a stream's recipe may be asked for: they are simulated beside the stream's own."""


@dataclass(frozen=True)
class Setup:
    """What a run is made of in this process.

    `module` is `network` wrapped for devices and compiled, `validated` is `kept`, compiled where that is.
    """

    fabric: Fabric
    part: Part
    features: Input
    network: Network
    module: nn.Module
    validated: nn.Module
    optimiser: Adam | Muon
    average: Average | None
    examples: Examples
    validator: Validator
    clock: Clock
    epoch: int
    """Steps of an epoch, or of what is taken for one."""
    interval: int
    """Steps from validation to validation."""

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
    network = models.create(chosen.preset, currents=currents, faithful=chosen.faithful, **chosen.settings)
    if config.input != network.reads:
        raise InputError(
            f"{chosen.preset} reads {network.reads} input, the recipe has {config.input}: set input={network.reads}"
        )
    return network


def prepare(
    config: TrainConfig, fabric: Fabric, supply: Supply, network: Network, features: Input | None
) -> Setup:
    """Put everything in its place; `features` are those of the run being resumed."""
    part, device = Part(fabric.global_rank, fabric.world_size), fabric.device
    # On GPUs the last digit of a scale may differ from process to process.
    features = fabric.broadcast(features or _input(config, supply, network, device)).to(device)
    network.begin(features)
    if part.world > 1:
        share_norms(network, device)
    network.to(device)
    average = Average(network, config.average) if config.average else None
    module = fabric.setup_module(_compiled(network, config.compile), move_to_device=False)
    source = supply.source(config.batch, config.seed, device, part)
    pipeline = Pipeline(features, config.noise, config.augment, config.counts, config.seed)
    return Setup(
        fabric,
        part,
        features,
        network.train(),
        module,
        _validated(network, average, config.compile),
        _optimiser(config, network, device),
        average,
        Examples(source, pipeline, device, group=features.steps_at_once(config.batch // part.world, device)),
        Validator(
            supply.split("validation", device),
            Pipeline(features, config.noise, counts=config.counts),
            part,
            even=config.compile != "off",
        ),
        Clock(_steps(config, source.interval), 60 * config.minutes),
        source.interval,
        config.validate_every or source.interval,
    )


def _optimiser(config: TrainConfig, network: Network, device: torch.device) -> Adam | Muon:
    if config.optimiser == "muon":
        return Muon(network.parameters(), config.weight_decay)
    return optimiser.create(network.parameters(), config.weight_decay, device)


def check_batch(config: TrainConfig, supply: Supply) -> None:
    """A batch is of no more samples than there are, or are to be seen; told before any is read or simulated."""
    if supply.training == 0:
        raise InputError(f"{config.data.folder}: its train split is empty: use another data set")
    most = min((count for count in (supply.training, config.samples) if count), default=config.batch)
    if config.batch > most:
        raise InputError(f"batch of {config.batch} from {most} training samples: choose a smaller batch")


def _input(config: TrainConfig, supply: Supply, network: Network, device: torch.device) -> Input:
    """The input of the network, fitted to training samples."""
    recipe = InputRecipe(
        n=supply.n,
        body=supply.body,
        currents=supply.currents,
        gradient=config.gradient,
        scale=config.scale,
        modes=getattr(network.config, "modes", 0) or 0,
        fewest=min(config.counts, default=0),
    )

    def samples(count: int) -> Data:
        # A recipe has a few training samples of its own; many are taken from the stream itself.
        if supply.dataset is not None or count <= _FEW:
            return supply.split("train", device, count).difference
        bank = min(count, supply.config.bank or count)
        return replace(supply, config=replace(supply.config, bank=bank)).bank(config.seed, device).difference

    return INPUTS[network.reads].fitted(recipe, samples)


def _compiled(network: Network, mode: Compile) -> nn.Module:
    """The network compiled, or itself with its regions compiled in place.

    Never for a batch of any size: training and validation have batches of their own, and a compiler that has
    seen both would make one slower program for all.
    """
    if mode == "off":
        return network
    if network.regions():
        for region in network.regions():
            region.compile(mode=mode, dynamic=False)
        return network
    compiled: nn.Module = torch.compile(network, mode=mode, dynamic=False)  # type: ignore[assignment]
    return compiled


def _validated(network: Network, average: Average | None, mode: Compile) -> nn.Module:
    """The network that is kept, for validation: without CUDA graphs, which would hold memory for it."""
    if average is None and network.regions():
        return network  # compiled in place for training; they compile themselves again for validation
    kept = network if average is None else average.network
    return _compiled(kept, mode if mode == "off" else "default")


def _steps(config: TrainConfig, interval: int) -> int | None:
    """Steps of the run, where they are known."""
    if config.minutes:
        return None
    asked = config.epochs * interval if config.epochs else config.samples / config.batch
    return max(1, round(asked))
