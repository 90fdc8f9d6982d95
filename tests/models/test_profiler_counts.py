"""The GFLOPs that the paper prints, by the means it names: PyTorch's profiler, for a batch of 8."""

import pytest
import torch
from torch.profiler import ProfilerActivity, profile

from eitlens import models
from eitlens.models.registry import NETWORKS


@pytest.mark.parametrize("name", ["unet", "unet-big"])
def test_the_printed_count_of_a_u_net_is_that_of_its_convolutions_forward(name):
    network = models.create(name).train()
    with profile(activities=[ProfilerActivity.CPU], with_flops=True) as found:
        network(torch.zeros(1, 3, 201, 201)).sum().backward()
    counted = {event.key: 8 * event.flops / 1e9 for event in found.key_averages() if event.flops}
    printed = NETWORKS[name].published.gflops
    assert counted["aten::conv2d"] == pytest.approx(printed, abs=0.05)
    # Nothing of the backward pass, and no transposed convolution: a sum over all it knows is hardly more.
    assert sum(counted.values()) == pytest.approx(printed, rel=2e-3)
