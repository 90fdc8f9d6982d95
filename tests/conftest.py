"""Shapes and types of the physics are checked at run time in the tests, and only there; small data sets, made once."""

import importlib.util
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from jaxtyping import install_import_hook

PHYSICS = [
    "checks",
    "classical",
    "domain",
    "electrodes",
    "evaluate",
    "feature.few_points",
    "feature.gaussian",
    "feature.harmonic",
    "forward",
    "memory",
    "phantom",
    "posterior.model",
    "posterior.moves",
    "posterior.sampler",
    "random",
]

# As for mypy, an int will do for a float.
CHECKER = "beartype.beartype(conf=beartype.BeartypeConf(is_pep484_tower=True))"

if importlib.util.find_spec("beartype"):
    install_import_hook([f"eitlens.{name}" for name in PHYSICS], CHECKER)

torch.set_num_threads(1)

# After the hook.
from eitlens.dataset import DataConfig, SamplerConfig, SolverConfig, generate  # noqa: E402

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
