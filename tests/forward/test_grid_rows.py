"""Rows of a fixed length times a vector: the sum written out, and the GPU kernel against it."""

import pytest
import torch

from eitlens.forward.grid.rows import product


def problem(device: str) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(5)
    weights = torch.randn(3, 7, 501, dtype=torch.float64, generator=generator)
    index = torch.randint(0, 300, (3, 7, 501), generator=generator)
    x = torch.randn(3, 5, 300, dtype=torch.float64, generator=generator)
    return weights.to(device), index.to(device), x.to(device)


def test_product_is_the_sum_over_the_terms() -> None:
    weights, index, x = problem("cpu")
    dense = torch.zeros(3, 501, 300, dtype=torch.float64)
    for k in range(7):
        dense.scatter_add_(2, index[:, k, :, None], weights[:, k, :, None])
    torch.testing.assert_close(product(weights, index, x), x @ dense.mT, rtol=1e-13, atol=1e-13)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_the_kernel_adds_the_same_numbers() -> None:
    expected = product(*problem("cpu"))
    got = product(*problem("cuda"))
    torch.testing.assert_close(got.cpu(), expected, rtol=1e-14, atol=1e-14)
    assert torch.equal(got, product(*problem("cuda")))
