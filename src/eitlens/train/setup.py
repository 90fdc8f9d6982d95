"""From a configuration to the things a training loop works with."""

from dataclasses import dataclass, replace

import torch
from lightning.fabric import Fabric
from torch import Tensor, nn
from torch.optim import Adam

from eitlens import models
from eitlens.errors import InputError
from eitlens.feature import Codes, Features, harmonic_extension
from eitlens.feature.storage import rounded
from eitlens.feed import Pipeline
from eitlens.forward.base import Data
from eitlens.models import Network, registry
from eitlens.models.flagship import Flagship
from eitlens.train import optimiser
from eitlens.train.average import Average
from eitlens.train.config import Compile, TrainConfig
from eitlens.train.muon import Muon
from eitlens.train.norm import share_norms
from eitlens.train.sources import Examples, Part, Supply
from eitlens.train.stopwatch import Clock
from eitlens.train.validation import Validator

_FIT, _FIT_CODES, _GROUP = 512, 8192, 8
_TOGETHER = 256
"""Samples whose fields are made at once on a GPU, about 10 MB each for three currents while it lasts."""


@dataclass(frozen=True)
class Setup:
    """What a run is made of in this process.

    `module` is `network` wrapped for devices and compiled, `validated` is `kept`, compiled where that is.
    """

    fabric: Fabric
    part: Part
    features: Features | Codes
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
    fitting = "gaussian" if chosen.preset in models.names(codes=True) else "harmonic"
    if config.input != fitting:
        raise InputError(
            f"{chosen.preset} reads {fitting} input, the recipe has {config.input}: set input={fitting}"
        )
    return models.create(chosen.preset, currents=currents, faithful=chosen.faithful, **chosen.settings)


def prepare(
    config: TrainConfig, fabric: Fabric, supply: Supply, network: Network, features: Features | Codes | None
) -> Setup:
    """Put everything in its place; `features` are those of the run being resumed."""
    part, device = Part(fabric.global_rank, fabric.world_size), fabric.device
    # On GPUs the last digit of a scale may differ from process to process.
    features = fabric.broadcast(features or _features(config, supply, device))
    if isinstance(features, Codes):
        features = features.to(device)
        _start(network, features)
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
        Examples(source, pipeline, device, group=_group(features, config.batch // part.world, device)),
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


def check_grid(network: Network, n: int) -> None:
    """A network that reads codes has a grid of its own: in training it must be that of the data."""
    if isinstance(network, Flagship) and network.nodes != n + 1:
        fix = f"set network.settings.grid={n // 8}" if n % 8 == 0 else "use data of 8, 16, 24, … cells"
        cells = network.nodes - 1
        raise InputError(f"{network.preset} makes images of {cells} cells a side, the data have {n}: {fix}")


def check_batch(config: TrainConfig, supply: Supply) -> None:
    """A batch is of no more samples than there are, or are to be seen; told before any is read or simulated."""
    if supply.training == 0:
        raise InputError(f"{config.data.folder}: its train split is empty: use another data set")
    most = min((count for count in (supply.training, config.samples) if count), default=config.batch)
    if config.batch > most:
        raise InputError(f"batch of {config.batch} from {most} training samples: choose a smaller batch")


def _start(network: Network, codes: Codes) -> None:
    """Let the linear part of a network that has one begin as the paper's feature: φ and ∇φ of the modes."""
    if not isinstance(network, Flagship):
        return
    domain, step = codes.domain, codes.n // network.config.grid
    centres = torch.arange(network.config.grid, device=codes.prior.mean.device) * step + step // 2

    def fields(data: Data) -> Tensor:
        return harmonic_extension(domain, data, gradient=True)[..., centres[:, None], centres]

    modes = torch.cat([fields(part) for part in torch.split(codes.prior.modes, 16)])
    network.start(modes.float(), fields(codes.prior.mean).float())


def _features(config: TrainConfig, supply: Supply, device: torch.device) -> Features | Codes:
    if config.input == "gaussian":
        return _codes(config, supply, device)
    fewest = min(config.counts, default=0)
    plain = Features(supply.n, supply.currents, config.gradient, fewest=fewest)
    return plain.fitted(supply.split("train", device, _FIT).difference) if config.scale else plain


def _codes(config: TrainConfig, supply: Supply, device: torch.device) -> Codes:
    """Fitted to training samples, as many as are worth it."""
    if supply.dataset is not None:
        fit = supply.split("train", device, _FIT_CODES)
    else:
        bank = min(_FIT_CODES, supply.config.bank or _FIT_CODES)
        fit = replace(supply, config=replace(supply.config, bank=bank)).bank(config.seed, device)
    modes = int(config.network.settings.get("modes", registry.preset(config.network.preset).config.modes))
    return rounded(Codes.fitted(supply.n, supply.currents, fit.difference, modes))


def _group(features: Features | Codes, batch: int, device: torch.device) -> int:
    """Steps whose examples are made at once; the fields of one step fill the caches of a CPU as it is."""
    if isinstance(features, Codes):
        return _GROUP
    return min(_GROUP, max(1, _TOGETHER // batch)) if device.type == "cuda" else 1


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
