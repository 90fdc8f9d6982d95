"""The same on a GPU, where there is one."""

import pytest
import torch

from eitlens.dataset import Dataset, check, generate
from eitlens.feature import Features
from eitlens.feed import Noise, Pipeline, Prefetcher, Stream, StreamConfig

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
GPU = torch.device("cuda", 0)


def test_a_set_made_on_a_gpu_is_the_same_to_nine_digits(tmp_path, tiny, whole):
    assert generate(tiny, tmp_path, device="cuda").complete
    ours, theirs = (Dataset.open(folder).read(0, 24) for folder in (tmp_path, whole))
    assert (ours.difference - theirs.difference).abs().max() < 1e-9 * theirs.difference.abs().max()
    assert torch.equal(ours.packed, theirs.packed)
    check(tmp_path)


def test_the_stream_is_the_same_and_pure(tiny):
    config = StreamConfig(tiny, seed=3, batch=4, block=8)
    here, there, again = Stream(config), Stream(config, GPU), Stream(config, GPU, prefetch=False)
    for k in (0, 1, 2, 3, 7, 0):
        expected, found = here(k).samples, there(k).samples
        assert (found.difference.cpu() - expected.difference).abs().max() < 1e-9
        assert torch.equal(found.packed.cpu(), expected.packed)
        assert torch.equal(again(k).samples.difference, found.difference)


def test_examples_made_in_advance_are_those_made_in_place(tiny, whole):
    samples = Dataset.open(whole).split("train", GPU)
    pipeline = Pipeline(Features(tiny.n).scaled(samples.difference), Noise((0.0, 0.2), "range"), augment=True)
    prefetched = Prefetcher(lambda k: pipeline(samples, k), GPU)
    for k in range(20):
        found = prefetched(k)
        torch.cuda._sleep(1_000_000)
        total = found.features.double().sum()
        assert total == pipeline(samples, k).features.double().sum()
    prefetched.close()
