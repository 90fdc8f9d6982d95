from itertools import pairwise

import pytest
import torch
from torch import Tensor

from eitlens.errors import InputError
from eitlens.models import create
from eitlens.models.attention import attention, quadrature_scale


def random(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(sum(shape)))


@pytest.mark.parametrize(("nodes", "depth"), [(16, 4), (100, 7), (1024, 32)])
def test_reassociated_is_the_explicit_sum(nodes: int, depth: int) -> None:
    q, k, v = random(2, 4, nodes, depth), random(2, 4, nodes, depth) + 1, random(2, 4, nodes, depth + 1)
    scale = quadrature_scale(nodes, depth)
    explicit = attention(q, k, v, evaluation="explicit", scale=scale)
    torch.testing.assert_close(
        attention(q, k, v, evaluation="reassociated", scale=scale), explicit, rtol=1e-10, atol=1e-10
    )


def test_softmax_is_the_weighted_mean() -> None:
    q, k, v = random(1, 2, 9, 4), random(1, 2, 9, 4) + 1, random(1, 2, 9, 5)
    expected = (q @ k.mT * 0.5).softmax(-1) @ v
    torch.testing.assert_close(attention(q, k, v, evaluation="softmax", scale=0.5), expected)


def functions(size: int) -> tuple[Tensor, Tensor, Tensor]:
    """Smooth q, k and v on the nodes of a square."""
    line = torch.linspace(0, 1, size, dtype=torch.float64)
    x, y = torch.meshgrid(line, line, indexing="ij")
    q = torch.stack([x, x * y, torch.sin(3 * x + y)], -1)
    k = torch.stack([y, torch.cos(2 * x), 1 + x * x], -1)
    v = torch.stack([torch.exp(x - y), x + 2 * y], -1)
    return tuple(part.reshape(1, 1, size * size, -1) for part in (q, k, v))  # type: ignore[return-value]


def test_the_sum_is_a_quadrature_that_converges_as_the_grid_is_refined() -> None:
    """Against the finest grid at the nodes of the coarsest: first order, since all nodes weigh the same."""
    sizes = [9, 17, 33, 65, 129, 513]
    outputs = []
    for size in sizes:
        q, k, v = functions(size)
        o = attention(q, k, v, evaluation="reassociated", scale=quadrature_scale(size * size, 3))
        stride = (size - 1) // 8
        outputs.append(o.reshape(size, size, 2)[::stride, ::stride])
    errors = [float((o - outputs[-1]).abs().max()) for o in outputs[:-1]]
    assert all(1.7 < a / b < 2.5 for a, b in pairwise(errors))
    assert errors[-1] < 0.02 * float(outputs[-1].abs().max())


def test_dropout_needs_the_kernel() -> None:
    q = random(1, 1, 4, 2)
    with pytest.raises(InputError, match="dropout"):
        attention(q, q, q, evaluation="reassociated", scale=1.0, dropout=0.1)
    with pytest.raises(InputError, match="bias"):
        attention(q, q, q, evaluation="softmax", scale=1.0, bias=q @ q.mT)
    dropped = attention(q, q, torch.ones_like(q), evaluation="explicit", scale=1.0, dropout=0.5)
    assert dropped.shape == q.shape


@pytest.mark.parametrize("name", ["uit", "uit-softmax", "cross-ut"])
def test_every_order_of_operations_gives_the_same_network(name: str) -> None:
    """Values from moments, on the coarse grid, or as published on the fine one; with the kernel or not."""
    torch.manual_seed(0)
    network = create(name, width=16, resolution=64).double().eval()
    published = create(name, width=16, resolution=64, faithful=True).double().eval()
    published.load_state_dict(network.state_dict())
    for module in published.modules():
        if hasattr(module, "eps") and module.eps == 1e-6:
            module.eps = 1e-5
    x = random(1, 3, 40, 40)
    with torch.no_grad():
        expected = published(x)
        torch.testing.assert_close(network(x), expected, rtol=1e-10, atol=1e-10)
        if name == "uit":
            explicit = create(name, width=16, resolution=64, evaluation="explicit").double().eval()
            explicit.load_state_dict(network.state_dict())
            torch.testing.assert_close(explicit(x), expected, rtol=1e-10, atol=1e-10)


def test_default_start_listens_to_the_data_and_the_published_one_does_not() -> None:
    """Spread of the logits between samples, over their spread in space."""
    x = torch.randn(4, 3, 64, 64, generator=torch.Generator().manual_seed(0))
    x = torch.nn.functional.interpolate(x[..., :8, :8], size=64, mode="bilinear")

    def sensitivity(faithful: bool) -> float:
        torch.manual_seed(0)
        network = create("uit", width=16, resolution=64, faithful=faithful).train()
        with torch.no_grad():
            logits = network(x)
        return float(logits.std(0).mean() / logits.std((2, 3)).mean())

    assert sensitivity(faithful=False) > 0.05
    assert sensitivity(faithful=True) < 0.01


def test_dropout_leaves_out_entries_of_the_kernel() -> None:
    """(m α Q Kᵀ) V and its gradients, with the mask m that the same seed draws: the published training."""
    generator = torch.Generator().manual_seed(1)
    q, k, v = (
        torch.randn(2, 4, 9, 5, generator=generator, dtype=torch.float64, requires_grad=True)
        for _ in range(3)
    )
    torch.manual_seed(3)
    found = attention(q, k, v, evaluation="explicit", dropout=0.1)
    torch.manual_seed(3)
    mask = torch.nn.functional.dropout(torch.ones(2, 4, 9, 9, dtype=torch.float64), 0.1)
    assert set(mask.unique().tolist()) == {0.0, 1 / 0.9}
    expected = torch.einsum("bhij,bhid,bhjd,bhje->bhie", mask, q, k, v) / (9 * 5**0.5)
    torch.testing.assert_close(found, expected)
    gradients = (torch.autograd.grad(each.square().sum(), (q, k, v)) for each in (found, expected))
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other)
