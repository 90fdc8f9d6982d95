"""Cosine transforms as matrices."""

import pytest
import scipy.fft
import torch

from eitlens.domain import cosine

CPU = torch.device("cpu")


@pytest.mark.parametrize("n", [2, 7, 64])
def test_analysis_is_the_inverse_of_synthesis(n: int) -> None:
    product = cosine.analysis(n, CPU) @ cosine.synthesis(n, CPU)
    torch.testing.assert_close(product, torch.eye(n + 1, dtype=torch.float64), rtol=0, atol=1e-13)


@pytest.mark.parametrize("n", [2, 7, 64])
def test_analysis_is_scipys_first_cosine_transform(n: int) -> None:
    values = torch.linspace(-1, 2, n + 1, dtype=torch.float64).exp()
    expected = torch.from_numpy(scipy.fft.dct(values.numpy(), type=1)) / n * cosine.end_weights(n, CPU)
    torch.testing.assert_close(cosine.analysis(n, CPU) @ values, expected, rtol=1e-12, atol=1e-13)
