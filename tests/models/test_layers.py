import pytest
import torch
from torch.nn import functional as fn

from eitlens.models.layers import HeadNorm, ImageNorm, exact_conv, exact_linear, image, tokens
from eitlens.models.position import Euclidean, Sinusoidal
from eitlens.models.resize import adjoint, hats, interpolate, resize


@pytest.mark.parametrize(("n", "m"), [(201, 128), (128, 64), (64, 128), (33, 128), (128, 201), (8, 8)])
def test_resize_is_the_product_with_hat_functions(n: int, m: int) -> None:
    x = torch.randn(2, 3, n, n, requires_grad=True)
    a = hats(m, n, x)
    torch.testing.assert_close(a.sum(1), torch.ones(m), rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(resize(x, m), a @ x @ a.mT, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(("n", "m"), [(20, 33), (64, 32), (32, 64)])
def test_adjoint_of_resize(n: int, m: int) -> None:
    x = torch.randn(2, 3, n, n, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(2, 3, m, m, dtype=torch.float64)
    (scattered,) = torch.autograd.grad((interpolate(x, m) * weight).sum(), x)
    (ours,) = torch.autograd.grad((resize(x, m) * weight).sum(), x)
    torch.testing.assert_close(ours, scattered, rtol=1e-10, atol=1e-10)
    torch.testing.assert_close(
        (adjoint(weight, n) * x).sum(), (interpolate(x, m) * weight).sum(), rtol=1e-10, atol=1e-10
    )


def test_resize_reproduces_linear_functions() -> None:
    line = torch.linspace(0, 1, 201)
    plane = (line[:, None] + 2 * line)[None, None]
    coarse = torch.linspace(0, 1, 128)
    torch.testing.assert_close(resize(plane, 128)[0, 0], coarse[:, None] + 2 * coarse, rtol=1e-5, atol=1e-5)


def test_tokens_and_image_are_inverse() -> None:
    x = torch.randn(2, 3, 4, 4)
    assert torch.equal(image(tokens(x), 4), x)


def test_image_norm_is_a_group_norm_of_one_group() -> None:
    norm = ImageNorm(6, 1e-5)
    torch.nn.init.normal_(norm.weight)
    torch.nn.init.normal_(norm.bias)
    x = 3 + 2 * torch.randn(4, 6, 8, 8)
    torch.testing.assert_close(
        norm(x), fn.group_norm(x, 1, norm.weight, norm.bias, 1e-5), rtol=1e-4, atol=1e-5
    )


def test_head_norm_is_a_layer_norm_of_each_head() -> None:
    norm = HeadNorm(2, 5, 1e-5)
    torch.nn.init.normal_(norm.weight)
    x = torch.randn(3, 7, 2, 5)
    expected = fn.layer_norm(x[:, :, 1], (5,), norm.weight[1], norm.bias[1], 1e-5)
    torch.testing.assert_close(norm(x)[:, :, 1], expected)
    assert norm(x.bfloat16()).dtype == torch.bfloat16


@pytest.mark.parametrize("encoding", [Euclidean(8), Sinusoidal(8, span=15)])
def test_positions_are_functions_of_the_coordinates(encoding: torch.nn.Module) -> None:
    coarse, fine = encoding(torch.zeros(1, 8, 16, 16)), encoding(torch.zeros(1, 8, 31, 31))
    torch.testing.assert_close(fine[..., ::2, ::2], coarse, rtol=1e-4, atol=1e-5)


def test_sinusoidal_positions_count_the_pixels() -> None:
    encoded = Sinusoidal(8, span=15)(torch.zeros(1, 8, 16, 16))[0]
    rows = torch.arange(16.0)
    torch.testing.assert_close(encoded[0, :, 3], rows.sin(), rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(encoded[1, :, 3], (rows * 0.01).sin(), rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(encoded[6, 5], rows.cos(), rtol=1e-4, atol=1e-5)


def test_first_layers_keep_the_digits_of_their_input_under_autocast() -> None:
    """A difference of neighbours, a hundredth of what it is taken of, to the 8 bits of the result, not of the input."""
    torch.manual_seed(0)
    smooth = 1 + torch.linspace(0, 1, 100).expand(1, 1, 100, 100)
    conv = torch.nn.Conv2d(1, 1, 3, padding=1, bias=False)
    conv.weight.data[:] = torch.tensor([[0.0, 0, 0], [-1, 0, 1], [0, 0, 0]])
    linear = torch.nn.Linear(2, 1, bias=False)
    linear.weight.data[:] = torch.tensor([-1.0, 1.0])
    pairs = torch.stack([smooth[..., :-1], smooth[..., 1:]], -1)
    with torch.no_grad():
        expected = conv(smooth)[..., 1:-1], linear(pairs)
        with torch.autocast("cpu", torch.bfloat16):
            exact = exact_conv(conv, smooth)[..., 1:-1], exact_linear(linear, pairs)
            rounded = conv(smooth)[..., 1:-1], linear(pairs)
            assert torch.equal(exact_conv(conv, smooth.bfloat16()), conv(smooth.bfloat16()))
    for a, b, c in zip(exact, expected, rounded, strict=True):
        assert (a - b).norm() < 0.01 * b.norm()
        assert (c - b).norm() > 0.1 * b.norm()
    assert torch.equal(exact_conv(conv, smooth), conv(smooth))
