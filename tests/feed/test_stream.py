"""The endless stream: any batch, in any order, on any number of processes, is the same."""

from dataclasses import replace

import pytest
import torch

from eitlens.errors import InputError
from eitlens.feed import Prefetcher, Stream, StreamConfig
from eitlens.feed.prefetch import tensors


@pytest.fixture(scope="module")
def config(tiny) -> StreamConfig:
    return StreamConfig(tiny, seed=3, batch=4, block=8)


def same(one, two) -> bool:
    return (
        torch.equal(one.samples.difference, two.samples.difference)
        and torch.equal(one.samples.packed, two.samples.packed)
        and torch.equal(one.samples.index, two.samples.index)
        and one.epoch == two.epoch
    )


def test_a_batch_is_a_pure_function_of_its_number(config):
    first = Stream(config)
    batches = [first(k) for k in range(6)]
    second = Stream(config)
    assert all(same(second(k), batches[k]) for k in (5, 0, 3, 3, 1))


def test_simulated_in_advance_it_is_the_same(config):
    plain, prefetched = Stream(config), Stream(config, prefetch=True)
    assert all(same(plain(k), prefetched(k)) for k in (0, 1, 2, 3, 4, 9, 0))
    prefetched.close()


def test_batches_are_new_samples_each_time(config):
    stream = Stream(config)
    index = torch.cat([stream(k).samples.index for k in range(6)])
    assert index.tolist() == list(range(1 << 40, (1 << 40) + 24))
    rows = torch.cat([stream(k).samples.phantoms.groups[0].parameters.flatten(1) for k in range(6)])
    assert len(torch.unique(rows, dim=0)) == 24


def test_the_seed_matters(config):
    assert not same(Stream(config)(0), Stream(replace(config, seed=4))(0))


def test_even_with_a_data_sets_seed_it_shares_no_sample_with_it(config, tiny):
    stream = Stream(replace(config, seed=tiny.sampler.seed))
    own = tiny.sampler.build().batch(0, 24).groups[0].parameters.flatten(1)
    seen = stream(0).samples.phantoms.groups[0].parameters.flatten(1)
    assert not (seen[:, None] == own).all(-1).any()


def test_processes_share_the_batch_of_one(config):
    """To rounding, as the systems are solved in other company."""
    one = [Stream(config)(k).samples for k in range(4)]
    parts = [[Stream(config, rank=r, world=2)(k).samples for k in range(4)] for r in range(2)]
    for k in range(4):
        index = torch.cat([part[k].index for part in parts])
        data = torch.cat([part[k].difference for part in parts])
        assert torch.equal(index, one[k].index)
        assert torch.allclose(data, one[k].difference, rtol=0, atol=1e-12)


def test_repeats_show_a_block_again_in_another_order(config):
    stream = Stream(replace(config, repeat=2))
    batches = [stream(k) for k in range(8)]
    assert [b.epoch for b in batches] == [0, 0, 1, 1] * 2
    first, again = (torch.cat([b.samples.index for b in batches[i : i + 2]]) for i in (0, 2))
    assert first.tolist() != again.tolist()
    assert first.tolist() == sorted(again.tolist())
    assert same(Stream(replace(config, repeat=2))(3), batches[3])


def test_settings_that_do_not_fit(config):
    with pytest.raises(InputError, match=r"batch of 4 .*3 processes"):
        Stream(config, world=3)
    with pytest.raises(InputError, match=r"block of 6: .*4"):
        Stream(replace(config, block=6))
    with pytest.raises(InputError, match="stream: repeat must be at least 1"):
        replace(config, repeat=0)


@pytest.mark.parametrize("threaded", [True, False])
def test_a_prefetcher_hands_errors_on_and_goes_on(threaded):
    def function(k):
        if k == 1:
            raise InputError("no item 1")
        return k

    item = Prefetcher(function, torch.device("cpu"), threaded=threaded)
    assert item(0) == 0
    with pytest.raises(InputError, match="no item 1"):
        item(1)
    assert [item(2), item(3), item(3), item(7)] == [2, 3, 3, 7]
    item.close()


def test_all_tensors_of_a_batch_are_found(config):
    batch = Stream(config)(0)
    found = {id(t) for t in tensors(batch)}
    assert {id(batch.samples.difference), id(batch.samples.phantoms.groups[0].inside)} <= found
    assert len(found) == 8
