"""Small data sets, made once."""

from dataclasses import replace
from pathlib import Path

import pytest

from eitlens.data import DataConfig, SamplerConfig, SolverConfig, generate

TINY = DataConfig(
    "tiny",
    n=32,
    train=13,
    validation=5,
    test=6,
    shard=5,
    sampler=SamplerConfig(count=2, disjoint=True, gap=0.1),
    solver=SolverConfig("boundary-integral", tolerance=1e-5),
)


@pytest.fixture(scope="session")
def tiny() -> DataConfig:
    return TINY


@pytest.fixture(scope="session")
def whole(tmp_path_factory) -> Path:
    """A finished data set; not to be changed."""
    folder = tmp_path_factory.mktemp("whole")
    assert generate(TINY, folder, device="cpu").complete
    return folder


@pytest.fixture
def copied(whole, tmp_path) -> Path:
    """A finished data set to be harmed."""
    for file in whole.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    return tmp_path


@pytest.fixture(scope="session")
def other() -> DataConfig:
    return replace(TINY, sampler=replace(TINY.sampler, seed=2))
