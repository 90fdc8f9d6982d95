"""Where our networks differ from the published ones, and that they differ in nothing else."""

import pytest
import torch

from eitlens.errors import InputError
from eitlens.models import Network, create, names
from eitlens.models.registry import takes_faithful

DEAD = 451  # parameters of the Hybrid UT's three side heads


def _hybrid(side_heads: bool) -> Network:
    torch.manual_seed(0)
    return create("hybrid-ut", resolution=64, side_heads=side_heads).eval()


@pytest.mark.parametrize("name", ["unet", "unet-big", "mwo"])
def test_a_network_built_as_published_refuses_faithful(name):
    assert not takes_faithful(name)
    with pytest.raises(InputError, match="changes nothing"):
        create(name, faithful=True)


def test_the_networks_that_differ_from_the_published_ones():
    differ = {name for name in names() if takes_faithful(name)}
    assert differ >= {"uit", "uit-softmax", "cross-ut", "hybrid-ut", "fno", "unet-attention"}
    assert all(create(name, faithful=True).config.faithful for name in ("fno", "hybrid-ut"))


def test_the_hybrid_without_side_heads_is_the_default_in_all_else():
    ours, clean = _hybrid(True), _hybrid(False)
    x = torch.randn(1, 3, 33, 33, generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        assert torch.equal(ours(x), clean(x)), "the side heads begin at zero"
        before = clean(x)
        for network in (ours, clean):
            for head in network.heads[:-1]:
                head.weight.fill_(0.1)
        assert torch.equal(clean(x), before)
        assert not torch.equal(ours(x), before)
    assert sum(p.numel() for p in clean.parameters() if not p.requires_grad) == DEAD
