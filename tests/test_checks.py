"""The checks at every entrance, and the memory budget."""

import math

import numpy as np
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
    assert chunk_size(2**20, cpu) == 256
    assert chunk_size(2**40, cpu) == 1
    assert chunk_size(0, cpu) > 0


@pytest.mark.parametrize(
    "given",
    [
        [[1, 2], [3, 4]],
        np.array([[1, 2], [3, 4]], dtype=np.uint16),
        np.array([[1, 3], [2, 4]], dtype=">f4").T[::1],
        torch.tensor([[1, 2], [3, 4]]),
    ],
)
def test_numbers_of_any_kind_become_float64(given: object) -> None:
    torch.testing.assert_close(checks.physics(given), torch.tensor([[1, 2], [3, 4]], dtype=torch.float64))


def test_plain_numbers_keep_all_their_digits_and_tensors_their_gradient() -> None:
    assert float(checks.physics([0.1])) == 0.1
    x = torch.ones(2, requires_grad=True)
    checks.physics(x).sum().backward()
    assert x.grad is not None
    assert checks.real(np.ones(2, dtype=np.float32), "x").dtype == torch.float32


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        (torch.ones(2, dtype=torch.complex128), "expected real numbers, got torch.complex128"),
        (np.ones(2, dtype=complex), "expected real numbers, got complex128"),
        ([1j, 2], "expected real numbers, got complex128"),
        ("high", "expected real numbers, got <U4"),
        (None, "expected real numbers, got object"),
        ([[1.0], [1.0, 2.0]], "the rows are of different lengths"),
        (
            [torch.ones(2, requires_grad=True)] * 2,
            "expected real numbers in one tensor, array or list of lists",
        ),
    ],
)
def test_what_is_not_real_numbers_is_refused(given: object, complaint: str) -> None:
    with pytest.raises(InputError) as caught:
        checks.physics(given, "f")
    assert str(caught.value) == f"f: {complaint}"


def test_one_number_and_whole_numbers() -> None:
    assert checks.number(np.float32(2), "x") == checks.number(torch.tensor([2]), "x") == 2.0
    assert checks.whole(np.int64(3), "n") == checks.whole(3, "n") == 3
    with pytest.raises(InputError, match=r"^x: .*one number.*\(2,\)$"):
        checks.number([1, 2], "x")
    for bad in (3.0, "3", None, np.zeros((2, 2))):
        with pytest.raises(InputError, match=r"^n: expected a whole number, got [^\n]*$"):
            checks.whole(bad, "n")
