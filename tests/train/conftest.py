"""A run so small that its tests are quick."""

from dataclasses import replace

import pytest

from eitlens.dataset import DataConfig, SamplerConfig, SolverConfig
from eitlens.feed import Noise
from eitlens.train import NetworkConfig, Schedule, SourceConfig, TrainConfig

DATA = DataConfig(
    "tiny",
    n=32,
    train=24,
    validation=6,
    test=6,
    shard=18,
    currents=replace(DataConfig("x").currents, count=2),
    sampler=SamplerConfig(count=1, disjoint=True, gap=0.1),
    solver=SolverConfig("boundary-integral", tolerance=1e-4),
)
RUN = TrainConfig(
    "tiny",
    network=NetworkConfig("uit-small", {"width": 8, "resolution": 32}),
    data=SourceConfig(stream=DATA, block=8),
    noise=Noise((0.0, 0.1), "range"),
    scale=True,
    schedule=Schedule(start=10.0),
    batch=4,
    samples=48,
    average=0.9,
    validate_every=4,
    log_every=2,
    checkpoint_every=0.0,
)


@pytest.fixture(scope="session")
def data() -> DataConfig:
    return DATA


@pytest.fixture(scope="session")
def run() -> TrainConfig:
    return RUN


@pytest.fixture(scope="session")
def finished(tmp_path_factory):
    """A finished run; not to be changed."""
    from eitlens.train import train

    folder = tmp_path_factory.mktemp("run") / "tiny"
    train(RUN, folder, device="cpu")
    return folder
