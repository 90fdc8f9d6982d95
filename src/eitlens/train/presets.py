"""The training recipes by name."""

from dataclasses import replace

from eitlens.checks import choose
from eitlens.dataset import preset as data_preset
from eitlens.feed import Noise
from eitlens.train.config import NetworkConfig, SourceConfig, TrainConfig
from eitlens.train.schedule import Schedule

_SMOKE = replace(data_preset("smoke"), validation=16)  # half of its own: validations take their time

# Ours, for one to three currents and noise up to 25 %: a bank of samples of the paper's distribution that share nothing
# with its data set, shown with new noise, mirror images and numbers of currents each time. 13 minutes on an H200.
_FLAGSHIP = TrainConfig(
    "flagship",
    network=NetworkConfig("flagship"),
    data=SourceConfig(stream=data_preset("paper"), block=2048, bank=350_000, validation=1024),
    noise=Noise((1e-3, 0.25), "spread"),
    augment=True,
    input="gaussian",
    counts=(1, 1, 2, 3, 3),
    schedule=Schedule(lr=2e-3, start=20.0, peak=0.1),
    optimiser="muon",
    weight_decay=1e-2,
    clip=1.0,
    batch=384,
    samples=2_740_000,
    precision="bf16",
    compile="default",
    average=0.998,
    select="cross_entropy",
    log_every=25,
    validate_every=1000,
    checkpoint_every=120.0,
    seed=20261115,
)
# The paper's architecture, narrow, for laptops and browsers: φ and ∇φ, zero where a current was not given.
_UIT_SMALL = replace(
    _FLAGSHIP,
    name="uit-small",
    network=NetworkConfig("uit-small"),
    input="harmonic",
    scale=True,
    schedule=replace(_FLAGSHIP.schedule, lr=1e-3),
    optimiser="adam",
    batch=128,
    samples=351_000,
    compile="reduce-overhead",
)

# The flagship again, on overlapping and disjoint ellipses together: the limit is for disjoint ones.
_BOTH = replace(
    _FLAGSHIP,
    name="flagship-both",
    data=replace(_FLAGSHIP.data, stream=data_preset("paper-both")),
    samples=3_500_000,
    exact_input=True,
)
# The paper's own network, in its size: what it reaches where data are no limit.
_UIT = replace(
    _UIT_SMALL,
    name="uit-endless",
    network=NetworkConfig("uit"),
    data=_BOTH.data,
    batch=64,
    samples=2_500_000,
    exact_input=True,
)
# A network that assumes neither contrast nor form: classes and log σ, under the paper's noise, white noise, or both.
_WORLDS = replace(
    _FLAGSHIP,
    name="worlds",
    network=NetworkConfig("worlds"),
    data=replace(_FLAGSHIP.data, stream=data_preset("worlds"), bank=240_000),
    noise=Noise((1e-3, 0.25), "spread", (1e-3, 0.2)),
    input="scaled-gaussian",
    loss="phases",
    select="class_entropy",
    samples=3_500_000,
    exact_input=True,
    seed=20261119,
)
_TINY = {"modes": 64, "width": 64, "layers": 2, "heads": 2, "hidden": 64, "fine": 16, "grid": 4, "waves": 4}

PRESETS: dict[str, TrainConfig] = {
    config.name: config
    for config in (
        # The paper's: needs a data set (`eitlens generate --preset paper`).
        TrainConfig("paper", data=SourceConfig(folder="data/paper"), epochs=50, batch=10),
        _FLAGSHIP,
        _UIT_SMALL,
        # Small enough for a laptop's patience: the whole path in less than two minutes on two cores.
        TrainConfig(
            "smoke",
            network=NetworkConfig("uit-small", {"resolution": 32}),
            data=SourceConfig(stream=_SMOKE, block=64),
            scale=True,
            schedule=Schedule(start=10.0),
            batch=8,
            samples=1024,
            average=0.9,
            validate_every=32,
            log_every=8,
            checkpoint_every=5.0,
        ),
        _BOTH,
        _UIT,
        _WORLDS,
        # The same on bodies of 32 cells a side: the whole path in a minute on a CPU.
        replace(
            _WORLDS,
            name="worlds-smoke",
            network=NetworkConfig("worlds", _TINY),
            data=SourceConfig(stream=data_preset("worlds-smoke"), block=64, bank=192, validation=32),
            batch=16,
            samples=1600,
            precision="32",
            compile="off",
            average=0.9,
            validate_every=50,
            log_every=10,
            checkpoint_every=5.0,
        ),
    )
}


def preset(name: str) -> TrainConfig:
    """The named recipe, or an error that lists the names there are."""
    choose("preset", name, tuple(PRESETS))
    return PRESETS[name]
