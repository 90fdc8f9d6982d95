"""Constant tensors are made once, and serve training even when they were made in inference mode."""

import torch

from eitlens.classical import direct_sampling
from eitlens.domain import Square


def test_what_inference_mode_made_can_be_trained_through() -> None:
    square = Square(11)  # of a size no other test uses, so that nothing is remembered yet
    values = torch.randn(2, 44, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        direct_sampling(square, values, modes=5)
    leaf = values.clone().requires_grad_()
    (square.trace(square.extend(leaf)) * square.boundary()[:, 0]).sum().backward()
    direct_sampling(square, leaf, modes=5).sum().backward()
    assert bool(torch.isfinite(leaf.grad).all())


def test_they_are_made_once() -> None:
    assert Square(8).nodes() is Square(8).nodes()
