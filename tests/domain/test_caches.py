"""Constant tensors are made once, serve training even when they were made in inference mode, and stay as they are."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from eitlens.classical import direct_sampling
from eitlens.classical.dsm import probing
from eitlens.domain import Disk, Square, cosine
from eitlens.domain.base import CPU, box


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
    assert box(8, CPU) is box(8, CPU)
    assert cosine.synthesis(8, CPU) is cosine.synthesis(8, CPU)


@pytest.mark.parametrize(
    "given",
    [
        Square(8).nodes,
        Square(8).boundary,
        Square(8).loop,
        Disk(8).nodes,
        Disk(8).boundary,
        lambda: probing(Square(8), modes=4).modes,
        lambda: probing(Square(8), modes=4).xx,
    ],
    ids=["nodes", "boundary", "loop", "disk nodes", "disk boundary", "probe modes", "probe field"],
)
def test_what_users_get_is_theirs_to_change(given: Callable[[], Tensor]) -> None:
    before = given().clone()
    changed = given()
    changed += 1
    assert torch.equal(given(), before)
