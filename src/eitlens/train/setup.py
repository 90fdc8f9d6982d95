"""The parts of a training loop, built from its configuration."""

from dataclasses import dataclass, replace

import torch
from torch import nn
from torch.optim import Optimizer

from eitlens import models
from eitlens.errors import InputError
from eitlens.feature import INPUTS, Input, InputRecipe
from eitlens.feed import Pipeline
from eitlens.forward.base import Data
from eitlens.models import Network
from eitlens.train import optimiser
from eitlens.train.average import Average
from eitlens.train.config import Compile, TrainConfig
from eitlens.train.examples import ExampleFeed
from eitlens.train.losses import PHASES
from eitlens.train.norm import share_norms
from eitlens.train.processes import Processes
from eitlens.train.progress import ProgressTracker
from eitlens.train.supply import Supply
from eitlens.train.validation import Validator

_MOST_BESIDE = 512  # samples that may be simulated beside those of the stream: one block of it


@dataclass(frozen=True)
class TrainingParts:
    """The parts of a run in this process.

    `module` is `network` wrapped for devices and compiled, `validated` is `kept`, compiled where that is.
    """

    processes: Processes
    features: Input
    network: Network
    module: nn.Module
    validated: nn.Module
    optimisers: list[Optimizer]
    average: Average | None
    examples: ExampleFeed
    validator: Validator
    tracker: ProgressTracker
    epoch: int
    """Steps of an epoch, or of what is taken for one."""
    interval: int
    """Steps from validation to validation."""

    @property
    def kept(self) -> Network:
        """The network whose weights are validated and kept."""
        return self.network if self.average is None else self.average.network

    @property
    def device(self) -> torch.device:
        """The device of this process."""
        return self.processes.device


def create_network(config: TrainConfig, currents: int) -> Network:
    """The untrained network, its weights a function of the seed."""
    torch.manual_seed(config.seed)
    chosen = config.network
    network = models.create(chosen.preset, currents=currents, faithful=chosen.faithful, **chosen.settings)
    if network.reads not in (config.input, INPUTS[config.input].replaces):
        raise InputError(
            f"{chosen.preset} reads {network.reads} input, the recipe has {config.input}: set input={network.reads}"
        )
    if network.phased != config.phased:
        fix = f"set loss={PHASES}" if network.phased else "take a network such as worlds, or another loss"
        raise InputError(f"{chosen.preset} and the loss {config.loss} do not fit together: {fix}")
    return network


def prepare(
    config: TrainConfig, processes: Processes, supply: Supply, network: Network, features: Input | None
) -> TrainingParts:
    """Build the parts of a run on its device; `features` is the input of a run that is resumed."""
    device = processes.device
    # On GPUs the last digit of a scale may differ from process to process.
    features = processes.broadcast(features or _input(config, supply, network, device)).to(device)
    network.begin(features)
    if processes.world > 1:
        share_norms(network, device)
    network.to(device)
    average = Average(network, config.average) if config.average else None
    module = _compiled(processes.wrap(network), network, config.compile)
    source = supply.source(config.batch, config.seed, processes)
    pipeline = Pipeline(features, config.noise, config.augment, config.counts, config.seed, config.phased)
    return TrainingParts(
        processes,
        features,
        network.train(),
        module,
        _validated(network, average, config.compile),
        _optimisers(config, network, device),
        average,
        ExampleFeed(
            source, pipeline, device, group=features.steps_at_once(config.batch // processes.world, device)
        ),
        Validator(
            supply.split("validation", device),
            Pipeline(features, config.noise, counts=config.counts, sigma=config.phased),
            processes,
            equal_batches=config.compile != "off",
        ),
        ProgressTracker(_steps(config, source.interval), 60 * config.minutes),
        source.interval,
        config.validate_every or source.interval,
    )


def _optimisers(config: TrainConfig, network: Network, device: torch.device) -> list[Optimizer]:
    if config.optimiser == "muon":
        return optimiser.create_muon(network.parameters(), config.weight_decay)
    return optimiser.create_adam(network.parameters(), config.weight_decay, device)


def check_batch(config: TrainConfig, supply: Supply) -> None:
    """Refuse a batch of more samples than there are, or are to be seen, before any is read or simulated."""
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
        fewest=min(config.counts, default=0),
    )
    own = getattr(network.config, "modes", 0) if config.input == network.reads else 0
    recipe = replace(recipe, modes=own) if own else recipe

    def samples(count: int) -> Data:
        # A recipe has a few training samples of its own; many are taken from the stream itself.
        if supply.dataset is not None or count <= _MOST_BESIDE:
            return supply.split("train", device, count).difference
        bank = min(count, supply.config.bank or count)
        return replace(supply, config=replace(supply.config, bank=bank)).bank(config.seed, device).difference

    return INPUTS[config.input].fitted(recipe, samples)


def _compiled(module: nn.Module, network: Network, mode: Compile) -> nn.Module:
    """The wrapped network compiled, or itself with the regions of the network compiled in place.

    Never for a batch of any size: training and validation have batches of their own, and a compiler that has
    seen both would make one slower program for all.
    """
    if mode == "off":
        return module
    if network.regions():
        for region in network.regions():
            region.compile(mode=mode, dynamic=False)
        return module
    compiled: nn.Module = torch.compile(module, mode=mode, dynamic=False)  # type: ignore[assignment]
    return compiled


def _validated(network: Network, average: Average | None, mode: Compile) -> nn.Module:
    """The kept network for validation: without CUDA graphs, which would hold memory for it."""
    if average is None and network.regions():
        return network  # compiled in place for training; they compile themselves again for validation
    kept = network if average is None else average.network
    return _compiled(kept, kept, mode if mode == "off" else "default")


def _steps(config: TrainConfig, interval: int) -> int | None:
    """Steps of the run, where they are known."""
    if config.minutes:
        return None
    asked = config.epochs * interval if config.epochs else config.samples / config.batch
    return max(1, round(asked))
