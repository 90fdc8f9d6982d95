"""The configuration of a training run, as frozen dataclasses that go to JSON and back.

Numbers that may be left out are 0 when they are. An unknown key is an error.
"""

import json
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from eitlens.checks import at_least, choose, known_keys
from eitlens.dataset import DataConfig
from eitlens.errors import InputError
from eitlens.evaluate.metrics import METRICS
from eitlens.evaluate.phases import PHASE_METRICS
from eitlens.feed import Noise
from eitlens.files import read_json
from eitlens.train.losses import LOSS_NAMES, PHASES, LossName
from eitlens.train.schedule import Schedule

Precision = Literal["32", "tf32", "bf16"]
Compile = Literal["off", "default", "reduce-overhead", "max-autotune"]


@dataclass(frozen=True)
class NetworkConfig:
    """A network by its preset; `settings` are other fields of its own configuration."""

    preset: str = "uit"
    settings: dict[str, Any] = field(default_factory=dict)
    faithful: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.settings, dict) or "currents" in self.settings:
            raise InputError(
                f"network: settings must be an object without 'currents', got {self.settings!r}: the number "
                "of currents is that of the data, or data currents=L for the first L of them"
            )


@dataclass(frozen=True)
class SourceConfig:
    """The source of the samples: a data set in a `folder`, or an endless `stream` simulated on the fly.

    Attributes:
        folder: a data set; its splits are used as they are. The settings of a stream play no part then.
        stream: a recipe. Training sees new samples for ever; validation and test are that recipe's own splits
            and are simulated when the run begins.
        block, repeat: see `StreamConfig`.
        bank: simulate so many samples of the stream when the run begins and train on them, in a new order each
            epoch, as on a data set; 0 for new samples for ever.
        currents: use the first so many currents; 0 for all.
        train, validation: use the first so many samples of the split; 0 for all. A stream is not cut by `train`.
    """

    folder: str = ""
    stream: DataConfig | None = None
    block: int = 512
    repeat: int = 1
    bank: int = 0
    currents: int = 0
    train: int = 0
    validation: int = 0

    def __post_init__(self) -> None:
        if self.folder and self.stream is not None:
            raise InputError("data: a folder and a stream are given: choose one")
        for name in ("block", "repeat"):
            at_least(f"data: {name}", getattr(self, name), 1)
        for name in ("bank", "currents", "train", "validation"):
            at_least(f"data: {name}", getattr(self, name), 0)


@dataclass(frozen=True)
class TrainConfig:
    """A training run.

    Attributes:
        name: for people.
        network, data, noise: what learns from what. The noise is fresh in every epoch, and for validation the
            same each time.
        augment: move samples by the symmetries of the square that the currents allow.
        input: `harmonic` for the channels of `Features`, or what `feature.substitutes` puts in their place: `boundary`,
            `potential`, `code-fields`; `gaussian` for the codes of `Codes`, which networks that read codes need.
        counts: numbers of currents, one of which each sample keeps; empty for all of them.
        gradient: `exact`, or the published code's differences, `repo`.
        scale: divide each input channel by its root mean square over training samples.
        loss: what training minimises.
        schedule: learning rate and β₁.
        optimiser: `adam`, or `muon` for the matrices between wide layers (see `train.optimiser`).
        weight_decay: decoupled (AdamW); 0 is plain Adam. With Muon, of its matrices alone.
        clip: largest norm of the gradient; 0 for none.
        batch: samples a step, over all processes.
        epochs, samples, minutes: how long; exactly one of them is not 0. With `minutes` the schedule follows
            the clock, interruptions not counted, and the run is not reproducible to the bit.
        precision: of the network; the physics is always float64.
        exact_input: do not round the input to bfloat16 in training, where the network computes in that.
        compile: mode of torch.compile.
        average: decay of the running mean of the weights that is validated and kept; 0 for none.
        select: the metric of validation that chooses the weights to keep.
        validate_every: steps; 0 for each epoch of a data set, each 500 steps of a stream.
        log_every: steps.
        checkpoint_every: seconds.
        seed: of initialisation, order, noise, symmetries and dropout.
    """

    name: str = "run"
    network: NetworkConfig = field(default_factory=NetworkConfig)
    data: SourceConfig = field(default_factory=SourceConfig)
    noise: Noise = field(default_factory=Noise)
    augment: bool = False
    input: str = "harmonic"
    counts: tuple[int, ...] = ()
    gradient: Literal["exact", "repo"] = "exact"
    scale: bool = False
    loss: LossName = "bce"
    schedule: Schedule = field(default_factory=Schedule)
    optimiser: Literal["adam", "muon"] = "adam"
    weight_decay: float = 0.0
    clip: float = 0.0
    batch: int = 10
    epochs: float = 0.0
    samples: int = 0
    minutes: float = 0.0
    precision: Precision = "32"
    exact_input: bool = False
    compile: Compile = "off"
    average: float = 0.0
    select: str = "paper_l2"
    validate_every: int = 0
    log_every: int = 20
    checkpoint_every: float = 60.0
    seed: int = 1127802

    def __post_init__(self) -> None:
        choose("loss", self.loss, LOSS_NAMES)
        choose("precision", self.precision, get_args(Precision))
        choose("compile", self.compile, get_args(Compile))
        choose("select", self.select, self.metrics)
        choose("optimiser", self.optimiser, ("adam", "muon"))
        if not isinstance(self.counts, list | tuple) or any(type(c) is not int or c < 1 for c in self.counts):
            raise InputError(f"counts: expected a list of numbers of currents >= 1, got {self.counts!r}")
        object.__setattr__(self, "counts", tuple(self.counts))
        choose("gradient", self.gradient, ("exact", "repo"))
        for name in ("batch", "log_every"):
            at_least(name, getattr(self, name), 1)
        for name in ("validate_every", "checkpoint_every", "weight_decay", "clip", "seed"):
            at_least(name, getattr(self, name), 0)
        if not 0 <= self.average < 1:
            raise InputError(f"average must lie in [0, 1), got {self.average}")
        lengths = {"epochs": self.epochs, "samples": self.samples, "minutes": self.minutes}
        given = [value for value in lengths.values() if value]
        if len(given) != 1 or not 0 < given[0] < math.inf:
            raise InputError(f"how long to train: expected one of epochs, samples, minutes, got {lengths}")

    @property
    def phased(self) -> bool:
        """Whether classes and log σ are learned, not a mask."""
        return self.loss == PHASES

    @property
    def metrics(self) -> tuple[str, ...]:
        """What is measured in validation, by name."""
        return (*METRICS, *PHASE_METRICS) if self.phased else tuple(METRICS)

    def to_dict(self) -> dict[str, Any]:
        """The configuration as plain JSON values."""
        values: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        stream = self.data.stream
        if stream is not None:  # as data sets write it, but always with its body
            values["data"]["stream"] = stream.to_dict() | {"body": stream.body}
        return values

    @staticmethod
    def from_dict(values: object) -> "TrainConfig":
        """Build a configuration from plain JSON values, each checked; defaults fill what is left out."""
        top = known_keys(values, TrainConfig, "training configuration")
        parts: dict[str, Callable[[object], Any]] = {
            "network": lambda part: NetworkConfig(**known_keys(part, NetworkConfig, "network")),
            "data": _source,
            "noise": lambda part: Noise(**known_keys(part, Noise, "noise")),
            "schedule": lambda part: Schedule(**known_keys(part, Schedule, "schedule")),
        }
        return TrainConfig(**(top | {key: make(top[key]) for key, make in parts.items() if key in top}))

    @staticmethod
    def read(path: Path) -> "TrainConfig":
        """Read a JSON file."""
        return read_json(path, TrainConfig.from_dict, "see docs/training.md")


def _source(values: object) -> SourceConfig:
    top = known_keys(values, SourceConfig, "data")
    if top.get("stream") is not None:
        top["stream"] = DataConfig.from_dict(top["stream"])
    return SourceConfig(**top)


def difference(one: TrainConfig, other: TrainConfig) -> str | None:
    """Name the first setting that two configurations do not share; None when they are equal."""
    a, b = _flat(one.to_dict()), _flat(other.to_dict())
    for key in a | b:
        if a.get(key) != b.get(key):
            return f"{key} is {b.get(key)!r}, not {a.get(key)!r}"
    return None


def _flat(values: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in values.items():
        flat |= _flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {prefix + key: value}
    return flat
