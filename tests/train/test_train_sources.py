from dataclasses import replace

import pytest
import torch

from eitlens.errors import InputError
from eitlens.feature import Features
from eitlens.feed import Noise, Pipeline
from eitlens.train import SourceConfig
from eitlens.train.examples import ExampleFeed
from eitlens.train.processes import Processes
from eitlens.train.sources import MemorySource
from eitlens.train.supply import Supply

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def supply(data) -> Supply:
    return Supply.open(SourceConfig(stream=data, block=8))


def test_examples_made_in_advance_or_together_are_the_same(supply, data):
    pipeline = Pipeline(Features(data.n, data.currents), Noise((0.1,)), augment=True, seed=3)
    plain = ExampleFeed(supply.source(4, 5, Processes()), pipeline, CPU)
    ahead = ExampleFeed(supply.source(4, 5, Processes()), pipeline, CPU, prefetch=True)
    grouped = ExampleFeed(supply.source(4, 5, Processes()), pipeline, CPU, group=3)
    for step in (0, 1, 2, 7, 3):
        a, b, c = plain(step), ahead(step), grouped(step)
        assert torch.equal(a.features, b.features)
        torch.testing.assert_close(a.features, c.features, atol=1e-6, rtol=1e-6)
        assert torch.equal(a.target, b.target)
        assert torch.equal(a.target, c.target)
    ahead.close()


def test_an_epoch_shows_every_sample_once_and_processes_share_it(supply):
    samples = supply.split("train", CPU)
    whole = MemorySource(samples, 8, 1, Processes())
    halves = [MemorySource(samples, 8, 1, Processes(rank, 2)) for rank in range(2)]
    assert whole.interval == 3
    for epoch in range(2):
        seen = []
        for step in range(3 * epoch, 3 * epoch + 3):
            batch = whole(step)
            assert batch.epoch == epoch
            shared = torch.cat([half(step).samples.index for half in halves])
            assert torch.equal(shared, batch.samples.index)
            seen += batch.samples.index.tolist()
        assert sorted(seen) == list(range(24))


def test_splits_share_nothing_and_may_be_cut(data):
    supply = Supply.open(SourceConfig(stream=data, validation=4, currents=1))
    assert supply.split("validation", CPU).index.tolist() == [24, 25, 26, 27]
    assert supply.split("test", CPU).index.tolist() == list(range(30, 36))
    assert supply.split("train", CPU, 3).difference.shape == (3, 1, 128)


def test_a_batch_larger_than_the_data(supply):
    with pytest.raises(InputError, match=r"99 .*24 samples"):
        MemorySource(supply.split("train", CPU), 99, 0, Processes())


def test_a_batch_that_processes_cannot_share_is_refused_at_once(supply):
    with pytest.raises(InputError, match=r"batch of 8 .*3 processes"):
        MemorySource(supply.split("train", CPU), 8, 0, Processes(0, 3))


def test_an_empty_split(data):
    supply = Supply.open(SourceConfig(stream=replace(data, test=0)))
    with pytest.raises(InputError, match="this split is empty"):
        supply.split("test", CPU)
