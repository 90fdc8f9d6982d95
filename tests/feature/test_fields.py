"""What networks are fed with, where some of the currents are missing."""

import pytest
import torch

from eitlens.errors import InputError
from eitlens.feature import Features
from eitlens.feature.codes import completed, packed
from eitlens.feature.gaussian import Code
from eitlens.forward.currents import CurrentsConfig

FEATURES = Features(n=16, currents=CurrentsConfig(count=3), scale=(0.1,) * 9, fewest=2)
DATA = torch.randn(2, 3, 64, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


def _without(data, *where):
    wanting = data.clone()
    wanting[where] = torch.nan
    return wanting


@pytest.mark.parametrize("gradient", ["exact", "repo"])
def test_channels_of_a_current_that_is_missing_are_zero(gradient):
    features = Features(16, FEATURES.currents, gradient, FEATURES.scale, fewest=2)
    fewer = features(DATA[:, :2])
    assert torch.equal(features(_without(DATA, slice(None), 2)), fewer)
    assert torch.equal(fewer[:, 2::3], torch.zeros(2, 3, 17, 17))
    assert torch.equal(fewer[:, :2], features(DATA)[:, :2])


@pytest.mark.parametrize("where", [(0, 1), (0, 2, 5)])
def test_no_other_nan_is_taken_for_a_missing_current(where):
    """The second current is needed, and a gap in the third is no missing current."""
    with pytest.raises(InputError, match="NaN or infinite"):
        FEATURES(_without(DATA, *where))


def test_all_currents_are_needed_unless_said_otherwise():
    features = Features(n=16, currents=CurrentsConfig(count=3))
    with pytest.raises(InputError, match="NaN or infinite"):
        features(_without(DATA, slice(None), 2))


@pytest.mark.parametrize("count", [1, 4])
def test_too_few_or_too_many_currents(count):
    with pytest.raises(InputError, match=r"expected \(…, 3, 64\)"):
        FEATURES(DATA[:, :1].expand(-1, count, -1))


def test_codes_take_nan_for_missing_currents_and_refuse_surplus_ones():
    assert torch.equal(completed(DATA, 3), DATA)
    assert bool(completed(DATA[:, :1], 3)[:, 1:].isnan().all())
    with pytest.raises(InputError, match="at most 2 currents, got 3"):
        completed(DATA, 2)


def test_a_packed_code_is_right_to_the_last_digits():
    z = torch.logspace(-6, 4, 200, dtype=torch.float64).repeat(2, 1) * torch.tensor([[1.0], [-1.0]])
    tau = torch.tensor([1e-4, 0.2], dtype=torch.float64)
    found = packed(Code(z, z.abs(), tau)).double()
    expected = torch.cat([torch.asinh(z), z.abs(), tau.log()[:, None], z], -1)
    assert float(((found - expected) / expected).abs().max()) < 4e-7
