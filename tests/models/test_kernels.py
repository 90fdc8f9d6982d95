"""The GPU kernels against the plain PyTorch forms of the same functions, with their derivatives."""

import pytest
import torch
from torch.nn import functional as fn

from eitlens.models import kernels

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")

SHAPES = [(2, 64, 128, 128), (3, 48, 33, 33), (2, 512, 16, 16)]


def image(shape, dtype=torch.float32):
    x = torch.randn(shape, device="cuda", dtype=dtype).contiguous(memory_format=torch.channels_last)
    return x.requires_grad_()


def gradients(y, inputs):
    return torch.autograd.grad(
        y, inputs, torch.cos(torch.arange(y.numel(), device="cuda")).view(y.shape).to(y.dtype)
    )


@pytest.mark.parametrize("shape", SHAPES)
def test_the_stencil_is_a_depthwise_convolution(shape):
    x, weight = image(shape), torch.randn(shape[1], 1, 3, 3, device="cuda", requires_grad=True)
    ours = kernels.depthwise(x, weight)
    with torch.backends.cudnn.flags(enabled=False):
        theirs = fn.conv2d(x, weight, padding=1, groups=shape[1])
        expected = gradients(theirs, (x, weight))
    torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-5)
    for got, want in zip(gradients(ours, (x, weight)), expected, strict=True):
        torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("programs", [1, 40, 10_000])
def test_strips_of_any_length_give_the_same(monkeypatch, programs):
    x = image((3, 64, 35, 37))
    weight = torch.randn(64, 1, 3, 3, device="cuda", requires_grad=True)
    expected = [y := kernels.depthwise(x, weight), *gradients(y, (x, weight))]
    monkeypatch.setattr(kernels, "_STENCIL_PROGRAMS", programs)
    monkeypatch.setattr(kernels, "_GRADIENT_PROGRAMS", programs)
    got = [y := kernels.depthwise(x, weight), *gradients(y, (x, weight))]
    for ours, theirs in zip(got, expected, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-3)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("size", [32, 64, 201])
def test_interpolation_shares_the_corners(shape, size):
    x = image(shape)
    ours = kernels.interpolate(x, size)
    theirs = fn.interpolate(x, size=(size, size), mode="bilinear", align_corners=True)
    torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-4)
    (got,), (want,) = gradients(ours, (x,)), gradients(theirs, (x,))
    torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-3)


def test_half_precision_rounds_once():
    x, weight = image((2, 64, 64, 64), torch.bfloat16), torch.randn(64, 1, 3, 3, device="cuda")
    exact = fn.conv2d(x.float(), weight, padding=1, groups=64)
    assert ((kernels.depthwise(x, weight).float() - exact).norm() / exact.norm()) < 3e-3
