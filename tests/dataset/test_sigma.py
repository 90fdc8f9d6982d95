"""Data sets that store log σ: the same checksums and checks, and older sets are read as before."""

from dataclasses import replace

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load, save_file

from eitlens.dataset import DataConfig, Dataset, SamplerConfig, SolverConfig, generate, preset
from eitlens.dataset.check import check
from eitlens.dataset.shard import shard_name
from eitlens.errors import InputError
from eitlens.phantom.raster import classes, conductivity

TINY = replace(
    preset("worlds-smoke"),
    n=16,
    train=14,
    validation=2,
    test=2,
    shard=9,
    solver=SolverConfig("grid", tolerance=1e-8),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("sigma")
    generate(TINY, made, device="cpu", workers=1)
    return made


def test_a_set_knows_sigma_and_is_sound(folder):
    assert check(folder).samples == 18
    samples = Dataset.open(folder).read(0, 18)
    sigma = conductivity(Dataset.open(folder).domain, samples.phantoms)
    torch.testing.assert_close(samples.log_sigma.double(), sigma.log(), rtol=1e-3, atol=1e-3)
    assert torch.equal(samples.mask, classes(samples.log_sigma) > 0)


def test_the_same_samples_in_other_shards(folder, tmp_path):
    generate(replace(TINY, shard=5), tmp_path, device="cpu", workers=1)
    one, other = (Dataset.open(where).read(3, 12) for where in (folder, tmp_path))
    torch.testing.assert_close(one.difference, other.difference, rtol=0, atol=1e-7)
    assert torch.equal(one.log_sigma, other.log_sigma)


def test_another_sigma_is_noticed(folder, tmp_path):
    for file in folder.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    path = tmp_path / shard_name(0)
    with safe_open(path, "pt") as file:
        metadata = file.metadata()
    tensors = load(path.read_bytes())
    tensors["log_sigma"][2, 5, 5] += 1
    save_file(tensors, path, metadata)
    with pytest.raises(InputError):
        check(tmp_path)


def test_a_set_of_masks_has_no_key_for_sigma():
    plain = DataConfig("plain", n=16)
    assert "sigma" not in plain.to_dict()
    assert "worlds" not in plain.to_dict()["sampler"]
    assert DataConfig.from_dict(TINY.to_dict()) == TINY
    mixed = SamplerConfig("worlds", worlds=("paper", "smooth"))
    config = DataConfig("mixed", n=16, sampler=mixed, solver=SolverConfig("grid"), sigma=True)
    assert DataConfig.from_dict(config.to_dict()) == config


def test_bodies_that_a_mask_cannot_show_are_refused(tmp_path):
    with pytest.raises(InputError):
        generate(replace(TINY, sigma=False), tmp_path, device="cpu", workers=1)
