"""The training recipes there are by name. Adding one is a line here."""

from dataclasses import replace

from eitlens.data import Noise
from eitlens.data import preset as data_preset
from eitlens.errors import InputError
from eitlens.train.config import NetworkConfig, SourceConfig, TrainConfig
from eitlens.train.schedule import Schedule

_SMOKE = replace(data_preset("smoke"), validation=16)

PRESETS: dict[str, TrainConfig] = {
    config.name: config
    for config in (
        # The paper's: needs a data set (`eitlens generate --preset paper`).
        TrainConfig("paper", data=SourceConfig(folder="data/paper"), epochs=50, batch=10),
        # Ours: samples that never come twice, noise of all levels, a running mean of the weights.
        TrainConfig(
            "flagship",
            network=NetworkConfig("uit"),
            data=SourceConfig(stream=data_preset("paper-disjoint"), block=2048, validation=1024),
            noise=Noise((0.0, 0.2), "range"),
            augment=True,
            scale=True,
            batch=64,
            samples=4_000_000,
            precision="bf16",
            compile="reduce-overhead",
            average=0.999,
            clip=1.0,
            weight_decay=1e-2,
            select="cross_entropy",
            log_every=50,
        ),
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
    )
}


def preset(name: str) -> TrainConfig:
    """The named recipe, or an error that lists the names there are."""
    if name not in PRESETS:
        raise InputError(f"no recipe is called {name!r}: choose one of {', '.join(PRESETS)}")
    return PRESETS[name]
