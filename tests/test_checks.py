"""The checks at every entrance, and the memory budget."""

import math

import pytest
import torch

from eitlens import checks
from eitlens.errors import InputError
from eitlens.memory import chunk_size


def test_good_values_pass_unchanged() -> None:
    values = torch.tensor([1.0, 2.0])
    assert checks.finite(values, "x") is values
    assert checks.positive(values, "x") is values
    assert checks.positive_number(3.0, "x") == 3.0
    assert checks.physics(values).dtype == torch.float64


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf])
def test_positive_means_positive_and_finite(bad: float) -> None:
    with pytest.raises(InputError, match=r"^σ"):
        checks.positive(torch.tensor([1.0, bad]), "σ")
    with pytest.raises(InputError, match=r"^σ"):
        checks.positive_number(bad, "σ")


def test_a_chunk_fills_the_budget_and_is_never_empty() -> None:
    cpu = torch.device("cpu")
    assert chunk_size(2**20, cpu) == 2048
    assert chunk_size(2**40, cpu) == 1
    assert chunk_size(0, cpu) > 0
