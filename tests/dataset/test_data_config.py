"""Configurations: presets, splits, JSON and back, and every key that is not one."""

import json

import pytest

from eitlens.dataset import PRESETS, DataConfig, SamplerConfig, SolverConfig, preset
from eitlens.dataset.samples import packed_size
from eitlens.errors import InputError


@pytest.mark.parametrize("name", ["paper", "paper-disjoint"])
def test_the_papers_counts(name):
    config = preset(name)
    assert config.ranges == {"train": (0, 8640), "validation": (8640, 10800), "test": (10800, 12800)}
    assert (config.n, config.currents.family, config.currents.count) == (200, "cosine", 3)
    assert (config.sampler.count, config.sampler.inside, config.sampler.outside) == (4, 10.0, 1.0)


def test_the_papers_set_fits_400_megabytes():
    config = preset("paper")
    shapes = config.sampler.count * (5 * 8 + 1 + 8 + 8) + 8
    size = config.count * (config.currents.count * 4 * config.n * 8 + packed_size(config.n + 1) + shapes)
    assert size < 330e6


@pytest.mark.parametrize("name", PRESETS)
def test_json_and_back(name):
    config = preset(name)
    assert DataConfig.from_dict(json.loads(json.dumps(config.to_dict()))) == config


def test_every_sample_is_in_one_shard_and_one_split(tiny):
    shards = [k for start, stop in tiny.shards for k in range(start, stop)]
    splits = [k for start, stop in tiny.ranges.values() for k in range(start, stop)]
    assert shards == splits == list(range(24))


def test_the_digest_tells_configurations_apart(tiny, other):
    assert tiny.digest != other.digest
    assert tiny.digest == DataConfig.from_dict(tiny.to_dict()).digest


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"name": "a", "sead": 1}, "unknown key 'sead'"),
        ({"name": "a", "sampler": {"radius": 1}}, "sampler: unknown key 'radius'"),
        ({"name": "a", "sampler": {"seed": "7"}}, "seed must be of type int, got '7'"),
        ({"name": "a", "sampler": {"disjoint": 1}}, "disjoint must be of type bool"),
        ({"name": "a", "currents": {"family": "square"}}, "must be one of cosine, sine"),
        ({"name": "a", "solver": {"name": "fem"}}, "must be one of boundary-integral, elements, grid"),
        ({"name": "a", "solver": {"tolerance": "small"}}, "tolerance must be a number or left out"),
        ({"name": "a", "n": 4}, "n must be at least 16, got 4"),
        ({"name": "a", "train": -1}, "train must be at least 0, got -1"),
        ({"n": 64}, "'name' is missing"),
        ([], "expected an object with the keys name, n"),
    ],
)
def test_what_cannot_be_is_refused(values, message):
    with pytest.raises(InputError, match=message):
        DataConfig.from_dict(values)


def test_overlaps_need_the_grid_solver():
    with pytest.raises(InputError, match="do not touch: set sampler disjoint=true"):
        DataConfig("a", sampler=SamplerConfig(), solver=SolverConfig("boundary-integral"))


def test_an_unknown_preset_lists_those_there_are():
    with pytest.raises(
        InputError, match=r"preset must be one of paper, paper-disjoint, smoke, .*got 'papper'"
    ):
        preset("papper")
